"""RC live: the simulated transmitter, its queue pairs each to one receiver, flow k on queue pair k."""

from framelane.driver.board.board import Board
from framelane.driver.board.network import Network
from framelane.driver.simulated.verilated_rc import SimulatedRcBoard
from framelane.models.placement.slots import FREE_RUNNING
from framelane.models.rc.rc_protocol import RcReason, RcState
from framelane.models.tx import TxConfig
from framelane.session.session import Session
from rc_live_plan import LIMITS, event, image

_STRIDE = 8192
"""From one frame to the next in the memory."""
_PLACES = 8
_TIMEOUT_S = 60.0
"""For registers: the emulated machine is slow."""
_LATENCY = 20


class LiveTransmitter:
    """Configured and armed for `sessions`."""

    def __init__(self, sessions: list[Session]) -> None:
        self.board = SimulatedRcBoard(latency=_LATENCY)
        self.board.link_up(True)
        self._control = Board(self.board, _TIMEOUT_S)
        self.registers = self._control.registers
        config = TxConfig(
            sessions[0].source.endpoint(),
            tuple(session.qp_context() for session in sessions),
            tuple(session.destination(qp=k) for k, session in enumerate(sessions)),
            tuple(session.flow(first_destination=k) for k, session in enumerate(sessions)),
        )
        self._control.configure(config, network=Network(limits=(LIMITS,) * len(sessions)))
        for k in range(len(sessions)):
            self._control.publish_credit(k, FREE_RUNNING)
        self._control.arm()
        self._count = len(sessions)
        self.offered = 0

    def aim(self, index: int, session: Session) -> None:
        """Start a queue pair anew, to another receiver."""
        self._control.rearm(index, session)

    def mislead(self, index: int, rkey: int) -> None:
        """Give a queue pair another rkey while it runs."""
        self.registers[f"qp[{index}].rkey"] = rkey
        control = self.registers.read_register(f"qp[{index}].control")
        self.registers.write_register(f"qp[{index}].control", control)

    def state(self, index: int) -> str:
        """What a queue pair does; in error, why."""
        found = self.registers.read_register(f"qp[{index}].rc_state")
        state = RcState(found["state"])
        return RcReason(found["reason"]).name if state is RcState.ERROR else state.name

    def offer(self) -> None:
        """Put the next frame into the memory, and offer it."""
        address = self.offered % _PLACES * _STRIDE
        self.board.write_memory(address, image(self.offered))
        self.board.offer(event(self.offered, address))
        self.offered += 1

    @property
    def held(self) -> int:
        """Frames of which the memory is not free again."""
        return self.offered - self.board.released

    def counters(self) -> dict[str, int]:
        """Those of the receive path and of RC, packets that have left, and by destination what became of its frames."""
        counters = self._control.counters()
        found = {"packets": counters.packets} | (counters.station.events if counters.station else {})
        for k, entry in enumerate(counters.destinations[: self._count]):
            found |= {f"sent[{k}]": entry.sent, f"dropped[{k}]": entry.dropped, f"failed[{k}]": entry.failed}
        return found
