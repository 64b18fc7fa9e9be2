"""A board configured from a TOML file, with the calibration and the sessions that it names."""

from dataclasses import replace
from pathlib import Path

from framelane.base.any_path import AnyPath
from framelane.calibration.calibration_file import CalibrationFile
from framelane.driver.board.board import Board
from framelane.driver.config.board_config import BoardConfig, load
from framelane.driver.config.board_document import CorrectionTable
from framelane.models.jungfrau.jf_fixed import FixedCalibration, quantize


def configure(board: Board, file: AnyPath) -> BoardConfig:
    """Disarm, reset, and write the whole configuration of a TOML file (docs/howto/board.md), with its sessions' credit.

    The board is not armed then. What was read is returned, with the MACs that were asked for. InputError says which
    table and key of the file is wrong; ConfigError where the build cannot hold it: before anything is written.
    BoardError where the board does not do what it is told.
    """
    config = load(Path(file), board.probe(), calibrate)
    tx = board.configure(config.tx, config.ring, config.correction, config.network)
    board.set_watchdogs(config.watchdogs.mac_s, config.watchdogs.memory_s)
    for index, window_end in enumerate(config.credit):
        board.publish_credit(index, window_end)
    return replace(config, tx=tx)


def calibrate(path: Path, table: CorrectionTable) -> FixedCalibration:
    """Read the integers of the calibration file `path` as [correction] wants them: a `Calibrate`."""
    with CalibrationFile(path, table.mode == "hg0") as file:
        return quantize(file.calibration, table.fraction_bits, table.unit)
