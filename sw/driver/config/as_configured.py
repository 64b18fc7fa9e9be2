"""Whether a board was configured with a file whose sessions are read now."""

from pathlib import Path

from framelane.base.errors import ConfigError
from framelane.driver.config.board_config import BoardConfig
from framelane.driver.registers.register_file import RegisterFile


def check_as_configured(registers: RegisterFile, config: BoardConfig, file: Path) -> None:
    """ConfigError unless every destination of `config` goes to the session that is in its file now."""
    for k, (name, session) in enumerate(zip(config.destinations, config.sessions, strict=True)):
        here = registers.read_register(f"destination[{k}].control")
        entry = f"qp[{here['qp']}]"
        if not here["enabled"] or not registers[f"{entry}.control.enabled"]:
            raise ConfigError(
                f"the board has no destination for {name!r}: it was not configured with {file}, or was reset or loaded "
                f"anew since: `framelane board configure {file}`"
            )
        there = registers[f"{entry}.peer.dest_qpn"], registers[f"{entry}.rkey"], registers[f"destination[{k}].base"]
        if there != (session.qpn, session.rkey, session.base):
            instead = f", or `framelane board rearm {file} {name}`" if session.service == "RC" else ""
            raise ConfigError(
                f"the board sends to another session of {name!r} than {config.session_files[k]} has: its receiver was "
                f"started anew since the board was configured: `framelane board configure {file}`{instead}"
            )
