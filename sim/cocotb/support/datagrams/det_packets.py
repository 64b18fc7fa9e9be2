"""Packets of detectors in benches: the descriptions that are known, their frames, the fields of the structs."""

from dataclasses import asdict

from scapy.layers.inet import UDP
from scapy.packet import Raw

from framelane.driver.simulated.ports import Struct
from framelane.models.detector.det_header import DetHeader, Head
from framelane.models.detector.det_place import End, Item, Kind
from framelane.models.roce_tx.wire import Endpoint
from framelane.packets.detector_file import shipped
from receive_bench import LOCAL, PEER, ethernet, ip

DATAGRAM_T = Struct(bytes=16, stream=8)
ITEM_T = Struct(kind=2, address=64)
END_T = Struct(
    **{"mask": 256, "packets": 16, "frames_dropped": 64, "detector_frame": 64, "bunch_id": 64, "timestamp_ns": 64},
    **{"frame_number": 64, "slot": 16, "module_number": 8},
)
HEAD_T = Struct(identity=64, bunch_id=64, timestamp=64, number=64, packet=16, port=1, module_number=8)

FIRST_PORT = 50001
JUNGFRAU = shipped("jungfrau")
EXAMPLE = shipped("example")


def frame_of(payload: bytes, stream: int = 0, *, tci: int | None = None, dst: Endpoint = LOCAL) -> bytes:
    """An Ethernet frame with this UDP payload to the station."""
    under = ethernet(PEER, dst, tci) / ip(PEER, dst)
    return bytes(under / UDP(sport=4321, dport=FIRST_PORT + stream, chksum=0) / Raw(payload))


def head_of(bits: int) -> Head:
    """The head of these bits of head_t."""
    return Head(**HEAD_T.unpack(bits))


def head_bits(head: Head) -> int:
    """Its bits."""
    return HEAD_T.pack(asdict(head))


def end_bits(end: End) -> int:
    """The bits of end_t."""
    return END_T.pack(asdict(end))


def item_bits(item: Item) -> int:
    """The bits of item_t."""
    return ITEM_T.pack({"kind": item.kind, "address": item.address})


def item_of(item: int, user: int) -> Item:
    """The item of these bits of item_t and end_t."""
    fields = ITEM_T.unpack(item)
    kind = Kind(fields["kind"])
    return Item(kind, fields["address"], End(**END_T.unpack(user)) if kind is Kind.END else None)


def build_of(header: DetHeader) -> tuple[dict[str, int], list[str]]:
    """Parameters of a block for this description: those that fit 32 bits, and arguments of Verilator for the others."""
    values = header.parameters()
    wide = [name for name in values if name in ("ConstantField", "ConstantValue", "IdentityField")]
    return (
        {name: value for name, value in values.items() if name not in wide},
        [f"-G{name}=128'h{values[name]:x}" for name in wide],
    )
