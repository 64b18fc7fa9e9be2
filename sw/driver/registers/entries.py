"""What a configuration writes: the registers of every entry of the transmitter's tables, with their fields by name."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, fields

from framelane.base.errors import BoardError, ConfigError
from framelane.driver.board.board_readings import Capabilities
from framelane.driver.board.network import Write
from framelane.driver.registers._register_map import REGISTERS
from framelane.driver.registers.register_file import RegisterFile
from framelane.models.jungfrau import jf_constants
from framelane.models.jungfrau.jf_calibration import STAGES
from framelane.models.memory.image_writer import Correction
from framelane.models.placement.flow import Destination, Flow
from framelane.models.roce_tx.roce_qp import QpContext
from framelane.models.tx import TxConfig

_MAX_SLOTS = (1 << 16) - 1


@dataclass(frozen=True, slots=True)
class FrameRing:
    """Memory in which a board's frame store keeps frames until they are sent: at `base`, `slots` of `slot_bytes`."""

    base: int
    slot_bytes: int
    slots: int


def check_fits(
    config: TxConfig, ring: FrameRing | None, correction: Correction | None, capabilities: Capabilities
) -> None:
    """Raise ConfigError where a build cannot hold a configuration."""
    for what in ("qps", "destinations", "flows"):
        wanted, there = len(getattr(config, what)), getattr(capabilities, what)
        if wanted > there:
            raise ConfigError(f"the configuration has {wanted} {what}, but this build of the transmitter only {there}")
    if correction and not capabilities.correction:
        raise ConfigError(
            "the configuration corrects frames, but this build of the transmitter does not: remove [correction], or "
            "load a design that can"
        )
    if capabilities.frame_store != bool(ring):
        advice = "has none: remove [store]" if ring else "needs one: say in [store] where its memory is"
        raise ConfigError(f"the configuration is wrong about the frame store, this board {advice}")
    beat = capabilities.data_width // 8
    if ring and (ring.base % beat or ring.slot_bytes % beat):
        raise ConfigError(
            f"the frame store cannot have slots of {ring.slot_bytes} bytes at {ring.base:#x}: "
            f"give multiples of {beat} bytes"
        )
    if ring and not 0 < ring.slots <= _MAX_SLOTS:
        raise ConfigError(f"the frame store cannot have {ring.slots} slots: give 1..{_MAX_SLOTS}")
    if correction and ring:
        check_memory(ring, correction, beat)
    highest = max(
        ring.base + ring.slots * ring.slot_bytes if ring else 0,
        correction.base + jf_constants.PLANES * correction.pitch if correction else 0,
    )
    if wrong := _beyond(highest, capabilities):
        raise ConfigError(wrong)


def check_written_memory(registers: RegisterFile, capabilities: Capabilities) -> None:
    """Raise BoardError where the frame store or the constants, as the registers have them, are not in the memory."""
    highest = 0
    if capabilities.frame_store:
        ring = FrameRing(**{field.name: registers[f"store_{field.name}"] for field in fields(FrameRing)})
        highest = ring.base + ring.slots * ring.slot_bytes
    if capabilities.correction and registers["correction.enabled"]:
        end = registers["constants_base"] + jf_constants.PLANES * registers["constants_pitch"]
        highest = max(highest, end)
    if wrong := _beyond(highest, capabilities):
        raise BoardError(f"the board is not armed: {wrong}")


def _beyond(highest: int, capabilities: Capabilities) -> str:
    """What is wrong with memory that ends there; nothing if it is in the build's."""
    if not capabilities.address_bits or highest <= 1 << capabilities.address_bits:
        return ""
    return (
        f"the frame store or the constants end at {highest:#x}, but addresses of this build's memory have "
        f"{capabilities.address_bits} bits: give them a lower base, or load a design with a larger AddrW"
    )


def check_memory(ring: FrameRing, correction: Correction, beat: int = 1) -> None:
    """Raise ConfigError where slots have no place for corrected images, by the `beat`, or lie among constants."""
    if correction.offset % beat or ring.slot_bytes < correction.offset + correction.image_bytes:
        raise ConfigError(
            f"a slot of {ring.slot_bytes} bytes cannot have a corrected image of {correction.image_bytes} bytes at "
            f"{correction.offset}: give slots of {correction.offset + correction.image_bytes} bytes or more, and for "
            f"the image a multiple of {beat}"
        )
    end = ring.base + ring.slots * ring.slot_bytes
    constants_end = correction.base + jf_constants.PLANES * correction.pitch
    if correction.base < end and ring.base < constants_end:
        raise ConfigError(
            f"the constants would lie at {correction.base:#x} to {constants_end - 1:#x}, in the frame store's memory "
            f"at {ring.base:#x} to {end - 1:#x}: give them another base"
        )


def all_writes(
    config: TxConfig, ring: FrameRing | None, correction: Correction | None, capabilities: Capabilities
) -> Iterator[Write]:
    """Every register of the configuration, in the order of writing; entries that it does not name are disabled."""
    yield from endpoint_writes(config)
    if ring:
        for field in fields(ring):
            yield f"store_{field.name}", {"value": getattr(ring, field.name)}
    yield from _correction(correction)
    yield from _table("qp", [qp_entry(qp) for qp in config.qps], capabilities.qps)
    rings = [destination_entry(destination) for destination in config.destinations]
    yield from _table("destination", rings, capabilities.destinations)
    yield from _table("flow", [flow_entry(flow, capabilities.rc) for flow in config.flows], capabilities.flows)


def endpoint_writes(config: TxConfig) -> Iterator[Write]:
    """The addresses of this end."""
    yield "local_mac", {"value": config.local.mac}
    yield "local_ip", {"value": config.local.ip}


def _correction(correction: Correction | None) -> Iterator[Write]:
    """`correction` last; 0 everywhere where frames are not corrected."""
    names = {"corrected_offset": "offset", "constants_base": "base", "constants_pitch": "pitch"}
    for register, name in (names | {"constants_bytes": "image_bytes"}).items():
        yield register, {"value": getattr(correction, name) if correction else 0}
    control = dict.fromkeys(("enabled", "guard", "high_gain", *(f"shift{stage}" for stage in range(STAGES))), 0)
    if correction:
        fixed = correction.fixed
        control |= {"enabled": 1, "guard": 1, "high_gain": int(fixed.high_gain)}
        control |= {f"shift{stage}": bits for stage, bits in enumerate(fixed.shift)}
    yield "correction", control


def _table(name: str, entries: Sequence[Mapping[str, int]], size: int) -> Iterator[Write]:
    """Entry after entry, `control` last; that alone where it is not used. Registers without a value are left out."""
    registers = {r.name.removeprefix(f"{name}[]."): r for r in REGISTERS if r.name.startswith(f"{name}[].")}
    registers["control"] = registers.pop("control")
    for index in range(size):
        for key, register in registers.items():
            named = {field.name: key if field.name == "value" else field.name for field in register.fields}
            if index < len(entries) and entries[index].keys() >= set(named.values()):
                yield register.name_of(index), {field: entries[index][value] for field, value in named.items()}
            elif key == "control":
                yield register.name_of(index), dict.fromkeys(named, 0)


def qp_entry(qp: QpContext) -> dict[str, int]:
    """The fields of an entry of `qp[]`; the QP begins with the PSN of `qp`."""
    return {
        **{name: int(getattr(qp, name)) for name in ("enabled", "service", "segmentation", "ack_policy", "entropy")},
        **{name: getattr(qp, name) for name in ("ack_log2", "rkey", "rate", "burst", "src_port", "pkey", "tos", "ttl")},
        "mtu_log2": qp.mtu.bit_length() - 1,
        "has_vlan": int(qp.vlan is not None),
        "tci": qp.vlan or 0,
        "set_psn": 1,
        "psn": qp.psn,
        "dest_qpn": qp.dest_qpn,
        "dst_mac": qp.dst.mac,
        "dst_ip": qp.dst.ip,
    }


def destination_entry(destination: Destination) -> dict[str, int]:
    """The fields of an entry of `destination[]`, without credit."""
    return asdict(destination) | {"enabled": 1, "window_end": 0}


def flow_entry(flow: Flow, rc: bool = False) -> dict[str, int]:
    """The fields of an entry of `flow[]`; with `rc` also what queue pairs of RC need."""
    selection = {"enabled": 1, "by_kind": int(flow.kind is not None), "kind": flow.kind or 0, "wide": int(flow.wide)}
    return asdict(flow) | selection | ({"descriptors": flow.descriptors} if rc else {})
