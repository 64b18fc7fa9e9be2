"""The constants of a board's correction: told apart by their SHA-256, written to a file."""

import contextlib
import hashlib
from pathlib import Path

from rich.console import Console

from framelane.base.errors import ConfigError, InputError
from framelane.base.output import check_no_input
from framelane.base.part_file import PartFile
from framelane.base.progress import say
from framelane.driver.board.board_address import open_registers
from framelane.driver.config.board_document import read_document
from framelane.driver.config.board_memory import correction_of, ring_of
from framelane.driver.config.configuring import calibrate
from framelane.driver.registers.socket_registers import SocketRegisters
from framelane.files.linked_files import with_linked
from framelane.models.jungfrau import jf_constants
from framelane.models.memory.image_writer import Correction


def show(correction: Correction, console: Console) -> None:
    """A line that tells one set of constants from another, and what a file of them should have."""
    _say(correction, jf_constants.pack(correction.fixed, correction.pitch), console)


def bring(config: Path, board: str, console: Console) -> None:
    """Put them into the memory of the board that is served at `board`. ConfigError for a board of another kind."""
    correction, constants, _ = _made(config)
    with contextlib.closing(open_registers(board)) as registers:
        if not isinstance(registers, SocketRegisters):
            raise ConfigError(
                f"{board} is not a board of `framelane board serve`: write the constants to a file, and load them "
                "into its memory by its own means"
            )
        registers.write_memory(correction.base, constants)
    _say(correction, constants, console)
    say(console, f"they are in the memory of {board}: configure it")


def export(config: Path, output: Path, console: Console, *, force: bool = False) -> None:
    """Write what belongs into the board's memory by the configuration `config`. InputError where it has none."""
    correction, constants, named = _made(config)
    check_no_input(output, with_linked([config, *(config.parent / name for name in named)]))
    try:
        with PartFile(output, force=force) as part:
            part.path.write_bytes(constants)
    except OSError as error:
        raise InputError(f"cannot write {output}: {error.strerror}: make room there, or give another file") from error
    _say(correction, constants, console)
    place = f"-a {correction.base:#x} -s {len(constants)}"
    say(
        console,
        f"{output}: disarm the board and write this there by its own means, with XDMA for example by "
        f"`dma_to_device -d /dev/xdma0_h2c_0 {place} -f {output}`, then configure it",
    )


def _made(config: Path) -> tuple[Correction, bytes, list[str]]:
    """The correction of a configuration, its constants, and the files that it names."""
    document = read_document(config)
    correction = correction_of(config, document, calibrate)
    if correction is None or document.correction is None:
        raise InputError(f"the configuration {config} has no table [correction]: there are no constants to write")
    ring_of(config, document, correction)
    named = [document.correction.calibration, *(receiver.session for receiver in document.receiver)]
    return correction, jf_constants.pack(correction.fixed, correction.pitch), named


def _say(correction: Correction, constants: bytes, console: Console) -> None:
    digest = hashlib.sha256(constants).hexdigest()
    say(console, f"constants: {len(constants)} bytes at {correction.base:#x}, SHA-256 {digest}")
