"""What leaves a board's pins, read by a PHY of another hand: cocotbext-eth's, beside the model of `rgmii_line.sv`."""

import logging
from typing import Any

from cocotbext.eth import GmiiFrame, RgmiiSink
from cocotbext.eth.constants import ETH_PREAMBLE

from framelane.models.gmii import gmii


class LineJudge:
    """Reads RGMII at the pins, by the clock as the PHY has it. It shares nothing with our models but the pins."""

    def __init__(self, dut: Any) -> None:
        logging.getLogger(f"cocotb.{dut.txd._path}").setLevel(logging.ERROR)
        self._sink = RgmiiSink(dut.txd, dut.tx_ctl, dut.txc_late)
        self._end: int | None = None

    def forget(self) -> None:
        """Leave out all that came so far."""
        self._sink.clear()
        self._end = None

    def take(self, line: bytes) -> None:
        """Demand that the next packet is whole, right, far enough from the one before, and has these bytes."""
        frame: GmiiFrame = self._sink.recv_nowait()
        assert bytes(frame.get_preamble()) == bytes(ETH_PREAMBLE), "preamble or SFD"
        assert frame.check_fcs(), "FCS"
        assert frame.error is None, "TX_ER"
        assert bytes(frame.data) == line, "another packet than the model of the PHY has seen"
        start, end = (
            frame.sim_time_start,
            frame.sim_time_end,
        )  # the moments of the first byte and of the first idle cycle, in ps
        assert end - start == 8000 * len(line), "a gap within"
        assert self._end is None or start - self._end >= 8000 * gmii.GAP_BYTES, "too little of a gap before it"
        self._end = end
