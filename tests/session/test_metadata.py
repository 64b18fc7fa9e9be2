"""What is said of an experiment: by a plan, by options, and what is refused."""

from pathlib import Path
from typing import Any, get_args

import pytest

from framelane.base.errors import InputError, OptionError
from framelane.session.metadata import Metadata
from framelane.session.metadata_fields import FIELDS, Text
from framelane.session.plan_file import load_metadata, load_plan

PLAN = """
rows = 16
columns = 100
n_slots = 4
source = { mac = "02:00:00:00:00:01", ip = "127.0.0.2" }
receiver = { mac = "02:00:00:00:00:02", ip = "127.0.0.1" }
"""


def test_the_table_has_the_keys_and_choices_that_options_have() -> None:
    assert list(Metadata.model_fields) == list(FIELDS)
    for name, field in FIELDS.items():
        kinds = get_args(Metadata.model_fields[name].annotation)
        choices = field.choices if isinstance(field, Text) else ()
        assert tuple(choice for kind in kinds for choice in get_args(kind) if isinstance(choice, str)) == choices


@pytest.mark.parametrize(
    ("given", "sentence"),
    [
        ({"distance_mm": -1}, "distance_mm cannot be -1, wanted is: distance from sample to detector, mm, 1 to 100000"),
        ({"energy_kev": float("nan")}, "energy_kev cannot be nan, wanted is: energy of a photon, keV, 0.1 to 200"),
        ({"beam_x": "12{0}"}, "beam_x cannot be '12{0}', wanted is: where the beam hits, pixels from the outer edge"),
        ({"material": "Ge"}, "material cannot be 'Ge', wanted is: material of the sensor: Si or CdTe or GaAs"),
        ({"sample": "a\nb"}, "sample cannot be 'a\\nb', wanted is: name of the sample, up to 200 letters"),
        ({"distance": 3}, "'distance' is not a key here: did you mean distance_mm?"),
        ({"energy_kev": 1.0, "wavelength_angstrom": 1.0}, "energy_kev and wavelength_angstrom say the same"),
        ({"count_time_s": 2.0, "frame_time_s": 1.0}, "count_time_s 2 is more s than there are from frame to frame"),
    ],
)
def test_what_cannot_be_is_one_sentence_with_its_unit(given: dict[str, Any], sentence: str, tmp_path: Path) -> None:
    with pytest.raises(OptionError) as said:
        Metadata(**given)
    assert str(said.value).startswith(sentence)


def test_a_plan_has_a_table_of_it_which_is_checked_when_the_plan_is_read(tmp_path: Path) -> None:
    path = tmp_path / "plan.toml"
    path.write_text(PLAN + "[metadata]\ndistance_mm = 100\nsample = 'insulin'\n")
    assert load_plan(path).rows == 16
    assert load_metadata(path).given == {"distance_mm": 100.0, "sample": "insulin"}
    path.write_text(PLAN)
    assert not load_metadata(path).given
    for table, sentence in [
        (
            "[metadata]\ndistance_mm = 0\n",
            "[metadata]: distance_mm cannot be 0, wanted is: "
            "distance from sample to detector, mm, 1 to 100000 (line 8)",
        ),
        (
            "[metadata]\ndistance_cm = 1\n",
            "[metadata]: 'distance_cm' is not a key here: did you mean distance_mm? (line 8)",
        ),
        ("metadata = 3\n", "metadata is not a table: write [metadata] above its keys"),
    ]:
        path.write_text(PLAN + table)
        for load in (load_plan, load_metadata, Metadata.load):
            with pytest.raises(InputError) as said:
                load(path)
            assert str(said.value).startswith(f"{path}: {sentence}")


def test_what_is_said_later_goes_before_and_an_energy_replaces_a_wavelength() -> None:
    plan = Metadata(wavelength_angstrom=1.0, sample="a", beam_x=1.0)
    assert plan.photon_energy_kev == pytest.approx(12.398419843320026)
    both = plan.updated(Metadata(energy_kev=9.0, beam_x=2.0))
    assert both.given == {"sample": "a", "beam_x": 2.0, "energy_kev": 9.0}
    assert plan.updated(Metadata()) == plan
