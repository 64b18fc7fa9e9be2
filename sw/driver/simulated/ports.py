"""The packed structs of `hw/` as integers: field by field, the first field most significant (IEEE 1800, 7.2.1)."""

from collections.abc import Mapping
from dataclasses import asdict

from framelane.models.detector.det_place import Target
from framelane.models.memory.frame_store import FrameInfo
from framelane.models.memory.image_writer import Correction
from framelane.models.placement.flow import Destination, Flow, FrameEvent
from framelane.models.roce_tx.roce_qp import QpContext
from framelane.models.roce_tx.roce_segment import Message


class Struct:
    """One packed struct: names and widths in bits, as declared. Named like its SystemVerilog type."""

    def __init__(self, **fields: int) -> None:
        self.fields = fields
        self.width = sum(fields.values())

    def pack(self, values: Mapping[str, int]) -> int:
        """The bits of `values`, which must name every field."""
        bits = 0
        for name, width in self.fields.items():
            value = int(values[name])
            if value >> width:
                raise ValueError(f"field {name} = {value:#x} does not fit {width} bits")
            bits = bits << width | value
        return bits

    def unpack(self, bits: int) -> dict[str, int]:
        """Invert `pack`."""
        values = {}
        for name, width in reversed(self.fields.items()):
            values[name] = bits & (1 << width) - 1
            bits >>= width
        return values


# hw/rtl/framelane_pkg.sv
FRAME_T = Struct(time_flags=32, kind=3, kind_index=64, bunch_id=64, timestamp_ns=64, number=64, address=64)
FRAME_INFO_T = Struct(time_flags=32, kind=3, bunch_id=64, timestamp_ns=64, number=64)
FLOW_T = Struct(
    **{
        "reserved1": 16,
        "descriptors": 16,
        "max_length": 32,
        "destination_pitch": 32,
        "y1": 16,
        "x1": 16,
        "source_offset": 32,
        "source_pitch": 32,
    },
    **{"height": 16, "width": 16, "y0": 16, "x0": 16, "count": 64, "burst": 32, "period": 32, "first": 64, "bunch": 32},
    **{"destinations": 8, "first_destination": 8, "source": 8, "reserved0": 2, "wide": 1, "kind": 3, "by_kind": 1},
    enabled=1,
)
DESTINATION_T = Struct(
    **{"window_end": 64, "trailer_offset": 32, "n_slots": 32, "base": 64, "slot_bytes": 32, "reserved1": 16, "qp": 8},
    **{"reserved0": 7, "enabled": 1},
)
REFUSAL_T = Struct(number=64, destination=8, flow=8, reason=8)
CHOSEN_T = Struct(over=1, bad=1, index=64, id=8, flow=FLOW_T.width, frame=FRAME_T.width)
TRAILER_T = Struct(
    time_flags=32,
    **{"detector_frame": 64, "frames_dropped": 64, "packets": 32, "payload_bytes": 32, "bunch_id": 64},
    **{"timestamp_ns": 64, "frame_number": 64, "slot": 32, "source": 16},
)
PLACED_T = Struct(
    **{"over": 1, "destination_index": 8, "qp": 8, "max_length": 32, "rows": 16, "row_bytes": 32},
    **{"source_pitch": 32, "destination_pitch": 32, "source": 64, "destination": 64, "trailer_at": 64},
    trailer=TRAILER_T.width,
)
BD_T = Struct(imm=32, last=1, destination_index=8, qp=8, length=32, destination=64, source=64)
READ_T = Struct(length=32, address=64)
CORRECTION_T = Struct(offset=32, image_bytes=32, pitch=32, base=64, shift=15, guard=1, high_gain=1, enabled=1)
COUNT_T = Struct(amount=64, index=16)

# hw/roce_tx/roce_pkg.sv
_PATH = {
    **{"has_vlan": 1, "tci": 16, "dst_mac": 48, "dst_ip": 32, "src_port": 16},
    **{"dest_qpn": 24, "pkey": 16, "tos": 8, "ttl": 8},
}
_SERVICE = {"service": 1, "segmentation": 1, "mtu_log2": 4, "ack_policy": 2, "ack_log2": 4, "entropy": 1}
QP_T = Struct(enabled=1, **_SERVICE, rkey=32, rate=24, burst=24, **_PATH, psn=24)
QP_WRITE_T = Struct(set_psn=1, index=8, qp=QP_T.width)
CONTEXT_T = Struct(enabled=1, **_SERVICE, limited=1, rkey=32, checksum=16, **_PATH)
MESSAGE_T = Struct(replay=1, resume=1, psn=24, imm_valid=1, imm=32, qp=8, length=32, address=64)
PACKET_T = Struct(
    **{"status": 3, "ends": 1, "index": 8, "opcode": 8, "has_reth": 1, "has_imm": 1, "ack_request": 1, "psn": 24},
    **{"length": 13, "udp_length": 13, "checksum": 17, "reth_address": 64, "reth_rkey": 32, "reth_length": 32},
    imm=32,
    limited=1,
    vlan=1,
    **_PATH,
)
HEADER_USER_T = Struct(
    **{"status": 3, "ends": 1, "index": 8, "length": 13, "reth": 1, "words": 2, "has_vlan": 1, "limited": 1},
    **{"line_bytes": 13, "left": 13, "one_left": 1, "one_read": 1, "refused": 1},
)
ERRORS_T = Struct(bad_payload=32, too_long=32, too_short=32, bad_length=32, bad_qp=32)
PACKET_USER_T = Struct(poisoned=1, has_vlan=1)

# hw/rtl/detector/det_pkg.sv
TARGET_T = Struct(
    **{"mask_offset": 32, "trailer_offset": 32, "reach": 32, "first": 64, "learn": 1, "base": 64, "slot_bytes": 32},
    **{"slots_log2": 5, "first_source": 8, "qp": 8},
)

# hw/rtl/pcie/pcie_pkg.sv
WRITE_T = Struct(fence=1, tag=5, length=32, offset=64)
_REQUEST = {"fence": 1, "tag": 5, "address": 64, "dwords": 8, "last_be": 4, "first_be": 4}
_READS = {"final_read": 1, "tail": 6, "reads_last": 1, "earlier": 6, "beats": 5}
TLP_T = Struct(status=4, refused=1, empty=1, ends=1, **_READS, **_REQUEST)
TLP_USER_T = Struct(poisoned=1, **_REQUEST)
MSIX_T = Struct(enabled=1, masked=1, address=64, data=32, events=16, delay=16)


def path_fields(qp: QpContext) -> dict[str, int]:
    """The fields of path_t in a QP context."""
    named = {name: int(getattr(qp, name)) for name in _PATH if hasattr(qp, name)}
    vlan = {"has_vlan": qp.vlan is not None, "tci": qp.vlan or 0}
    return named | vlan | {"dst_mac": qp.dst.mac, "dst_ip": qp.dst.ip}


def qp_t(qp: QpContext) -> int:
    """A QP context as the table takes it."""
    named = {name: int(getattr(qp, name)) for name in QP_T.fields if hasattr(qp, name)}
    return QP_T.pack(named | path_fields(qp) | {"mtu_log2": qp.mtu.bit_length() - 1})


def qp_write_t(index: int, qp: QpContext, set_psn: bool = True) -> int:
    """A write to the QP table; without `set_psn` the QP goes on with its own PSN."""
    return QP_WRITE_T.pack({"set_psn": set_psn, "index": index, "qp": qp_t(qp)})


def message_t(message: Message) -> int:
    """A message as the packetizer takes it."""
    return MESSAGE_T.pack(
        {
            "replay": message.psn is not None,
            "resume": message.resume,
            "psn": message.psn or 0,
            "imm_valid": message.imm is not None,
            "imm": message.imm or 0,
            "qp": message.qp,
            "length": message.length,
            "address": message.address,
        }
    )


def flow_t(flow: Flow) -> int:
    """A flow as its registers hold it, enabled."""
    named = {name: getattr(flow, name) for name in FLOW_T.fields if hasattr(flow, name)}
    chosen = {"kind": flow.kind or 0, "by_kind": flow.kind is not None, "enabled": 1}
    return FLOW_T.pack(named | chosen | {"reserved0": 0, "reserved1": 0})


def destination_t(destination: Destination, window_end: int) -> int:
    """A destination with its credit as its registers hold it, enabled."""
    named = {name: getattr(destination, name) for name in DESTINATION_T.fields if hasattr(destination, name)}
    return DESTINATION_T.pack(named | {"window_end": window_end, "enabled": 1, "reserved0": 0, "reserved1": 0})


def frame_t(event: FrameEvent) -> int:
    """A frame event as the descriptor generator takes it."""
    return FRAME_T.pack({name: getattr(event, name) for name in FRAME_T.fields})


def frame_info_t(info: FrameInfo) -> int:
    """What comes with the first beat of a frame's pixels."""
    return FRAME_INFO_T.pack({name: getattr(info, name) for name in FRAME_INFO_T.fields})


def correction_t(correction: Correction) -> int:
    """A correction as its registers hold it, enabled, with the guard."""
    fixed = correction.fixed
    named = {name: getattr(correction, name) for name in ("offset", "image_bytes", "pitch", "base")}
    shift = sum(bits << 5 * stage for stage, bits in enumerate(fixed.shift))
    return CORRECTION_T.pack(named | {"shift": shift, "guard": 1, "high_gain": fixed.high_gain, "enabled": 1})


def target_t(target: Target) -> int:
    """Where a detector's frames go."""
    return TARGET_T.pack(asdict(target) | {"learn": target.first is None, "first": target.first or 0})
