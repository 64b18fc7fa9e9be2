"""RC, station and congestion control in the file that configures a board: what it leaves out, what cannot be."""

import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as some

from framelane.base.errors import ConfigError, InputError
from framelane.driver.board.board import Board
from framelane.driver.board.board_readings import Capabilities
from framelane.driver.board.network import (
    Network,
    Station,
    check_network,
    default_limits,
    gives_up_after_s,
    message_packets,
    settles_s,
    silence_s,
)
from framelane.driver.board.queue_pairs import REASONS, QueuePair
from framelane.driver.config.board_config import BoardConfig, load
from framelane.driver.registers.recording import RecordingRegisters
from framelane.models.placement import bd_rows
from framelane.models.placement.bd_place import BdPlace
from framelane.models.placement.flow import Destination, Flow, FrameEvent
from framelane.models.rc.dcqcn import DcqcnSettings
from framelane.models.rc.rc_protocol import RcLimits, RcReason, RcState
from framelane.models.roce_tx.roce_qp import AckPolicy, Service
from framelane.session.session import Session
from rc_board import no_calibration

MakeSession = Callable[..., Session]
Load = Callable[..., BoardConfig]
BUILD = Capabilities(
    (1, 3, 0), 7, 250_000_000, 512, False, False, 16, 4, 16, rc=True, station=True, rc_qps=4, rc_depth=64
)
PLAIN = replace(BUILD, rc=False, station=False, rc_qps=0, rc_depth=0)
TRANSMITTER = '[transmitter]\nmac = "02:00:00:00:00:01"\nip = "10.0.0.1"\n'
RECEIVER = '[[receiver]]\nname = "a"\nsession = "a.json"\n'
FLOW = '[[flow]]\nname = "all"\nreceivers = ["a"]\n'
GOOD = TRANSMITTER + RECEIVER + FLOW
OTHER = RECEIVER.replace('"a"', '"b"').replace("a.json", "b.json") + FLOW.replace('"a"', '"b"').replace("all", "more")

OUT_OF_RANGE = "Gb/s are impossible with this board's clock of 250 MHz: give 3.0518e-05 to 511 Gb/s"
ELSEWHERE = "its receiver sends acknowledgements and congestion notifications to QP number 9"


@pytest.fixture
def save(tmp_path: Path, make_session: MakeSession) -> Callable[..., Session]:
    """Save a session of RC, of 16 x 100 pixels, beside the configuration."""

    def save(name: str, **changes: Any) -> Session:
        source = {"mac": "02:00:00:00:00:01", "ip": "10.0.0.1"}
        session = make_session(**{"service": "RC", "source": source} | changes)
        session.save(tmp_path / f"{name}.json")
        return session

    return save


@pytest.fixture
def load_text(tmp_path: Path) -> Load:
    def load_text(text: str, build: Capabilities = BUILD) -> BoardConfig:
        path = tmp_path / "board.toml"
        path.write_text(text)
        return load(path, build, no_calibration)

    return load_text


def test_a_receiver_of_rc_needs_no_key(save: Callable[..., Session], load_text: Load) -> None:
    session = save("a")
    config = load_text(GOOD)
    assert config.tx.qps == (session.qp_context(),)
    assert (config.tx.qps[0].service, config.tx.qps[0].ack_policy) == (Service.RC, AckPolicy.LAST)
    assert config.network == Network(limits=(default_limits(1024),), ask=(None,))
    assert config.tx.flows[0].max_length == 512 << 10, "a quarter of the window"


@pytest.mark.parametrize(("mtu", "window"), [(4096, 512), (1024, 2048), (256, 8192)])
def test_the_defaults_are_for_100_gbps(mtu: int, window: int) -> None:
    limits = default_limits(mtu)
    assert limits.window == window
    assert 0.75 * window * mtu / 12.5e9 > 120e-6, "a round trip of 120 us at full speed"
    assert silence_s(limits) == pytest.approx(4.096e-6 * 512 * (1 + 2 + 4 + 8 + 16 * 4))
    assert gives_up_after_s(limits) == 2 * silence_s(limits)
    assert settles_s(limits) == pytest.approx(4.096e-6 * 512 * 16)


def test_every_limit_may_be_given(save: Callable[..., Session], load_text: Load) -> None:
    save("a")
    table = "rc = { window = 40, timeout_ms = 67, backoff = 2, retries = 5, rnr_retries = 3, ack_every = 32 }\n"
    config = load_text(TRANSMITTER + RECEIVER + table + FLOW)
    assert config.network.limits == (RcLimits(window=40, timeout=14, backoff=2, retries=5, rnr_retries=3),)
    assert (config.tx.qps[0].ack_policy, config.tx.qps[0].ack_log2) == (AckPolicy.INTERVAL, 5)
    assert config.tx.flows[0].max_length == 10 * 1024


@pytest.mark.parametrize(
    ("timeout_ms", "exponent"), [(0, 0), (0.004096, 0), (0.0041, 1), (2, 9), (2.097152, 9), (2.1, 10), (4294, 20)]
)
def test_a_time_out_is_the_next_one_that_there_is(
    save: Callable[..., Session], load_text: Load, timeout_ms: float, exponent: int
) -> None:
    save("a")
    (limits,) = load_text(TRANSMITTER + RECEIVER + f"rc = {{ timeout_ms = {timeout_ms} }}\n" + FLOW).network.limits
    assert limits
    assert limits.timeout == exponent


def test_a_flow_to_several_receivers_has_messages_for_the_smallest_window(
    save: Callable[..., Session], load_text: Load
) -> None:
    save("a")
    save("b", source_qpn=3, mtu=256, qpn=5)
    text = TRANSMITTER + RECEIVER + RECEIVER.replace('"a"', '"b"').replace("a.json", "b.json")
    flow = FLOW.replace('["a"]', '["a", "b"]')
    assert load_text(text + "rc = { window = 100 }\n" + flow).tx.flows[0].max_length == 25 * 256
    assert load_text(text + "rc = { window = 3 }\n" + flow).tx.flows[0].max_length == 256


def test_receivers_of_uc_are_as_ever(save: Callable[..., Session], load_text: Load) -> None:
    session = save("a", service="UC", source_qpn=77)
    for build in (BUILD, PLAIN):
        config = load_text(GOOD, build)
        assert config.tx == session.tx_config()
        assert config.network == Network(limits=(None,), ask=(None,))


def test_packets_have_the_tag_and_the_class_that_the_file_gives(save: Callable[..., Session], load_text: Load) -> None:
    save("a")
    (qp,) = load_text(TRANSMITTER + RECEIVER + "vlan = 100\npriority = 3\ndscp = 26\n" + FLOW).tx.qps
    assert (qp.vlan, qp.tos) == (3 << 13 | 100, 26 << 2)
    (qp,) = load_text(TRANSMITTER + "[dcqcn]\n" + RECEIVER + "dscp = 26\n" + FLOW).tx.qps
    assert qp.tos == 26 << 2 | 2


def test_the_mac_is_asked_of_the_receiver_or_of_the_router(save: Callable[..., Session], load_text: Load) -> None:
    session = save("a")
    assert load_text(TRANSMITTER + RECEIVER + "resolve = true\n" + FLOW).network.ask == (int(session.receiver.ip),)
    assert load_text(TRANSMITTER + RECEIVER + 'gateway = "10.0.0.254"\n' + FLOW).network.ask == (0x0A0000FE,)


def test_station_and_congestion_control_are_those_of_the_file(save: Callable[..., Session], load_text: Load) -> None:
    save("a")
    station = """
        [station]
        echo = false
        pause = true
        priorities = [3, 4, 3]
        control_priorities = [0]
        link_gbps = 25
        vlan = 7
        arp_timeout_ms = 20
        arp_retries = 1
        """
    network = load_text(TRANSMITTER + station + "[dcqcn]\nminimum_gbps = 0.5\n" + RECEIVER + FLOW).network
    assert network.station == Station(True, False, True, 7, 0b11000, 1, 25e9, 20, 1)
    assert network.dcqcn == DcqcnSettings(minimum=16_384, additive=3276, hyper=32_768, alpha_period=54, rise_period=54)


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        (
            GOOD.replace("a.json", "wrong.json"),
            f"[[receiver]] 'a': session: {ELSEWHERE}, "
            "but it is queue pair 0 of this board, which has number 2: start the receiver with source_qpn = 2 in",
        ),
        (
            GOOD + OTHER.replace("b.json", "wrong.json"),
            f"[[receiver]] 'b': session: {ELSEWHERE}, "
            "but it is queue pair 1 of this board, which has number 3: start the receiver with source_qpn = 3",
        ),
        (
            TRANSMITTER + "[dcqcn]\n" + RECEIVER.replace("a.json", "uc.json") + FLOW,
            f"[[receiver]] 'a': session: {ELSEWHERE}",
        ),
        (
            TRANSMITTER + RECEIVER.replace("a.json", "uc.json") + "rc = {}\n" + FLOW,
            "[[receiver]] 'a': rc: uc.json is a session of UC, which has no acknowledgements: remove the key, or",
        ),
        (
            TRANSMITTER + RECEIVER + "rc = { ack_every = 3 }\n" + FLOW,
            "[[receiver]] 'a': rc: ack_every: 3 is not a power of 2: give 1, 2, 4 ... 32768, or 0",
        ),
        (TRANSMITTER + RECEIVER + "rc = { window = 0 }\n" + FLOW, "[[receiver]] 'a': rc.window: is 0: give"),
        (TRANSMITTER + RECEIVER + "rc = { retries = 16 }\n" + FLOW, "[[receiver]] 'a': rc.retries: is 16: give"),
        (TRANSMITTER + RECEIVER + "priority = 3\n" + FLOW, "[[receiver]] 'a': priority: it is part of a VLAN tag"),
        (TRANSMITTER + "[station]\npriority = 3\n" + RECEIVER + FLOW, "[station]: priority: it is part of a VLAN tag"),
        (TRANSMITTER + "[station]\npriorities = [8]\n" + RECEIVER + FLOW, "[station]: priorities[0]: is 8: give"),
        (
            TRANSMITTER + "[station]\npings = true\n" + RECEIVER + FLOW,
            "[station]: pings: is not a key here: remove it, or give one of arp",
        ),
        (
            TRANSMITTER + "[station]\narp = false\n" + RECEIVER + "resolve = true\n" + FLOW,
            "[[flow]]: a MAC is to be asked for, but arp is off: say arp = true in [station], or give the MAC",
        ),
        (TRANSMITTER + "[dcqcn]\nline_gbps = 1e9\n" + RECEIVER + FLOW, f"[dcqcn]: line_gbps: 1e+09 {OUT_OF_RANGE}"),
        (TRANSMITTER + "[dcqcn]\nhyper_gbps = 3e-5\n" + RECEIVER + FLOW, f"[dcqcn]: hyper_gbps: 3e-05 {OUT_OF_RANGE}"),
        (
            TRANSMITTER + "[dcqcn]\nrise_us = 1e9\n" + RECEIVER + FLOW,
            "[dcqcn]: rise_us: 1e+09 us cannot be: give 1.",
        ),
        (
            TRANSMITTER + "[dcqcn]\nalpha_us = 0.1\n" + RECEIVER + FLOW,
            "[dcqcn]: alpha_us: 0.1 us cannot be: give 1.",
        ),
        (
            TRANSMITTER
            + "[source]\nrows = 16\ncolumns = 200\n"
            + RECEIVER
            + FLOW
            + "roi = { width = 100, height = 16 }\n",
            None,
        ),
        (
            TRANSMITTER
            + "[source]\nrows = 64\ncolumns = 200\n"
            + RECEIVER.replace("a.json", "high.json")
            + FLOW
            + "roi = { width = 100, height = 64 }\n",
            "[[flow]] 'all': a frame of flow 0 has 65 descriptors with its trailer, but this build keeps 64 of an "
            "RC queue pair, for sending them again: each of its 64 lines is a message: send whole lines",
        ),
        (
            TRANSMITTER + RECEIVER.replace("a.json", "large.json") + "rc = { window = 4 }\n" + FLOW,
            "[[flow]] 'all': a frame of flow 0 has 80 descriptors with its trailer, but this build keeps 64 of an "
            "RC queue pair, for sending them again: raise the window, so that its messages can be longer; or load",
        ),
    ],
)
def test_what_cannot_be_is_said_with_its_table(
    save: Callable[..., Session], load_text: Load, text: str, sentence: str | None
) -> None:
    save("a")
    save("b", qpn=6, source_qpn=3)
    save("wrong", qpn=7, source_qpn=9)
    save("uc", qpn=8, source_qpn=9, service="UC")
    save("high", rows=64, qpn=9)
    save("large", rows=400, qpn=10)
    if sentence is None:
        assert load_text(text).tx.flows[0].descriptors == 17
        return
    with pytest.raises(InputError, match=f"board.toml is not usable: {re.escape(sentence)}"):
        load_text(text)


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        (GOOD, "session: a.json is of RC, but this build of the transmitter has UC only: load a design with Rc = 1"),
        (
            TRANSMITTER + RECEIVER.replace("a.json", "uc.json") + "resolve = true\n" + FLOW,
            "resolve: this build of the transmitter has no receive path for ARP: remove resolve and gateway",
        ),
        (
            TRANSMITTER + "[station]\n" + RECEIVER.replace("a.json", "uc.json") + FLOW,
            "[station]: this build of the transmitter has no receive path: remove it, or load another",
        ),
        (
            TRANSMITTER + "[dcqcn]\n" + RECEIVER.replace("a.json", "uc.json") + FLOW,
            "[dcqcn]: this build of the transmitter has no RC, of which congestion control is a part",
        ),
    ],
)
def test_what_a_build_has_not_is_said_with_what_to_load(
    save: Callable[..., Session], load_text: Load, text: str, sentence: str
) -> None:
    save("a")
    save("uc", qpn=8, service="UC")
    with pytest.raises(InputError, match=re.escape(sentence)):
        load_text(text, PLAIN)


def test_two_receivers_of_one_queue_pair_have_the_same_keys(save: Callable[..., Session], load_text: Load) -> None:
    save("a", sources=2)
    second = RECEIVER.replace('"a"', '"b"') + "source = 1\n"
    for key in ("dscp = 1", "vlan = 4", "resolve = true", 'gateway = "10.0.0.4"', "rc = { window = 7 }"):
        with pytest.raises(InputError, match=rf"'b': {key.split()[0]}: 'a' has another one, but the same session"):
            load_text(TRANSMITTER + RECEIVER + second + f"{key}\n" + FLOW.replace('["a"]', '["a", "b"]'))


def test_a_fifth_queue_pair_of_rc_is_refused_where_there_are_four(
    save: Callable[..., Session], load_text: Load
) -> None:
    text = TRANSMITTER
    for k in range(5):
        save(f"r{k}", qpn=k, source_qpn=2 + k)
        text += RECEIVER.replace('"a"', f'"r{k}"').replace("a.json", f"r{k}.json")
    flow = FLOW.replace('["a"]', str([f"r{k}" for k in range(5)]).replace("'", '"'))
    with pytest.raises(InputError, match="queue pair 4 is of RC, but only the first 4 of this build may be"):
        load_text(text + flow)


def test_a_queue_pair_that_never_asks_for_acknowledgements_is_refused(
    make_session: MakeSession, make_transmitter: Callable[..., Any]
) -> None:
    config = make_session(service="RC").tx_config()
    silent = replace(config, qps=(replace(config.qps[0], ack_policy=AckPolicy.NEVER),))
    board = RecordingRegisters(make_transmitter(capabilities=3 << 18 | 512, rc_sizes=64 << 16 | 2))
    with pytest.raises(ConfigError, match=r"queue pair 0 is of RC and never asks .* \(ack_policy NEVER\): none would"):
        Board(board).configure(silent)
    assert all(access.op == "read" for access in board.accesses)


def test_congestion_control_is_refused_by_a_station_without_rc(make_session: MakeSession) -> None:
    config, network = make_session().tx_config(), Network(dcqcn=DcqcnSettings())
    check_network(config, network, BUILD)
    with pytest.raises(ConfigError, match="has no congestion control: load a design with Rc = 1"):
        check_network(config, network, replace(PLAIN, station=True))


def test_a_build_without_rc_makes_packets_of_rc_only_where_that_is_wanted(make_session: MakeSession) -> None:
    config = make_session(service="RC").tx_config()
    check_network(config, Network(unacknowledged=True), PLAIN)
    with pytest.raises(ConfigError, match="queue pair 0 is of RC, but this build of the transmitter has UC only"):
        check_network(config, Network(), PLAIN)


@pytest.mark.parametrize("window", [3, 4])
def test_a_message_longer_than_the_window_is_refused(make_session: MakeSession, window: int) -> None:
    config = make_session(service="RC").tx_config()
    network = Network(limits=(RcLimits(window=window),))
    assert message_packets(config.flows[0], 1024) == 4
    if window == 4:
        check_network(config, network, BUILD)
        return
    with pytest.raises(ConfigError, match=r"flow 0 has messages of 4 packets, but the window .* max_length of 3072"):
        check_network(config, network, BUILD)


@given(
    size=some.tuples(some.integers(1, 300), some.integers(1, 40)),
    gaps=some.tuples(some.sampled_from([0, 2, 64]), some.sampled_from([0, 2, 64])),
    wide=some.booleans(),
    max_length=some.sampled_from([1, 7, 64, 100, 4096, 1 << 31]),
    mtu=some.sampled_from([256, 4096]),
)
def test_the_room_that_is_asked_for_is_that_of_the_descriptors_that_come(
    size: tuple[int, int], gaps: tuple[int, int], wide: bool, max_length: int, mtu: int
) -> None:
    """Too small, and a stalled queue pair would stop the descriptors of the others; too large, and frames are lost."""
    (width, height), row_bytes = size, size[0] * (4 if wide else 2)
    pitches = row_bytes + gaps[0], row_bytes + gaps[1]
    known: dict[str, Any] = {"width": width, "height": height, "wide": wide, "max_length": max_length}
    flow = Flow(source=0, first_destination=0, source_pitch=pitches[0], destination_pitch=pitches[1], **known)
    event = FrameEvent(0, 0, 0, 0)
    asked: list[int] = []
    places = BdPlace((Destination(0, 0, 1 << 30, 1, 1 << 20),))

    def room(qp: int, wanted: int) -> bool:
        asked.append(wanted)
        return True

    placed = places.place(flow, 0, 0, event, [1], room)
    assert placed
    made, _ = bd_rows.descriptors(placed, event, mtu)
    assert asked == [min(len(made), 0xFFFF)]
    assert max(-(-bd.length // mtu) for bd in made) == message_packets(flow, mtu)


@pytest.mark.parametrize("reason", [*RcReason, 15])
def test_every_reason_has_words_and_a_next_step(reason: int) -> None:
    known = RcReason(reason) if reason != 15 else reason
    pair = QueuePair(3, 0x0A000002, 0x77, RcState.ERROR, known, 5, 9, RcLimits())
    assert pair.outstanding == 4
    said = pair.sentence()
    assert said.startswith("queue pair 3 to QP 0x77 at 10.0.0.2 is in error, its frames are lost: ")
    assert (REASONS[known] if isinstance(known, RcReason) else "reason 15") in said
    assert ("configure the board again" in said) or ("framelane board rearm FILE NAME" in said)
    assert replace(pair, state=RcState.RUN).why == ""


@pytest.mark.parametrize("key", ["alpha_us", "rise_us", "line_gbps"])
@pytest.mark.parametrize("number", ["inf", "nan"])
def test_a_number_without_end_is_refused(load_text: Load, save: Callable[..., Session], key: str, number: str) -> None:
    save("a", service="UC")
    with pytest.raises(InputError, match=rf"{key}.*finite number"):
        load_text(TRANSMITTER + f"[dcqcn]\n{key} = {number}\n" + RECEIVER + FLOW)


@pytest.mark.parametrize("gbps", [3.0518e-05, 511])
def test_the_rates_that_a_sentence_names_can_be_had(load_text: Load, save: Callable[..., Session], gbps: float) -> None:
    save("a", service="UC")
    (qp,) = load_text(TRANSMITTER + RECEIVER + f"rate_gbps = {gbps}\n" + FLOW).tx.qps
    assert 1 <= qp.rate < 1 << 24
