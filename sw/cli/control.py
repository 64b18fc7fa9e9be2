"""`framelane epics` and `framelane tango`, the commands; what they do is in `framelane.control`."""

from pathlib import Path
from typing import Annotated

import typer

STATUS = """Exit status 0: ended by a signal.

2: bad input, or an extra is missing: one sentence says which."""
Url = Annotated[str, typer.Argument(help="Address of the service, http://HOST:8470.")]
TokenFile = Annotated[Path | None, typer.Option(help="File with the service's token, where it has one.")]
ReadOnly = Annotated[
    bool, typer.Option("--read-only", help="No commands and no thresholds: whoever reaches it can only look.")
]


def epics(
    url: Url,
    prefix: Annotated[
        str, typer.Option(help="Prefix of the records' names, BL9:FRAMELANE: for example.")
    ] = "FRAMELANE:",
    token_file: TokenFile = None,
    read_only: ReadOnly = False,
) -> None:
    """Serve records of a service for EPICS, by Channel Access and PVAccess (docs/howto/control_systems.md).

    Needs the extra epics (docs/howto/install.md).
    """
    from framelane.base.errors import ConfigError
    from framelane.base.progress import say
    from framelane.base.stopping import stop_on_signals
    from framelane.cli.terminal import Terminal

    try:
        from framelane.control.epics_ioc import EpicsRecords
        from framelane.serve.client import Client
    except ModuleNotFoundError as error:
        raise ConfigError(f'{error.name} is not installed: pip install "framelane[epics]"') from error
    with Client(url, token_file=token_file) as service, stop_on_signals() as stop:
        records = EpicsRecords(service, prefix, commands=not read_only)
        say(Terminal(), f"records {prefix}RunState and others of {url}: Ctrl-C ends it")
        records.serve(stop)


def tango(
    url: Url,
    device: Annotated[str, typer.Option(help="Name of the device, DOMAIN/FAMILY/MEMBER.")] = "framelane/service/1",
    port: Annotated[int, typer.Option(min=1, max=65535, help="TCP port, without a database.")] = 10000,
    host: Annotated[str, typer.Option(help="Address to listen on, without a database.")] = "127.0.0.1",
    database: Annotated[
        bool, typer.Option("--database", help="Serve as Tango's database has it ($TANGO_HOST), not by host and port.")
    ] = False,
    token_file: TokenFile = None,
    read_only: ReadOnly = False,
) -> None:
    """Serve a service as a Tango device, until Ctrl-C (docs/howto/control_systems.md).

    Needs the extra tango (docs/howto/install.md).
    """
    from framelane.base.errors import ConfigError
    from framelane.base.progress import say
    from framelane.cli.terminal import Terminal

    if device.count("/") != 2:
        raise ConfigError(f"--device {device} is not a name of a device: give DOMAIN/FAMILY/MEMBER")
    try:
        from framelane.control import tango_device
        from framelane.serve.client import Client
    except ModuleNotFoundError as error:
        raise ConfigError(f'{error.name} is not installed: pip install "framelane[tango]"') from error
    where = device if database else f"tango://{host}:{port}/{device}#dbase=no"
    say(Terminal(), f"device {where} of {url}: Ctrl-C ends it")
    made = tango_device.device_class(lambda: Client(url, token_file=token_file), commands=not read_only)
    tango_device.serve(made, device, port=port, host=host, database=database)
