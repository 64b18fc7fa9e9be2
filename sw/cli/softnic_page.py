"""The page docs/softnic_speed.md."""

from typing import Any

from framelane.cli.bench import Target
from framelane.crc32_library import crc32_library

_HEAD = """# The speed of the soft NIC

A plain network port instead of an RDMA NIC: `framelane.receiver.softnic` checks every packet as a NIC does, its ICRC
included, and places it in the ring. Written by `make bench BENCH=softnic`; all numbers are in
`build/bench/softnic.json`.

## From memory

One core, WRITE ONLY packets that lie in memory, more than the caches hold. "Copy and CRC-32 only" is what cannot be
left out: every packet goes through a CRC-32, and its payload to the ring. The loop is Python that takes one packet
after the other (`Responder`). GB/s are of payload.

| payload, bytes | what | packets/s | GB/s | times the Python loop | of copy and CRC |
|---|---|---|---|---|---|
"""

_WIRE = """
## With a sender on another core

The highest rate at which {seconds:g} s of sending lose no packet: as Table 1 of the paper of the JUNGFRAU receiver
(J. Synchrotron Rad. 2020, 27), for a plain port. Sent by `sendmmsg`, WRITE ONLY. `recv_into` counts datagrams and does
nothing else: no check, no ICRC, no placement. Where the rate is what was "sent at most", the sender is the limit and
not the receiver. Both cores are of the same machine, and on these interfaces the sender's core does the kernel's work
for the receiver.

| payload, bytes | what | over | packets/s without loss | GB/s | sent at most, packets/s |
|---|---|---|---|---|---|
"""

_TAIL = """
A line of 10 Gb/s carries 0.30 million packets of 4096 bytes a second, one of 25 Gb/s 0.75 million.

Where the time goes: a batch of packets is read where the kernel has put it (AF_PACKET, TPACKET_V3: a ring of blocks
shared with the kernel; UDP: `recvmmsg`), and one compiled loop checks the headers, computes the ICRC by a library's
CRC-32 ({library}) and copies the payload, which is in the L1 cache by then. What is not a plain good packet goes to the
Responder, in Python, one by one; what comes in floods after a lost packet is refused by the loop.
"""


def page(memory: list[dict[str, Any]], wire: list[dict[str, Any]], targets: list[Target], seconds: float) -> str:
    """The page's text, from the rows and targets of the bench; trials took so many `seconds`."""
    rates = {(row["what"], row["payload_bytes"]): row["packets_per_s"] for row in memory}
    loops, floors = ({size: rate for (what, size), rate in rates.items() if word in what} for word in ("Python", "CRC"))
    lines = [
        f"| {row['payload_bytes']} | {row['what']} | {row['packets_per_s']:,.0f} | {row['gb_per_s']:.2f} "
        f"| {row['packets_per_s'] / loops[row['payload_bytes']]:.1f} "
        f"| {row['packets_per_s'] / floors[row['payload_bytes']]:.0%} |\n"
        for row in memory
    ]
    promises = [
        f"- {target.what}: {target.value:,.0f} {target.unit}".rstrip()
        + f", promised {target.limit:,g} or more: {'met' if target.met else 'missed'}\n"
        for target in targets
    ]
    measured = [
        f"| {row['payload_bytes']} | {row['what']} | {row['path']} | {row['packets_per_s']:,.0f} "
        f"| {row['gb_per_s']:.2f} | {row['sent_per_s']:,.0f} |\n"
        for row in wire
    ]
    network = [_WIRE.format(seconds=seconds), *measured] if measured else []
    return "".join([_HEAD, *lines, "\n", *promises, *network, _TAIL.format(library=crc32_library().name)])
