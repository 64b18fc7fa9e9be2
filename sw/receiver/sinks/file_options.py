"""How a file of frames is written, beside what is in the frames."""

from dataclasses import dataclass, field

from framelane.receiver.sinks.pixel_form import PhotonsAs, form_of
from framelane.session.metadata import Metadata


@dataclass(frozen=True, slots=True, kw_only=True)
class FileOptions:
    """What a file says of the experiment, and for which readers it is. OptionError for what cannot be."""

    metadata: Metadata = field(default_factory=Metadata)
    """What is known of the experiment; with enough of it the file is NXmx (docs/reference/files.md)."""
    photons_as: PhotonsAs | None = None
    """Another type than int16 with codes, for viewers that do not know them (`pixel_form.form_of`)."""
    checksum: bool = True
    """Chunks of images have one, so that a damaged one is an error; some plugins of XDS cannot read it."""

    def __post_init__(self) -> None:
        form_of(self.photons_as)
