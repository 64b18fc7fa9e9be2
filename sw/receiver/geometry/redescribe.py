"""What a file of received frames says of the experiment, mended by what its user knows better."""

from collections.abc import Callable

from framelane.base.errors import InputError
from framelane.receiver.geometry.describe import describe
from framelane.receiver.sinks.description import Description
from framelane.receiver.sinks.rank_file import RankFile
from framelane.session.metadata import Metadata


def redescribing(metadata: Metadata) -> Callable[[RankFile], Description]:
    """The description of a file, in which `metadata` goes before what was known. InputError for one of raw words."""

    def redescribe(file: RankFile) -> Description:
        if file.form.highest is None:  # raw words
            raise InputError(f"{file.path} has raw words, of which no experiment can be told: give files of photons")
        known = file.metadata
        return describe(
            known.updated(metadata),
            file.data.shape[1:],
            photon_energy_kev=None if known.photon_energy_kev else file.photon_energy_kev,
            mask=file.mask,
        )

    return redescribe
