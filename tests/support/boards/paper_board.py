"""A board that is only a map of registers: what the golden models of its ends have behind them."""

from dataclasses import dataclass, field

from framelane.driver.registers.recording import PaperRegisters
from framelane.models.remote.udp_registers import SLVERR, Access


@dataclass(kw_only=True)
class PaperBoard:
    """Its registers, and an offset at which an access is an error of the bus."""

    registers: PaperRegisters = field(default_factory=PaperRegisters)
    broken: int = -1

    def access(self, access: Access) -> Access:
        if access.address == self.broken:
            return Access(address=access.address, operation=SLVERR)
        if access.operation:
            self.registers.write(access.address, access.data)
            return Access(address=access.address, data=access.data)
        return Access(address=access.address, data=self.registers.read(access.address))
