"""roce_header: header bytes equal the golden model for every kind of packet, one beat a cycle."""

from random import Random
from typing import Any

import cocotb
import pytest

from bench import ALL_STALLS, Bench, Stalls, assert_same_packets, run
from framelane.driver.simulated import ports
from framelane.driver.simulated.ports import HEADER_USER_T, PACKET_T
from framelane.models.cells import axis
from framelane.models.roce_tx import roce_header, roce_join, wire
from framelane.models.roce_tx.roce_qp import QpContext
from framelane.models.roce_tx.roce_segment import PacketCommand
from framelane.models.roce_tx.wire import Endpoint, Opcode, Reth
from widths import some_widths

LOCAL = Endpoint(mac=0x0A0B0C0D0E0F, ip=0xC0A80A01)


def header_sum(qp: QpContext, total_length: int) -> int:
    """What the segmenter hands over: the IPv4 header's one's complement sum, the last carry not yet added."""
    words = (0x4500 | qp.tos, 0x4000, qp.ttl << 8 | 17, LOCAL.ip >> 16, LOCAL.ip, qp.dst.ip >> 16, qp.dst.ip, 20)
    total = sum(w & 0xFFFF for w in words)
    return (total - 1) % 0xFFFF + 1 + total_length - 20


def random_packet(random: Random, length: int) -> tuple[PacketCommand, QpContext]:
    draw = random.getrandbits
    fields: dict[str, Any] = {"pkey": draw(16), "tos": draw(8), "ttl": draw(8)}
    fields |= {"vlan": random.choice([None, draw(16)]), "rate": draw(1)}
    qp = QpContext(Endpoint(draw(48), draw(32)), draw(24), draw(32), **fields)
    opcode = random.choice(list(Opcode))
    reth = Reth(draw(64), draw(32), draw(32)) if opcode.starts else None
    imm = draw(32) if opcode.has_imm else None
    service = random.choice([0, wire.UC])
    return PacketCommand(opcode + service, draw(24), 0, length, reth, imm, draw(16), bool(draw(1))), qp


def packed(command: PacketCommand, qp: QpContext, status: int = 0, ends: int = 1, index: int = 0) -> int:
    reth = command.reth or Reth(-1 & (1 << 64) - 1, 0xFFFFFFFF, 0xFFFFFFFF)
    header = roce_header.header(command, qp, LOCAL)
    total_length = len(header) - wire.ip_offset(header) + command.length + -command.length % 4 + wire.ICRC_BYTES
    return PACKET_T.pack(
        ports.path_fields(qp)
        | {
            "status": status,
            "ends": ends,
            "index": index,
            "opcode": command.opcode,
            "has_reth": command.reth is not None,
            "has_imm": command.imm is not None,
            "ack_request": command.ack_request,
            "psn": command.psn,
            "length": command.length,
            "udp_length": total_length - wire.IP_BYTES,
            "checksum": header_sum(qp, total_length),
            "reth_address": reth.address,
            "reth_rkey": reth.rkey,
            "reth_length": reth.length,
            "imm": 0xFFFFFFFF if command.imm is None else command.imm,
            "src_port": command.src_port,
            "limited": qp.rate != 0,
        }
    )


def beside(command: PacketCommand, qp: QpContext, width: int) -> dict[str, int]:
    """What travels beside the header and follows from the packet."""
    words = (qp.vlan is not None) + (command.imm is not None)
    header = roce_header.header(command, qp, LOCAL)
    packet = len(roce_join.join(header, bytes(command.length)))
    return {
        "limited": qp.rate != 0,
        "line_bytes": packet + wire.ICRC_BYTES + wire.LINE_BYTES,
        **roce_header.remainder(len(header), command.length, width // 8),
        "length": command.length,
        "reth": command.reth is not None,
        "words": words,
        "has_vlan": qp.vlan is not None,
    }


@cocotb.test()
@cocotb.parametrize(stalls=ALL_STALLS)
async def header_bytes_equal_the_model(dut: Any, stalls: Stalls) -> None:
    bench = Bench(dut, stalls)
    source, out = bench.source("s_axis_pkt"), bench.sink("m_axis_hdr")
    width = len(dut.m_axis_hdr_tdata)
    dut.local_mac_i.value, dut.local_ip_i.value, dut.pace_all_i.value = LOCAL.mac, LOCAL.ip, 0
    await bench.reset()
    lengths = [4096, 1, 2, 3, *(bench.random.randrange(1, 4097) for _ in range(200))]
    packets = [random_packet(bench.random, n) for n in lengths]
    draw = bench.random.randrange
    given = [{"status": draw(5), "ends": draw(2), "index": draw(256)} for _ in packets]
    source.items.extend(
        {"tdata": packed(command, qp, **fields)} for (command, qp), fields in zip(packets, given, strict=True)
    )
    await bench.until(lambda: not source.items)
    for _ in range(40):
        await bench.step()
    expected = [roce_header.header(command, qp, LOCAL) for command, qp in packets]
    assert_same_packets(out.packets(width), expected)
    users = iter(
        fields | {"refused": fields["status"] != 0} | beside(*packet, width)
        for fields, packet in zip(given, packets, strict=True)
    )
    expected_user = next(users)
    for item in out.items:
        assert HEADER_USER_T.unpack(item["tuser"]) == expected_user
        if item["tlast"]:
            expected_user = next(users, {})
    if stalls is Stalls.NONE:
        assert out.taken[-1] - out.taken[0] == len(out.taken) - 1


@cocotb.test()
async def a_reset_leaves_nothing_of_the_header_under_way(dut: Any) -> None:
    bench = Bench(dut)
    source, out = bench.source("s_axis_pkt"), bench.sink("m_axis_hdr")
    width = len(dut.m_axis_hdr_tdata)
    dut.local_mac_i.value, dut.local_ip_i.value, dut.pace_all_i.value = LOCAL.mac, LOCAL.ip, 0
    for cycles in range(1, 12):
        await bench.reset(cycles=1)
        source.items.append({"tdata": packed(*random_packet(bench.random, 1))})
        for _ in range(cycles):
            await bench.step()
        await bench.reset(cycles=1)
        command, qp = random_packet(bench.random, 64)
        expected = roce_header.header(command, qp, LOCAL)
        source.items.append({"tdata": packed(command, qp)})
        await bench.drain(out, axis.n_beats(len(expected), width))
        assert_same_packets(out.packets(width), [expected])


@pytest.mark.parametrize("width", some_widths("roce_header"))
def test_roce_header(width: int) -> None:
    run("roce_header", DataW=width)
