"""The RC queue pairs of a board: how they are, started and closed one by one."""

from collections.abc import Callable
from dataclasses import dataclass
from ipaddress import IPv4Address

from framelane.base.errors import ConfigError
from framelane.driver.board.network import gives_up_after_s, settles_s
from framelane.driver.registers.register_file import RegisterFile
from framelane.models.rc.rc_protocol import PSNS, RcLimits, RcReason, RcState
from framelane.models.roce_tx.roce_qp import QpContext
from framelane.models.station.roce_rx import FIRST_QPN

Wait = Callable[[Callable[[], bool], float, str, str], None]
"""Wait until something is so, so many seconds longer than usual; what is not so, and what to do, if it never is."""

STATES = {RcState.ERROR: "in error", RcState.SETTLE: "settling", RcState.RUN: "running", RcState.WAIT: "waiting (RNR)"}
REASONS = {
    RcReason.NOT_ARMED: "it was not started since the reset: configure the board again",
    RcReason.TIMEOUT: "its receiver did not answer, and the retries are spent: is that machine up, its cable, its port "
    "of the switch (`framelane board resolve IP`), and does its queue pair answer to the number of this one?",
    RcReason.SEQUENCE: "packets were lost again and again on the way, and the retries are spent: look for drops in the "
    "switch, limit the rate (rate_gbps), honour its pauses ([station]), or allow more retries",
    RcReason.RNR: "its receiver was not ready more often than allowed: has its program stopped, does it post receives? "
    "Or allow more rnr_retries",
    RcReason.INVALID: "its receiver refused a packet as invalid: mtu, segmentation, or the kind of its queue pair are "
    "not those of the session",
    RcReason.ACCESS: "its receiver refused an address or the rkey: the session is not the one that it published last",
    RcReason.OPERATION: "its receiver's NIC or memory failed: look into the kernel's log there",
    RcReason.MESSAGE: "a message was longer than its window, which was changed after the configuration: "
    "configure again",
    RcReason.REWRITTEN: "another process wrote its entry while it ran: let one process drive this board",
    RcReason.CLOSED: "it was closed by command, or a rearm was interrupted",
}
"""Why a queue pair is in error, and what to look at."""
NEXT = (
    "start its receiver anew: `framelane board follow`, where it runs, takes it in again, else say "
    "`framelane board rearm FILE NAME`; the others go on meanwhile"
)


@dataclass(frozen=True, slots=True)
class QueuePair:
    """One RC queue pair: its index, its receiver, its state, PSNs as in `RcQp`, and its limits.

    `reason` is that of the last error, and counts in error.
    """

    index: int
    receiver_ip: int
    receiver_qpn: int
    state: RcState
    reason: RcReason | int
    una: int
    nxt: int
    limits: RcLimits

    @property
    def number(self) -> int:
        """Its QP number on the wire."""
        return FIRST_QPN + self.index

    @property
    def receiver(self) -> str:
        """Its receiver in words."""
        return f"QP {self.receiver_qpn:#x} at {IPv4Address(self.receiver_ip)}"

    @property
    def outstanding(self) -> int:
        """Packets that are not acknowledged."""
        return (self.nxt - self.una) % PSNS

    @property
    def why(self) -> str:
        """Why it is in error; empty where it is not."""
        if self.state is not RcState.ERROR:
            return ""
        return REASONS[self.reason] if isinstance(self.reason, RcReason) else f"reason {self.reason}"

    def sentence(self, name: str | None = None, after: str = f"then {NEXT}") -> str:
        """What is wrong, and what to do, of one in error. `name`: its receiver's in the configuration."""
        who = f"{name!r} ({self.receiver})" if name else self.receiver
        behind = "" if self.reason is RcReason.NOT_ARMED else f"; {after}"
        return f"queue pair {self.index} to {who} is in error, its frames are lost: {self.why}{behind}"


def _known(value: int) -> RcReason | int:
    return RcReason(value) if value in list(RcReason) else value


class QueuePairs:
    """Reads and commands them. BoardError where the board does not do what it is told."""

    def __init__(self, registers: RegisterFile, wait: Wait) -> None:
        self._registers = registers
        self._wait = wait

    def read(self, index: int) -> QueuePair | None:
        """One of them; None where it is not enabled, or of UC."""
        entry = f"qp[{index}]"
        control = self._registers.read_register(f"{entry}.control")
        if not control["enabled"] or not control["service"]:
            return None
        state = self._registers.read_register(f"{entry}.rc_state")
        return QueuePair(
            index,
            self._registers[f"{entry}.dst_ip"],
            self._registers[f"{entry}.peer.dest_qpn"],
            RcState(state["state"]),
            _known(state["reason"]),
            self._registers[f"{entry}.rc_una"],
            self._registers[f"{entry}.rc_next"],
            self.limits(index),
        )

    def limits(self, index: int) -> RcLimits:
        """The limits of one."""
        values = self._registers.read_register(f"qp[{index}].limits")
        return RcLimits(**values | {"window": min(values["window"], 0xFFFE)})

    def check_unused(self, index: int, qp: QpContext) -> None:
        """Raise ConfigError where the QP has sent packets to this receiver from this PSN on already.

        Its receiver would take new ones for duplicates, and acknowledge them: lost in silence. That is seen as long as
        the board has not been reset since.
        """
        entry = f"qp[{index}]"
        same = (
            self._registers[f"{entry}.peer.dest_qpn"] == qp.dest_qpn
            and self._registers[f"{entry}.start.psn"] == qp.psn
            and self._registers[f"{entry}.dst_ip"] == qp.dst.ip
        )
        pair = self.read(index) if same else None
        if pair and pair.nxt != qp.psn and (pair.state, pair.reason) != (RcState.ERROR, RcReason.NOT_ARMED):
            raise ConfigError(
                f"queue pair {index} has sent packets of this session already, to QP {qp.dest_qpn:#x} from PSN "
                f"{qp.psn:#x} on: its receiver would take new ones for old ones, and they would be lost in silence: "
                "start the receiver anew, and give the session that it publishes then"
            )

    def close(self, index: int) -> None:
        """Put it into error: what it has not sent is lost, and frames for it are dropped."""
        self._command(index, 0, "close")

    def start(self, index: int, psn: int) -> None:
        """Start it with `psn`; what it has not sent yet is lost. It settles before it sends: see `wait_settled`."""
        self._command(index, psn, "arm")

    def wait_settled(self, index: int) -> None:
        """Wait until it sends, or has failed since."""

        def settled() -> bool:
            return self._registers[f"qp[{index}].rc_state.state"] != RcState.SETTLE

        advice = "the board's clock stands, or the design is damaged: load it anew"
        self._wait(settled, settles_s(self.limits(index)), f"queue pair {index} settles still", advice)

    def _command(self, index: int, psn: int, what: str) -> None:
        self._idle(index, "an earlier command to a queue pair is not done")
        self._registers.write_register("rc_start", {"psn": psn, "qp": index})
        self._registers.write_register("rc_command", {what: 1})
        self._idle(index, f"queue pair {index} is not {'started' if what == 'arm' else 'closed'}")
        if self._registers["rc_status.refused"]:
            raise ConfigError(
                f"queue pair {index} cannot be {'started' if what == 'arm' else 'closed'}: it is not in this build's "
                "first ones, not enabled, not of RC, or never asks for acknowledgements: configure the board"
            )

    def _idle(self, index: int, what: str) -> None:
        extra = gives_up_after_s(self.limits(index))
        advice = (
            "packets of it are still in the transmitter: is the Ethernet link down, is it paused by the switch "
            "(`framelane board status`), does a rate limit make a frame take longer? Mend that and try again"
        )
        self._wait(lambda: not self._registers["rc_status.busy"], extra, what, advice)
