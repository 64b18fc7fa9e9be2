"""Files with metadata are NXmx, by DIALS' reader, which needs what is listed here; files without do not claim it."""

import math
import shutil
import struct
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import bitshuffle
import h5py
import hdf5plugin  # noqa: F401
import numpy as np
import pytest
import silx.io
from numpy.typing import NDArray
from silx.io import nxdata

from framelane.base.claim import Claim
from framelane.base.errors import InputError
from framelane.calibration.calibration_file import write_calibration
from framelane.files.series import Series
from framelane.models.jungfrau.jf_correct import PixelCode
from framelane.models.jungfrau.jf_detector import Detector, DetectorConfig
from framelane.models.placement.trailer import Trailer
from framelane.models.tx import tx
from framelane.packets import pcap
from framelane.packets.pcap import PcapWriter
from framelane.receiver.geometry.describe import describe
from framelane.receiver.pipeline.corrected import CorrectedImages
from framelane.receiver.pipeline.judging import Judging
from framelane.receiver.ring.receiver import ReceivedFrame
from framelane.receiver.sinks import judged_frames
from framelane.receiver.sinks.file_options import FileOptions
from framelane.receiver.sinks.hdf5 import Hdf5Sink
from framelane.receiver.sinks.pixel_form import PhotonsAs, form_of
from framelane.session.metadata import Metadata
from framelane.session.session import Session
from nxmx_reader import read_nxmx

MakeSession = Callable[..., Session]
RunCli = Callable[..., tuple[int, str, str]]
GIVEN: dict[str, Any] = {
    **{
        "distance_mm": 123.5,
        "beam_x": 40.25,
        "beam_y": 9.5,
        "energy_kev": 9.0,
        "material": "Si",
        "thickness_um": 320.0,
    },
    **{"sample": "lysozyme", "source_name": "ESRF", "instrument": "ID29", "count_time_s": 1e-4, "frame_time_s": 1e-3},
    **{"serial_number": "49", "firmware": "2.5"},
}
OPTIONS = [
    *("--distance", 123.5, "--beam-x", 40.25, "--beam-y", 9.5, "--energy", 9.0, "--material", "Si"),
    *("--thickness", 320, "--sample", "lysozyme", "--source-name", "ESRF", "--instrument", "ID29"),
    *("--count-time", 1e-4, "--frame-time", 1e-3, "--serial-number", "49", "--firmware", "2.5"),
]
NOW_NS = 1_780_000_000_000_000_000
"""In 2026."""
TAKEN_NS = 1_730_000_000_000_000_000
"""2024-10-27T03:33:20Z."""
DETECTOR = Detector(DetectorConfig(seed=2))


def write(
    path: Path, session: Session, n: int = 3, first_ns: int = NOW_NS, codes: bool = False, **options: Any
) -> Path:
    """Frames of corrected pixels: number k has a pixel k; with `codes` the first four have one each."""
    chosen = FileOptions(**{"metadata": Metadata(**GIVEN), **options})
    shape = session.rows, session.columns
    process = CorrectedImages(shape, Judging())
    described = describe(chosen.metadata, shape)

    def make(part: Path | Claim, before: Hdf5Sink | None) -> Hdf5Sink:
        return Hdf5Sink(part, session, description=described, options=chosen, frames=n, whole=False, before=before)

    with Series(path, make) as files:
        for number in range(n):
            words = np.full(shape, number, np.uint16)
            words[0, :4] = [code & 0xFFFF for code in PixelCode] if codes else number
            end = Trailer(0, 0, number, first_ns + number, 5, session.image_bytes, 1, 0, detector_frame=number)
            files.file.write(ReceivedFrame(number, 0, words, 0, (end,)), process(words))
    return path


def check(path: Path, shape: tuple[int, ...], wavelength: float = 12.398419843320026 / 9) -> dict[str, Any]:
    """The reader's values are those that were given."""
    read = read_nxmx(path)
    assert read["shape"] == shape
    assert read["stills"]
    assert read["names"] == ("lysozyme", "ESRF", "ID29")
    assert read["wavelength"] == pytest.approx(wavelength, rel=1e-12)
    assert (read["material"], read["thickness"], read["distance"]) == ("Si", pytest.approx(0.32), pytest.approx(123.5))
    assert read["beam"] == (40.25, 9.5)
    assert read["times"] == [1e-4, 1e-3]
    assert read["serial"] == "49"
    assert read["readout"] is None, "16 would make two values of int16 a mask"
    first = read["panels"][0]
    assert first["pixel"] == pytest.approx((0.075, 0.075))
    assert [first["corner"][2]] == pytest.approx([123.5])
    assert read["mask"].shape == shape[1:]
    begin, end, estimate = read["begin_end"]
    assert begin <= estimate
    assert end is None or begin <= end
    with h5py.File(path) as file:
        assert file["entry/instrument/detector/firmware_version"][()] == b"2.5"
    return read


def opens_on(path: Path) -> tuple[int, ...]:
    """The shape of what silx shows first: images."""
    with silx.io.open(str(path)) as file:
        plot = nxdata.get_default(file, validate=True)
        assert plot is not None
        assert plot.is_image
        assert plot.signal_name.startswith("data")
        return tuple(plot.signal.shape)


@pytest.fixture
def corrected(make_session: MakeSession) -> Session:
    return make_session(pixels="corrected")


def test_a_received_file_is_nxmx(tmp_path: Path, corrected: Session) -> None:
    path = write(tmp_path / "frames.h5", corrected)
    read = check(path, (3, 16, 100))
    assert opens_on(path) == (3, 16, 100)
    (panel,) = read["panels"]
    assert (panel["origin"], panel["size"]) == ((0, 0), (16, 100))
    # McStas: x to the left and y up, seen from the sample; columns count to the right, rows down.
    assert (panel["fast"], panel["slow"]) == ([-1, 0, 0], [0, -1, 0])
    assert panel["corner"] == pytest.approx([40.25 * 0.075, 9.5 * 0.075, 123.5])
    low, high = read["trusted"]
    assert not [code for code in PixelCode if low <= code <= high]
    begin, _, estimate = read["begin_end"]
    assert (estimate - begin).total_seconds() == pytest.approx(3e-3)


def test_a_series_and_a_master_are_nxmx(tmp_path: Path, corrected: Session, monkeypatch: pytest.MonkeyPatch) -> None:
    from framelane.receiver.sinks.master_file import Part, write_master

    monkeypatch.setattr(judged_frames, "MOST_CHUNKS", 2)
    path = write(tmp_path / "frames.h5", corrected, n=5)
    assert (tmp_path / "frames_data_000003.h5").is_file()
    check(path, (5, 16, 100))
    assert opens_on(path) == (5, 16, 100)
    write_master(tmp_path / "run.h5", [Part(path)], whole=True)
    check(tmp_path / "run.h5", (5, 16, 100))
    assert opens_on(tmp_path / "run.h5") == (5, 16, 100)


def test_a_master_learns_what_its_files_did_not_know(tmp_path: Path, corrected: Session, run_cli: RunCli) -> None:
    bare = write(tmp_path / "run_0.h5", corrected, metadata=Metadata(sample="lysozyme"))
    assert run_cli("master", tmp_path / "run.h5", bare, *OPTIONS)[0] == 0
    check(tmp_path / "run.h5", (3, 16, 100))
    known = write(tmp_path / "run_1.h5", corrected)
    assert run_cli("master", tmp_path / "again.h5", known, "--distance", 200)[0] == 0
    read = read_nxmx(tmp_path / "again.h5")
    assert (read["distance"], read["beam"], read["serial"]) == (200, (40.25, 9.5), "49")


AXIS = "", "@units", "@transformation_type", "@vector"
NEEDED = {
    *("definition", "data@NX_class", "data@signal", "data/data", "sample@NX_class"),
    *("sample/name", "source@NX_class", "source/name", "instrument@NX_class", "instrument/name"),
    *("instrument/beam@NX_class", "instrument/detector@NX_class", "instrument/detector/module_p0@NX_class"),
    *(f"instrument/beam/incident_wavelength{attribute}" for attribute in AXIS[:2]),
    *(f"instrument/detector/sensor_{name}" for name in ("material", "thickness", "thickness@units")),
    *(f"instrument/detector/transformations/det_z{attribute}" for attribute in AXIS),
    *(f"instrument/detector/module_p0/{name}" for name in ("data_origin", "data_size")),
    *(
        f"instrument/detector/module_p0/{name}{attribute}"
        for name in ("module_offset", "fast_pixel_direction", "slow_pixel_direction")
        for attribute in (*AXIS, "@depends_on")
    ),
    # Not needed, but where they are there they have to have a unit.
    *("instrument/detector/distance@units", "instrument/detector/frame_time@units"),
    # For viewers, which look for the entry from the root on.
    *("/@default", ".@default", ".@NX_class", "data/data@interpretation"),
}
"""Without one of these the reader fails, the detector is elsewhere, or a viewer does not open on the images."""


def items(path: Path) -> Iterator[str]:
    """Every dataset of the experiment, and every attribute: of the entry itself (`.`) and the root (`/`) too."""
    with h5py.File(path) as file:
        found: list[str] = []
        file["entry"].visititems(lambda name, item: found.extend([name, *(f"{name}@{each}" for each in item.attrs)]))
        found += [f"{name}@{each}" for name in (".", "/") for each in file["entry"][name].attrs]
        groups = [name for name in found if "@" not in name and isinstance(file["entry"][name], h5py.Group)]
    yield from sorted(set(found) - set(groups))


def _opens(path: Path) -> bool:
    """Whether silx shows the images."""
    try:
        return opens_on(path) == (1, 16, 100)
    except AssertionError:
        return False


def without(path: Path, name: str) -> dict[str, Any] | None:
    """What the reader finds in a file that lacks it; None where it fails."""
    copy = Path(shutil.copy(path, path.with_name("copy.h5")))
    with h5py.File(copy, "r+") as file:
        item, _, attribute = name.partition("@")
        if attribute:
            del file["entry"][item].attrs[attribute]
        else:
            del file["entry"][item]
    try:
        return read_nxmx(copy) | {"opens": _opens(copy)}
    except (IndexError, KeyError, TypeError, ValueError, AttributeError):
        return None


def test_what_the_reader_needs_is_this_list_and_each_of_it_is_there(tmp_path: Path, corrected: Session) -> None:
    path = write(tmp_path / "frames.h5", corrected, n=1)
    whole = read_nxmx(path) | {"opens": True}

    def differs(read: dict[str, Any] | None) -> bool:
        return read is None or any(
            not np.array_equal(read[key], whole[key]) for key in ("panels", "wavelength", "opens")
        )

    found = {name for name in items(path) if differs(without(path, name))}
    assert (found - NEEDED, NEEDED - found) == (set(), set())


@pytest.mark.parametrize("missing", ["distance_mm", "beam_x", "beam_y", "energy_kev", "material", "thickness_um"])
def test_without_something_that_is_needed_a_file_does_not_claim_to_be_nxmx(
    tmp_path: Path, corrected: Session, missing: str
) -> None:
    less = Metadata(**{name: value for name, value in GIVEN.items() if name != missing})
    path = write(tmp_path / "frames.h5", corrected, metadata=less)
    with h5py.File(path) as file:
        assert "definition" not in file["entry"]
    with pytest.raises(ValueError, match="not enough values"):
        read_nxmx(path)
    assert opens_on(path) == (3, 16, 100)


@pytest.mark.parametrize(
    ("first_ns", "clock", "epoch"),
    [(NOW_NS, None, "1970"), (77, None, "none"), (NOW_NS, "tai", "1970"), (NOW_NS, "own", "none")],
)
def test_time_stamps_say_since_when_they_count(
    tmp_path: Path, corrected: Session, first_ns: int, clock: str | None, epoch: str
) -> None:
    path = write(tmp_path / "frames.h5", corrected, first_ns=first_ns, metadata=Metadata(clock=clock))
    with h5py.File(path) as file:
        said = file["entry/data/timestamp_ns"].attrs
        assert said["epoch"].startswith(epoch)
        assert said["clock"] == (clock or ("utc or tai" if epoch == "1970" else "own"))
        assert (said["units"], said["unknown"]) == ("ns", 0)


CODES = np.array([[-32768, -32767, -32766, -32700, -1, 0, 1, 32700, 32767]], np.int16)
AS = {
    "float32": [np.nan, np.nan, np.nan, -32700, -1, 0, 1, 32700, np.nan],
    "int32": [-(2**31)] * 3 + [-32700, -1, 0, 1, 32700, 2**31 - 1],
    "uint16": [65535, 65535, 65535, 0, 0, 0, 1, 32700, 65534],
}


@pytest.mark.parametrize("kind", AS)
def test_other_types_have_no_codes_of_ours(kind: PhotonsAs) -> None:
    form = form_of(kind)
    made = form(CODES)
    assert made.dtype == np.dtype(kind)
    np.testing.assert_array_equal(made, np.array([AS[kind]], kind))
    assert form.lowest is not None
    assert form.highest is not None
    good = (made >= form.lowest) & (made <= form.highest)
    assert good.tolist() == ((CODES >= -32700) & (CODES <= 32700)).tolist()
    every = np.arange(-32700, 32701).astype(np.int16)
    assert (form(every) == every.clip(form.lowest)).all()


def test_fraction_bits_are_taken_off_floats_alone() -> None:
    assert form_of("float32", 3)(np.array([4, -32766], np.int16)).tolist()[0] == 0.5
    assert form_of("int32", 3)(np.array([4], np.int16)).tolist() == [4]


@pytest.mark.parametrize("kind", AS)
def test_frames_that_were_rejected_are_empty_in_every_type(tmp_path: Path, corrected: Session, kind: Any) -> None:
    path = write(tmp_path / "frames.h5", corrected, photons_as=kind, codes=True)
    low, high = check(path, (3, 16, 100))["trusted"]
    with h5py.File(path, "r+") as file:
        data = file["entry/data/data"]
        assert data.dtype == np.dtype(kind)
        assert (data[2, 1:] == 2).all()
        assert not ((data[2, 0, :4] >= low) & (data[2, 0, :4] <= high)).any()
        data.resize(4, axis=0)
        assert not ((data[3] >= low) & (data[3] <= high)).any()


def strict_reader(path: Path) -> list[NDArray[Any]]:
    """As plugins of XDS do: take chunks as they are, if bitshuffle is their only filter, and decode them alone."""
    with h5py.File(path) as file:
        data = file["entry/data/data"]
        properties = data.id.get_create_plist()
        filters = [properties.get_filter(n)[0] for n in range(properties.get_nfilters())]
        if filters != [32008]:
            raise ValueError(f"filters {filters}")
        images = []
        for n in range(len(data)):
            _, chunk = data.id.read_direct_chunk((n, 0, 0))
            size, block = struct.unpack(">QI", chunk[:12])  # header of the filter (bitshuffle, README, "HDF5 filter")
            assert size == data.dtype.itemsize * math.prod(data.shape[1:])
            packed = np.frombuffer(chunk[12:], np.uint8)
            images.append(bitshuffle.decompress_lz4(packed, data.shape[1:], data.dtype, block // data.dtype.itemsize))
        return images


def test_a_file_without_checksums_is_read_by_those_who_refuse_them(tmp_path: Path, corrected: Session) -> None:
    with pytest.raises(ValueError, match=r"filters \[32008, 3\]"):
        strict_reader(write(tmp_path / "usual.h5", corrected))
    images = strict_reader(write(tmp_path / "bare.h5", corrected, checksum=False))
    assert [(int(image.min()), int(image.max())) for image in images] == [(0, 0), (1, 1), (2, 2)]


@pytest.fixture
def module(tmp_path: Path, make_session: MakeSession) -> list[Any]:
    """A capture of raw frames of one module, its session and calibration: options of `recv`."""
    session = make_session(rows=512, columns=1024, mtu=4096)
    session.save(tmp_path / "session.json")
    write_calibration(tmp_path / "c.h5", DETECTOR.calibration)
    with PcapWriter(tmp_path / "tx.pcap") as capture:
        for packet in tx([DETECTOR.frame(n).raw.tobytes() for n in range(2)], session.tx_config()):
            capture.write(packet)
    return ["--pcap", tmp_path / "tx.pcap", "--session", tmp_path / "session.json", "--output", tmp_path / "out.h5"]


def test_recv_takes_metadata_and_masks_what_has_no_calibration(
    run_cli: RunCli, module: list[Any], tmp_path: Path
) -> None:
    energy = DETECTOR.calibration.photon_energy_kev
    options = [energy if option == 9.0 else option for option in OPTIONS]
    assert run_cli("recv", *module, "--calibration", tmp_path / "c.h5", *options)[0] == 0
    read = check(tmp_path / "out.h5", (2, 512, 1024), 12.398419843320026 / energy)
    assert ((read["mask"] & 2 != 0) == ~DETECTOR.calibration.usable[0]).all()
    assert [panel["origin"] for panel in read["panels"]] == [(r, c) for r in (0, 256) for c in range(0, 1024, 256)]
    # The sixth chip is the second of the lower row: 2 pixels of gap above it and on its left.
    assert read["panels"][5]["corner"] == pytest.approx([(40.25 - 258) * 0.075, (9.5 - 258) * 0.075, 123.5])
    status, _, err = run_cli("recv", *module, "--calibration", tmp_path / "c.h5", *OPTIONS, "--force")
    assert (status, err.startswith("framelane: --energy 9 (or its wavelength) is not that of --calibration")) == (
        2,
        True,
    )


def test_frames_of_a_capture_have_its_times(run_cli: RunCli, module: list[Any], tmp_path: Path) -> None:
    assert run_cli("recv", *module)[0] == 0
    with h5py.File(tmp_path / "out.h5") as file:  # that capture has none
        assert "captured_ns" not in file["entry/data"]
        assert file["entry/start_time"].asstr()[()] > "2026"
    packets = [*pcap.read(tmp_path / "tx.pcap")]
    with PcapWriter(tmp_path / "tx.pcap", force=True) as capture:
        for number, packet in enumerate(packets):
            capture.write(packet, TAKEN_NS + 1000 * number)
    assert run_cli("recv", *module, "--force")[0] == 0
    with h5py.File(tmp_path / "out.h5") as file:
        entry, last = file["entry"], len(packets) - 1
        came = [TAKEN_NS + 1000 * n for n in (last // 2, last)]
        assert entry["data/captured_ns"][()].tolist() == came
        assert entry["data/timestamp_ns"].attrs["clock"] == "own"
        assert [entry[name].asstr()[()] for name in ("start_time", "end_time", "end_time_estimated")] == [
            "2024-10-27T03:33:20Z",
            *(f"2024-10-27T03:33:20.{last:06d}Z",) * 2,
        ]


def test_recv_says_what_is_missing_and_raw_words_never_claim(
    run_cli: RunCli, module: list[Any], tmp_path: Path
) -> None:
    _, out, _ = run_cli("recv", *module, "--calibration", tmp_path / "c.h5", "--distance", 100)
    assert "does not claim to be NXmx: for that, give --beam-x, --beam-y, --material, --thickness" in " ".join(
        out.split()
    )
    assert run_cli("recv", *module, *OPTIONS, "--force")[0] == 0
    with h5py.File(tmp_path / "out.h5") as file:
        assert "definition" not in file["entry"]
    status, _, err = run_cli("recv", *module, "--photons-as", "uint16", "--force")
    assert (status, "raw words are not photons" in err, "--calibration" in err) == (2, True, True)


def test_modules_one_above_the_other_need_a_geometry(make_session: MakeSession) -> None:
    shape = (8 * 512, 1024)
    known = Metadata(**GIVEN)
    assert describe(known, shape).missing == ["geometry"]
    placed = describe(known.updated(Metadata(geometry="jungfrau_4m")), shape)
    assert placed.missing == []
    assert placed.panels is not None
    assert len(placed.panels) == 64
    with pytest.raises(
        InputError, match="modules of 4096 x 1024 pixels and images of 2164 x 2068, the frames have 512"
    ):
        describe(replace(FileOptions(), metadata=Metadata(geometry="jungfrau_4m")).metadata, (512, 1024))
