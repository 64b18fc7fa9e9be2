"""Counters of interface, kernel and RDMA device: what is dropped below everything that a program sees."""

from collections.abc import Iterator

from framelane.doctor.host.finding import HostFinding, good, note, warning
from framelane.doctor.host.system import System

_INTERFACE = {
    "rx_crc_errors": "frames were damaged on the link: optics, cable, FEC",
    "rx_frame_errors": "frames were damaged on the link: optics, cable, FEC",
    "rx_length_errors": "frames were longer than the interface's MTU: raise it",
    "rx_over_errors": "frames were longer than the NIC takes: raise the MTU",
    "rx_missed_errors": "the NIC had no buffer: longer rings (`ethtool -G`), fewer interrupts, the right NUMA node",
    "rx_fifo_errors": "the NIC's FIFO has overflowed: PCIe width, longer rings (`ethtool -G`)",
    "rx_dropped": "the kernel had no use for frames, or its backlog was full: net.core.netdev_max_backlog, protocols",
}
_KERNEL = {
    ("Ip", "InHdrErrors"): "IP headers were wrong: checksum, version, length",
    ("Ip", "InAddrErrors"): "packets were for addresses that are not this host's, or failed rp_filter",
    ("Ip", "ReasmFails"): "fragments never became whole packets: the source sends more than an MTU",
    ("Udp", "InCsumErrors"): "UDP checksums were wrong: send 0",
    ("Udp", "RcvbufErrors"): "the queue of a socket was full: net.core.rmem_max, a faster receiver",
    (
        "Udp",
        "NoPorts",
    ): "packets came for a UDP port that nothing holds: normal with `--transport packet`, which leaves "
    "port 4791 free, and before a receiver is started; with `--transport udp` see who holds the port",
}
_NORMAL = frozenset(("Udp NoPorts",))
"""Those that grow on a healthy receiver, too."""
_RDMA = {
    "out_of_sequence": "PSNs had gaps: packets are lost on the way",
    "out_of_seq_request": "PSNs had gaps: packets are lost on the way",
    "packet_seq_err": "NAKs for a PSN gap came",
    "duplicate_request": "requests came twice: the source repeats without need, or its PSN is wrong",
    "rcvd_seq_err": "NAKs for a PSN gap came",
    "out_of_buffer": "no receive request was posted for an immediate",
    "rcvd_rnr_err": "no receive request was posted for an immediate",
    "rx_icrc_encapsulated": "ICRCs were wrong",
    "rx_icrc_errors": "ICRCs were wrong",
    "resp_remote_access_errors": "rkey or address were refused",
    "resp_local_length_error": "lengths were refused",
    "resp_cqe_error": "completions with errors",
    "np_ecn_marked_roce_packets": "packets had congestion marks: a switch port is full",
    "rx_prio3_discards": "packets of priority 3 were dropped: buffers or PFC of the NIC",
}
_PORT = {
    "port_rcv_errors": "the port has received damaged packets",
    "excessive_buffer_overrun_errors": "the port's buffers have overflowed",
    "symbol_error": "the link has symbol errors",
}

Readings = dict[str, int]


def read(system: System, interface: str | None, device: str | None) -> Readings:
    """All counters that are known here, by name."""
    found: Readings = {}
    if interface:
        for name in _INTERFACE:
            _add(found, f"{interface} {name}", system.number(f"sys/class/net/{interface}/statistics/{name}"))
    lines = [line.split() for line in system.net("snmp").splitlines()]
    for names, values in zip(lines[::2], lines[1::2], strict=False):
        table = dict(zip(names[1:], values[1:], strict=False))
        for protocol, name in _KERNEL:
            if names[0] == f"{protocol}:" and name in table:
                found[f"{protocol} {name}"] = int(table[name])
    for port in system.names(f"sys/class/infiniband/{device}/ports") if device else []:
        folder = f"sys/class/infiniband/{device}/ports/{port}"
        for name in _RDMA:
            _add(found, f"{device} {name}", system.number(f"{folder}/hw_counters/{name}"))
        for name in _PORT:
            _add(found, f"{device} {name}", system.number(f"{folder}/counters/{name}"))
    return found


def check(now: Readings, before: Readings | None = None) -> Iterator[HostFinding]:
    """Those that are not 0, or, with an earlier reading, that have grown since."""
    advice = {name: text for table in (_INTERFACE, _RDMA, _PORT) for name, text in table.items()}
    advice |= {name: text for (_, name), text in _KERNEL.items()}
    grown = {name: value - (before or {}).get(name, 0) for name, value in now.items()}
    bad = {name: value for name, value in grown.items() if value > 0}
    since = "since the system started" if before is None else "while listening"
    for name, value in bad.items():
        say = note if name in _NORMAL else warning
        yield say("counters", f"{name} has counted {value} {since}", advice[name.split(" ", 1)[1]])
    if bad.keys() <= _NORMAL:
        zero = len(now) - len(bad)
        many = "1 counter of errors and drops is" if zero == 1 else f"{zero} counters of errors and drops are"
        yield good("counters", f"{many} 0 {since}")


def _add(found: Readings, name: str, value: int | None) -> None:
    if value is not None:
        found[name] = value
