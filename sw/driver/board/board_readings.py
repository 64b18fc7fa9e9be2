"""What a board reports: its capabilities, state, counters and errors."""

from dataclasses import dataclass

from framelane.models.placement.flow import Refusal


@dataclass(frozen=True, slots=True)
class Capabilities:
    """One build: version of its register map, build number, clock in Hz, width of its packet stream in bits.

    With `frame_store` it keeps frames in its own ring; otherwise they are in memory already. With `correction` it can
    keep a corrected image beside each. `qps`, `flows` and `destinations` are the sizes of its tables. With `rc` its
    first `rc_qps` queue pairs can be of RC; it keeps up to `rc_depth` descriptors of each until they are acknowledged.
    With `station` it has a receive path. `address_bits` is the width of its memory addresses, 0 if unknown.
    """

    version: tuple[int, int, int]
    build: int
    clock_hz: int
    data_width: int
    frame_store: bool
    correction: bool
    qps: int
    flows: int
    destinations: int
    rc: bool = False
    station: bool = False
    rc_qps: int = 0
    rc_depth: int = 0
    address_bits: int = 64


@dataclass(frozen=True, slots=True)
class State:
    """The board's state.

    `idle`: no frame is in flight. `armed`: frames are sent. `resetting`: a reset is in progress. `snapshot_busy`: the
    counters are being copied. `qp_busy`: a queue pair is being written. `mac_stuck`: the Ethernet core stands still,
    and packets are dropped. `memory_stuck`: memory stands still, and reads end with errors.
    """

    idle: bool
    armed: bool
    resetting: bool
    snapshot_busy: bool
    qp_busy: bool
    mac_stuck: bool = False
    memory_stuck: bool = False

    def sentences(self) -> list[str]:
        """Sentences about what stands still now, and what to do."""
        said = []
        if self.mac_stuck:
            said.append(
                "the Ethernet core takes no packets, and they are dropped: its link is down, a pause does not end, or "
                "its clock stands"
            )
        if self.memory_stuck:
            said.append("memory does not answer, and frames fail: check its controller, its clock and its calibration")
        return said


@dataclass(frozen=True, slots=True)
class FlowCounters:
    """Frames of one flow."""

    selected: int
    refused: int


@dataclass(frozen=True, slots=True)
class DestinationCounters:
    """Frames of one destination: sent, dropped for want of credit, skipped (their numbers never came), failed."""

    sent: int
    dropped: int
    skipped: int
    failed: int


@dataclass(frozen=True, slots=True)
class StationCounters:
    """Counters of the receive path by their names in docs/reference/registers.md, and the CNPs of each queue pair."""

    events: dict[str, int]
    cnps: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Counters:
    """All counters of one moment (64 clock cycles), since the reset; docs/reference/registers.md says what each counts.

    `station`: None for a build without receive path.
    """

    cycles: int
    frames: int
    frames_ignored: int
    frames_lost: int
    packets: int
    beats: int
    stall_cycles: int
    messages: int
    bad_qp: int
    bad_length: int
    too_short: int
    too_long: int
    bad_payload: int
    read_errors: int
    frames_bad: int
    mismatches: int
    constant_errors: int
    pixel_stalls: int
    mac_timeouts: int
    mac_dropped: int
    memory_timeouts: int
    flows: tuple[FlowCounters, ...]
    destinations: tuple[DestinationCounters, ...]
    station: StationCounters | None = None


ADVICE = {
    "no_credit": "a receiver gave no credit for a frame, which was dropped: the receiver is too slow, has stopped, or "
    "its credit was never published; destination_counters[].dropped says which",
    "skipped": "numbers were missing between the frames of a destination: the detector or the frame store lost "
    "frames, or the board was disarmed for a while; "
    "destination_counters[].skipped says how many",
    "refused": "a frame was refused, as no place for it could be computed: mend that flow, then configure again",
    "frame_lost": "the frame store was full: the link or a rate limit is slower than the detector; send less (a "
    "region, every k-th frame), or give the store more slots",
    "bad_qp": "a message was for a queue pair that is not enabled: configure again (a reset forgets the queue pairs)",
    "bad_length": "a message was of 0 or of more than 2^31 bytes: mend the flow's rectangle or max_length",
    "too_short": "payload ended before its message: a fault of the gateware; reset, and report it with the counters",
    "too_long": "payload went on behind its message: a fault of the gateware; reset, and report it with the counters",
    "bad_payload": "payload came with errors, and its packets were sent so that no receiver takes them: see read_error",
    "frame_bad": "a frame did not fit a slot of the frame store, or its memory refused a write: compare "
    "store_slot_bytes (constants_bytes, where frames are corrected) with the detector's frame, check store_base and "
    "the memory",
    "read_error": "memory answered a read with an error, so pixels are missing in a frame: check the frame addresses "
    "and the memory; destination_counters[].failed says how many frames",
    "mismatch": "a frame was not sent, as it was shorter or longer than the constants of the correction, or a slot has "
    "no room for both images: compare constants_bytes with the detector's frame; counters.mismatches says how many",
    "constant_error": "memory answered a read of constants with an error, and the pixels they are for were masked: "
    "check constants_base, constants_pitch and the memory there; counters.constant_errors says how many reads",
    "mac_timeout": "the Ethernet core took no beat for too long, and packets were dropped: its link is down, a pause "
    "does not end, or its clock stands; counters.mac_dropped says how many",
    "memory_timeout": "memory did not answer for too long, and reads ended with errors: frames of that time failed; "
    "check its controller, its clock and its calibration",
    "bad_address": "store_base, constants_base or a frame is beyond the memory's addresses (sizes.address_bits): mend "
    "[store] or [correction] of the configuration, or what offers frames",
}
"""For each bit of the register `errors`: what happened, and what to do."""

_REASONS = {
    Refusal.BAD_FLOW: "the flow has a size, period, burst, bunch, number of destinations or max_length of 0, or lines "
    "that overlap",
    Refusal.BAD_DESTINATION: "the destination is not enabled, not in this build, or has no slots",
    Refusal.BACKWARDS: "its number is not above that of the frame before: configure before the detector's numbers "
    "start anew",
    Refusal.OUTSIDE: "the rectangle or the trailer does not fit the destination's slot",
}


@dataclass(frozen=True, slots=True)
class RefusedFrame:
    """The first frame that was refused: why (see `Refusal`), which flow and destination, its number."""

    reason: int
    flow: int
    destination: int
    frame: int

    def __str__(self) -> str:
        known = any(self.reason == each for each in Refusal)
        why = _REASONS[Refusal(self.reason)] if known else f"reason {self.reason}"
        return f"frame {self.frame} of flow {self.flow} to destination {self.destination}: {why}"


@dataclass(frozen=True, slots=True)
class Errors:
    """Names of the bits that are set in the register `errors`, and the first refused frame if there was one."""

    names: tuple[str, ...]
    refusal: RefusedFrame | None

    def sentences(self) -> list[str]:
        """For each error what happened and what to do."""
        said = [f"{name}: {ADVICE[name]}" for name in self.names]
        return said + ([f"the first refused: {self.refusal}"] if self.refusal else [])
