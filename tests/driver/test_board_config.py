"""The file that configures a board: what it leaves out comes from the sessions, what is wrong is named by its table."""

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from framelane.base.errors import InputError
from framelane.driver.board.board_readings import Capabilities
from framelane.driver.config.board_config import BoardConfig, load
from framelane.driver.config.board_document import CorrectionTable
from framelane.driver.registers.entries import FrameRing
from framelane.models.jungfrau.jf_fixed import FixedCalibration
from framelane.models.roce_tx import roce_pacer
from framelane.session.session import Session

MakeSession = Callable[..., Session]
Load = Callable[..., BoardConfig]
CAPABILITIES = Capabilities((1, 0, 0), 7, 322_265_625, 512, False, False, qps=16, flows=4, destinations=16)
TRANSMITTER = '[transmitter]\nmac = "02:00:00:00:00:01"\nip = "10.0.0.1"\n'
RECEIVER = '[[receiver]]\nname = "a"\nsession = "a.json"\n'
FLOW = '[[flow]]\nname = "all"\nreceivers = ["a"]\n'


def calibrate(path: Path, table: CorrectionTable) -> FixedCalibration:
    """A calibration of as many rows and columns as the file's name says."""
    if path.stem == "bad":
        raise InputError(f"{path} is not a calibration")
    planes = np.ones((3, *map(int, path.stem.split("x"))), np.uint16)
    return FixedCalibration(planes, planes, (1, 2, 3), table.fraction_bits, table.mode == "hg0")


@pytest.fixture
def save(tmp_path: Path, make_session: MakeSession) -> Callable[..., Session]:
    """Save a session of 16 x 100 pixels beside the configuration."""

    def save(name: str, **changes: Any) -> Session:
        session = make_session(**{"source": {"mac": "02:00:00:00:00:01", "ip": "10.0.0.1"}} | changes)
        session.save(tmp_path / f"{name}.json")
        return session

    return save


@pytest.fixture
def load_text(tmp_path: Path) -> Load:
    def load_text(text: str) -> BoardConfig:
        path = tmp_path / "board.toml"
        path.write_text(text)
        return load(path, CAPABILITIES, calibrate)

    return load_text


@pytest.mark.parametrize("sources", [1, 2])
def test_the_shortest_file_is_the_whole_session(save: Callable[..., Session], load_text: Load, sources: int) -> None:
    session = save("a", sources=sources)
    config = load_text(TRANSMITTER + RECEIVER + f"source = {sources - 1}\n" + FLOW)
    assert config.tx == session.tx_config(source=sources - 1)
    assert (config.flows, config.destinations, config.credit) == (("all",), ("a",), (4,))
    assert config.ring is None


def test_three_flows_to_four_receivers_have_their_own_entries(save: Callable[..., Session], load_text: Load) -> None:
    for number, name in enumerate("abcd"):
        save(name, qpn=number, window_end=number)
    receivers = "".join(RECEIVER.replace("a.json", f"{name}.json").replace('"a"', f'"{name}"') for name in "abcd")
    config = load_text(
        f"""{TRANSMITTER}
        [source]
        rows = 64
        columns = 200
        pitch = 512
        offset = 128
        {receivers}
        [[flow]]
        name = "halves"
        receivers = ["b", "d"]
        bunch = 5
        roi = {{ x = 100, y = 48, width = 100, height = 16 }}
        [[flow]]
        name = "every tenth"
        receivers = ["a"]
        first = 3
        every = 10
        burst = 2
        count = 7
        roi = {{ x = 8, y = 9, width = 10, height = 11 }}
        place = {{ x = 90, y = 5 }}
        [[flow]]
        name = "dark"
        receivers = ["c"]
        kind = 1
        roi = {{ width = 100, height = 16 }}
        """
    )
    assert config.destinations == ("b", "d", "a", "c")
    assert config.credit == (1, 3, 0, 2)
    assert [config.tx.qps[d.qp].dest_qpn for d in config.tx.destinations] == [1, 3, 0, 2]
    halves, tenth, dark = config.tx.flows
    assert [(flow.first_destination, flow.destinations) for flow in config.tx.flows] == [(0, 2), (2, 1), (3, 1)]
    assert {(flow.source_pitch, flow.source_offset, flow.destination_pitch) for flow in config.tx.flows} == {
        (512, 128, 200)
    }
    assert (halves.bunch, halves.x0, halves.y0, halves.width, halves.height) == (5, 100, 48, 100, 16)
    assert (tenth.first, tenth.period, tenth.burst, tenth.count) == (3, 10, 2, 7)
    assert (tenth.x0, tenth.y0, tenth.width, tenth.height, tenth.x1, tenth.y1) == (8, 9, 10, 11, 90, 5)
    assert (dark.kind, dark.x0, dark.y0, tenth.kind) == (1, 0, 0, None)


def test_two_sources_of_one_session_share_its_queue_pair(save: Callable[..., Session], load_text: Load) -> None:
    save("a", sources=2)
    config = load_text(
        TRANSMITTER
        + RECEIVER
        + RECEIVER.replace('"a"', '"b"')
        + "source = 1\n"
        + FLOW
        + FLOW.replace("all", "more").replace('"a"', '"b"')
    )
    assert len(config.tx.qps) == 1
    assert [destination.qp for destination in config.tx.destinations] == [0, 0]
    assert [(flow.source, flow.y1, flow.height) for flow in config.tx.flows] == [(0, 0, 8), (1, 8, 8)]


def test_a_rate_is_that_of_the_boards_clock(save: Callable[..., Session], load_text: Load) -> None:
    save("a")
    (qp,) = load_text(TRANSMITTER + RECEIVER + "rate_gbps = 40\n" + FLOW).tx.qps
    assert qp.rate == int(5e9 / 322_265_625 * 65536)
    assert qp.burst == roce_pacer.smallest_burst(qp.rate, CAPABILITIES.qps) > 0


def test_pixels_of_4_bytes_take_twice_the_place(save: Callable[..., Session], load_text: Load) -> None:
    save("a")
    source = "[source]\nrows = 16\ncolumns = 50\npixel_bytes = 4\n"
    (flow,) = load_text(TRANSMITTER + source + RECEIVER + FLOW).tx.flows
    assert (flow.wide, flow.width, flow.source_pitch, flow.destination_pitch) == (True, 50, 200, 200)
    with pytest.raises(
        InputError, match=r"place: 51 x 16 pixels at \(0, 0\) are not in the receiver's image of 50 x 16"
    ):
        load_text(TRANSMITTER + source.replace("50", "51") + RECEIVER + FLOW)


@pytest.mark.parametrize(
    ("store", "ring"),
    [
        ("slot_bytes = 8192", FrameRing(1 << 33, 8192, 300)),
        ("", FrameRing(1 << 33, 12288, 300)),
    ],
)
def test_the_frame_store_holds_the_image(
    save: Callable[..., Session], load_text: Load, store: str, ring: FrameRing
) -> None:
    save("a")
    rows = 16 if store else 42
    source = f"[source]\nrows = {rows}\ncolumns = 100\noffset = 64\n"
    roi = "roi = { width = 100, height = 16 }\n"
    text = f"{TRANSMITTER}{source}[store]\nbase = 0x200000000\nslots = 300\n{store}\n{RECEIVER}{FLOW}{roi}"
    assert load_text(text).ring == ring


@pytest.mark.parametrize(("pixels", "offset"), [("raw", 0), ("corrected", 3200)])
@pytest.mark.parametrize("key", [True, False])
def test_a_flow_takes_the_image_that_its_receivers_want(
    save: Callable[..., Session], load_text: Load, pixels: str, offset: int, key: bool
) -> None:
    save("a", pixels=pixels)
    image = f'image = "{pixels}"\n' if key else ""
    config = load_text(TRANSMITTER + SOURCE + STORE + CORRECTION + RECEIVER + FLOW + image)
    (flow,) = config.tx.flows
    assert (flow.source_offset, flow.source_pitch) == (offset, 200)
    assert config.ring == FrameRing(0, 8192, 2)


def test_the_corrected_image_lies_behind_the_raw_one_and_the_constants_plane_behind_plane(
    save: Callable[..., Session], load_text: Load
) -> None:
    save("a")
    source = SOURCE.replace("16", "25").replace("100", "1001")
    table = CORRECTION.replace("16x100", "25x1001") + 'fraction_bits = 4\nmode = "hg0"\n'
    text = TRANSMITTER + source + STORE + table + RECEIVER + FLOW + "roi = { width = 100, height = 16 }\n"
    config = load_text(text)
    correction = config.correction
    assert correction is not None
    assert (correction.image_bytes, correction.offset) == (50_050, 50_176), "the next multiple of 128"
    assert (correction.base, correction.pitch) == (1 << 32, 53_248), "the next multiple of 4096"
    assert (correction.fixed.fraction_bits, correction.fixed.high_gain) == (4, True)
    assert config.ring == FrameRing(0, 102_400, 2), "the next multiple of 4096 behind 50,176 + 50,050"
    with_pitch = load_text(text.replace("mode", "pitch = 65536\nmode"))
    assert with_pitch.correction is not None
    assert with_pitch.correction.pitch == 65536


STORE = "[store]\nbase = 0\nslots = 2\n"
CORRECTION = '[correction]\ncalibration = "16x100.h5"\nbase = 0x1_0000_0000\n'
CORRECTED = CORRECTION + RECEIVER + FLOW
SOURCE = "[source]\nrows = 16\ncolumns = 100\n"
STORED = TRANSMITTER + SOURCE + STORE
OTHER = RECEIVER.replace('"a"', '"b"')
GOOD = TRANSMITTER + RECEIVER + FLOW


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("[transmitter\n", "not TOML: Expected ']'"),
        ("", "[transmitter]: is missing; [receiver]: is missing; [flow]: is missing"),
        (
            GOOD.replace("02:00", "2:0"),
            "[transmitter]: mac: is '2:0:00:00:00:01': give a MAC address in lower case, as 02:00:00:00:00:01 (line 2)",
        ),
        (
            GOOD.replace("10.0.0.1", "10.0.0"),
            "[transmitter]: ip: is '10.0.0': give an IPv4 address, as 192.0.2.1 (line 3)",
        ),
        (
            GOOD.replace("ip =", "IP ="),
            "[transmitter]: ip: is missing (line 1); [transmitter]: IP: is not a key here: did you mean ip? (line 3)",
        ),
        (
            GOOD.replace("[[flow]]", "[[flows]]"),
            "[flow]: is missing; [flows]: is not a key here: did you mean flow? (line 7)",
        ),
        (GOOD.replace("[[flow]]", "[flow]"), "[flow]: is a table: give a list (line 7)"),
        (GOOD + "bunch = 0\n", "[[flow]] 'all': bunch: is 0: give more than 0 (line 10)"),
        (GOOD + "every = '2'\n", "[[flow]] 'all': every: is '2': give a whole number (line 10)"),
        (GOOD + "roi = { width = 10 }\n", "[[flow]] 'all': roi.height: is missing"),
        (GOOD + "kind = 8\n", "[[flow]] 'all': kind: is 8: give less than 8 (line 10)"),
        (GOOD.replace('name = "all"\n', ""), "[[flow]] number 1: name: is missing"),
        (GOOD.replace('["a"]', "[1]"), "[[flow]] 'all': receivers[0]: is 1: give a text, in quotes (line 9)"),
        (GOOD.replace('["a"]', "[]"), "[[flow]] 'all': receivers: has too few: give 1 or more (line 9)"),
        (
            TRANSMITTER + SOURCE.replace("100", "100\npitch = 199") + RECEIVER + FLOW,
            "[source]: pitch: a line has 200 bytes",
        ),
        (
            TRANSMITTER + SOURCE + "pixel_bytes = 3\n" + RECEIVER + FLOW,
            "[source]: pixel_bytes: is 3: give 2 or 4 (line 7)",
        ),
        (
            GOOD.replace("[[receiver]]", "clock_hz = 5\n[[receiver]]"),
            "[transmitter]: clock_hz: 5 Hz are wanted, but the",
        ),
        (GOOD.replace("a.json", "b.json"), "[[receiver]] 'a': cannot read the session"),
        (GOOD.replace("10.0.0.1", "10.0.0.3"), "[[receiver]] 'a': session: a.json expects packets from 10.0.0.1, but"),
        (TRANSMITTER + RECEIVER + RECEIVER + FLOW, "[[receiver]] 'a': there is another receiver of this name"),
        (TRANSMITTER + RECEIVER + OTHER + FLOW, "[[receiver]] 'b': 'a' is source 0 of the same session"),
        (TRANSMITTER + RECEIVER + OTHER.replace("a.json", "c.json") + FLOW, "[[receiver]] 'b': no flow goes there"),
        (TRANSMITTER + RECEIVER + "source = 1\n" + FLOW, "[[flow]] 'all': source 1 is not in a session of 1"),
        (
            TRANSMITTER + RECEIVER + "rate_gbps = 1e9\n" + FLOW,
            "[[receiver]] 'a': rate_gbps: 1e+09 Gb/s are impossible with this board's clock of",
        ),
        (GOOD.replace('["a"]', '["b"]'), "[[flow]] 'all': receivers: there is no receiver 'b': there are 'a'"),
        (GOOD.replace('["a"]', '["a", "a"]'), "[[flow]] 'all': receivers: 'a' has a flow already"),
        (GOOD + FLOW.replace("all", "more"), "[[flow]] 'more': receivers: 'a' has a flow already"),
        (GOOD + FLOW, "[[flow]] 'all': there is another flow of this name"),
        (GOOD + "burst = 2\n", "[[flow]] 'all': burst: 2 frames of every 1 cannot be"),
        (
            GOOD + "roi = { x = 99, width = 2, height = 1 }\n",
            "[[flow]] 'all': roi: 2 x 1 pixels at (99, 0) are not in the source's image of 100 x 16",
        ),
        (
            GOOD + "roi = { y = 16, width = 2, height = 1 }\n",
            "[[flow]] 'all': roi: 2 x 1 pixels at (0, 16) are not in the source's image of 100 x 16",
        ),
        (
            GOOD + "place = { x = 0, y = 1 }\n",
            "[[flow]] 'all': place: 100 x 16 pixels at (0, 1) are not in the receiver's image of 100 x 16",
        ),
        (
            TRANSMITTER
            + RECEIVER
            + RECEIVER.replace("a.json", "d.json").replace('"a"', '"d"')
            + FLOW.replace('["a"]', '["a", "d"]'),
            "[[flow]] 'all': receivers: 'a' has images of 16 x 100 pixels and source 0, 'd' of 8 x 100 and 0",
        ),
        (TRANSMITTER + STORE + RECEIVER + FLOW, "[store]: slot_bytes: is missing"),
        (
            TRANSMITTER + SOURCE + STORE + "slot_bytes = 3199\n" + RECEIVER + FLOW,
            "[store]: slot_bytes: 3199 are too few for the image of [source]: give 3200 or more",
        ),
        (
            TRANSMITTER + SOURCE.replace("16", "65535").replace("100", "65535") + STORE + RECEIVER + FLOW,
            "[store]: the image of [source] would need slots of 8589672450 bytes, they have less than 4 GiB",
        ),
        (
            TRANSMITTER + SOURCE + STORE + "slot_bytes = 6399\n" + CORRECTED,
            "[store]: slot_bytes: 6399 are too few for the image of [source] and the corrected one behind it: give",
        ),
        (
            GOOD + 'image = "corrected"\n',
            "[[flow]] 'all': image: corrected ones would go to 'a', whose session is for raw ones: change this key, or",
        ),
        (
            GOOD.replace("a.json", "e.json"),
            "[[flow]] 'all': image: 'a' is for corrected ones, there are none: add [correction]",
        ),
        (
            GOOD.replace("a.json", "e.json") + 'image = "raw"\n',
            "[[flow]] 'all': image: raw ones would go to 'a', whose session is for corrected ones",
        ),
        (
            TRANSMITTER + RECEIVER + OTHER.replace("a.json", "e.json") + FLOW.replace('["a"]', '["a", "b"]'),
            "[[flow]] 'all': receivers: 'a' is for raw images, 'b' for corrected ones: give each its own flow",
        ),
        (
            TRANSMITTER
            + SOURCE
            + STORE
            + CORRECTION
            + "fraction_bits = 4\n"
            + RECEIVER.replace("a.json", "e.json")
            + FLOW,
            "[[receiver]] 'a': session: e.json is for photons with 0 fraction bits, [correction] makes photons",
        ),
        (
            STORED + CORRECTION + 'unit = "keV"\n' + RECEIVER.replace("a.json", "e.json") + FLOW,
            "[[receiver]] 'a': session: e.json is for photons with 0 fraction bits, [correction] makes keV",
        ),
        (GOOD + 'image = "dark"\n', "[[flow]] 'all': image: is 'dark': give 'raw' or 'corrected' (line 10)"),
        (TRANSMITTER + SOURCE + CORRECTED, "[correction]: frames are corrected on the way to the frame store: say in"),
        (
            TRANSMITTER + STORE + "slot_bytes = 8192\n" + CORRECTED,
            "[correction]: the size of the detector's image is not known: give rows and columns in [source]",
        ),
        (
            TRANSMITTER + SOURCE + "pixel_bytes = 4\n" + STORE + CORRECTED,
            "[correction]: pixels of 4 bytes in [source] cannot be corrected",
        ),
        (
            TRANSMITTER + SOURCE + "pitch = 256\n" + STORE + CORRECTED,
            "[correction]: only images without gaps can be corrected",
        ),
        (
            TRANSMITTER + SOURCE + "offset = 64\n" + STORE + CORRECTED,
            "[correction]: only images without gaps can be corrected",
        ),
        (
            TRANSMITTER + SOURCE + STORE + CORRECTED.replace("16x100", "100x16"),
            "[correction]: calibration: it is for 100 x 16 pixels, the image of [source] has 16 x 100: give the",
        ),
        (
            TRANSMITTER + SOURCE + STORE + CORRECTED.replace("0x1_0000_0000", "0x1_0000_0800"),
            "[correction]: constants cannot lie at 0x100000800: give an address that is a multiple of 4096",
        ),
        (
            TRANSMITTER + SOURCE + STORE + CORRECTED.replace("0x1_0000_0000", "0xFFFF_FFFF_FFFF_B000"),
            "[correction]: base: constants at 0xffffffffffffb000 would end behind the last address",
        ),
        (
            TRANSMITTER + SOURCE + STORE + CORRECTION + "pitch = 6144\n" + RECEIVER + FLOW,
            "[correction]: planes of 3200 bytes do not lie at a pitch of 6144: give a multiple of 4096, 4096 or more",
        ),
        (
            TRANSMITTER + SOURCE + STORE + CORRECTION + "fraction_bits = 16\n" + RECEIVER + FLOW,
            "[correction]: fraction_bits: is 16: give 15 or less (line 13)",
        ),
        (
            TRANSMITTER + SOURCE + STORE + CORRECTION + 'mode = "high"\n' + RECEIVER + FLOW,
            "[correction]: mode: is 'high': give 'normal' or 'hg0'",
        ),
    ],
)
def test_what_is_wrong_is_named_with_its_table(
    save: Callable[..., Session], load_text: Load, text: str, sentence: str
) -> None:
    save("a")
    save("c", qpn=7)
    save("d", qpn=8, rows=8)
    save("e", qpn=9, pixels="corrected")
    with pytest.raises(InputError, match=f"^the configuration .*board.toml is (not usable: )?{re.escape(sentence)}"):
        load_text(text)


def test_two_rates_for_one_queue_pair_are_refused(save: Callable[..., Session], load_text: Load) -> None:
    save("a", sources=2)
    with pytest.raises(InputError, match=r"'b': rate_gbps: 'a' has another one, but the same session: give one rate"):
        load_text(TRANSMITTER + RECEIVER + OTHER + "source = 1\nrate_gbps = 10\n" + FLOW)


@pytest.mark.parametrize("content", [None, b"\xff\xfe"])
def test_a_file_that_cannot_be_read_is_named(tmp_path: Path, content: bytes | None) -> None:
    path = tmp_path / "board.toml"
    if content:
        path.write_bytes(content)
    with pytest.raises(
        InputError,
        match=r"the configuration .*board.toml(: No such file| is not text in UTF-8: line 1 has the byte 0xff)",
    ):
        load(path, CAPABILITIES, calibrate)


def test_a_calibration_that_is_none_is_said_with_its_table(save: Callable[..., Session], load_text: Load) -> None:
    save("a")
    with pytest.raises(InputError, match=r"board.toml is not usable: \[correction\]: .*/bad.h5 is not a calibration"):
        load_text(TRANSMITTER + SOURCE + STORE + CORRECTED.replace("16x100", "bad"))


@pytest.mark.parametrize(
    ("slots", "constants", "sentence"),
    [
        (0, 0x3000, r"would lie at 0x3000 to 0x8fff, in the frame store's memory at 0x0 to 0x3fff: give them another"),
        (0x5000, 0, r"would lie at 0x0 to 0x5fff, in the frame store's memory at 0x5000 to 0x8fff: give them another"),
    ],
)
def test_constants_and_slots_in_one_place_are_refused(
    save: Callable[..., Session], load_text: Load, slots: int, constants: int, sentence: str
) -> None:
    save("a")
    table = CORRECTED.replace("0x1_0000_0000", str(constants))
    with pytest.raises(InputError, match=rf"\[correction\]: the constants {sentence}"):
        load_text(TRANSMITTER + SOURCE + STORE.replace("= 0", f"= {slots}") + table)
