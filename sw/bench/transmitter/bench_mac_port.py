"""What the port to a MAC costs: beats of the line without data, and nanoseconds of each packet."""

from typing import Any

from framelane.bench.runner import Measurement, Target
from framelane.bench.transmitter import mac_port_page
from framelane.driver.simulated.verilated_mac_port import MAC_WIDTH, MacPortSimulator
from framelane.models.cells import axis
from framelane.models.roce_tx import wire

LINE_FS = 3_103_030
"""A 100G MAC's clock of 322.265625 MHz."""

RATIO = 1.28
"""How much faster the core's clock is."""

CORE_FS = round(LINE_FS / RATIO)

BUS_FS = 4_000_000
"""A core's clock of 250 MHz, which 512 bits of an UltraScale+ design are meant for."""

LINE_GBPS = 100

HEADERS = wire.ETH_BYTES + 20 + 8 + 12 + 16 + wire.ICRC_BYTES
"""Bytes beside the payload of a WRITE ONLY: Ethernet, IPv4, UDP, BTH, RETH, and the ICRC."""

PAYLOADS = (64, 128, 256, 512, 1000, 1024, 1500, 2048, 3000, 4095, 4096)
THRESHOLDS = (0, 1, 2, 4, 8, 16, 32)
IN_A_ROW = 400
ALONE = 60
"""Packets of which each waits for the one before to be out: the phases of both clocks wander past each other."""

LIMIT_CROSSING_NS = 30.0


def packet_bytes(payload: int) -> int:
    """Bytes of a WRITE ONLY, without FCS."""
    return HEADERS + payload + -payload % 4


def efficiency_row(payload: int) -> dict[str, Any]:
    """Packets one behind the other: cycles of the line from the first beat to the last one, and their beats."""
    length = packet_bytes(payload)
    with MacPortSimulator(CORE_FS, LINE_FS) as port:
        passage = port.run([length] * IN_A_ROW)
    beats = IN_A_ROW * axis.n_beats(length, MAC_WIDTH)
    span = int(passage.packets["out_last"][-1] - passage.packets["out_first"][0])
    cycles = span // LINE_FS + 1
    return {
        **{"case": "efficiency", "payload": payload, "threshold": 0, "beats": beats, "cycles": cycles},
        **{"efficiency": beats / cycles, "latency_ns": None, "own_ns": None, "gaps": passage.gaps, "underruns": 0},
        "of_line": None,
    }


def line_row(payload: int) -> dict[str, Any]:
    """Packets one behind the other of a core at 250 MHz: their rate, over that of a line of 100 Gb/s.

    The MAC takes each beat at once, so that nothing but the core's bus limits the rate. Latency is as in `latency_row`.
    """
    length = packet_bytes(payload)
    with MacPortSimulator(BUS_FS, LINE_FS) as port:
        passage = port.run([length] * IN_A_ROW)
    first = passage.packets["out_first"]
    packet_fs = int(first[-1] - first[0]) / (IN_A_ROW - 1)
    line_fs = (length + wire.LINE_BYTES) * 8 / LINE_GBPS * 1e6
    return {
        **latency_row(payload, 0, BUS_FS),
        **{"case": "core of 250 MHz", "of_line": line_fs / packet_fs, "gaps": passage.gaps},
    }


def latency_row(payload: int, threshold: int, core_fs: int = CORE_FS) -> dict[str, Any]:
    """Packets that come alone: from the first beat in to the first beat out, the longest.

    `own_ns` of it are the packet's own beats that are waited for: all, or those of the threshold.
    """
    length = packet_bytes(payload)
    beats = axis.n_beats(length, MAC_WIDTH)
    with MacPortSimulator(core_fs, LINE_FS, threshold=threshold) as port:
        passages = [port.run([length]) for _ in range(ALONE)]
    added = max(int(p["out_first"] - p["in_first"]) for passage in passages for p in passage.packets) / 1e6
    waited = min(threshold or beats, beats) - 1
    return {
        **{"case": "latency", "payload": payload, "threshold": threshold, "beats": beats, "cycles": None},
        **{"efficiency": None, "latency_ns": added, "own_ns": waited * core_fs / 1e6},
        **{"gaps": sum(p.gaps for p in passages), "underruns": sum(p.underruns for p in passages), "of_line": None},
    }


def measure() -> Measurement:
    """One row a payload in a row, and a payload and threshold alone."""
    rows = [efficiency_row(payload) for payload in PAYLOADS]
    rows += [latency_row(payload, threshold) for payload in mac_port_page.ALONE for threshold in THRESHOLDS]
    rows += [line_row(payload) for payload in PAYLOADS]
    efficiency = min(row["efficiency"] for row in rows if row["efficiency"])
    crossing = max(row["latency_ns"] - row["own_ns"] for row in rows if row["latency_ns"])
    targets = [
        Target(
            what=f"beats with data over cycles of the line, the core {RATIO} times as fast, worst payload",
            value=efficiency,
            unit="",
            limit=1.0,
            better="higher",
        ),
        Target(
            what=f"packets of a core at 250 MHz over those that a line of {LINE_GBPS} Gb/s takes, worst payload",
            value=min(row["of_line"] for row in rows if row["of_line"]),
            unit="",
            limit=1.0,
            better="higher",
        ),
        Target(
            what="latency added beside the packet's own beats",
            value=crossing,
            unit="ns",
            limit=LIMIT_CROSSING_NS,
            better="lower",
        ),
        Target(
            what="cycles without a beat in a packet, and underruns",
            value=sum(row["gaps"] + row["underruns"] for row in rows),
            unit="",
            limit=0,
            better="lower",
        ),
    ]
    return Measurement(rows, targets, page=mac_port_page.page(rows, RATIO))
