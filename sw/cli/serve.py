"""`framelane serve`, the command; what it does is in `framelane.serve`."""

from pathlib import Path
from typing import Annotated

import typer

STATUS = """Exit status 0: ended by a signal; a run in progress was ended in order.

2: bad input, no folder, or nobody can listen there: one sentence says why."""


def serve(
    folder: Annotated[Path, typer.Argument(help="Folder for the files of frames and the service's state.")],
    plan: Annotated[
        str | None,
        typer.Option(
            metavar="FILE|simulated",
            help="Configure the service with this plan (docs/howto/receiving.md) and arm it at once. simulated: a plan "
            "for `framelane emulate` on this machine.",
        ),
    ] = None,
    host: Annotated[
        str, typer.Option(help="Address to listen on. Any but the loopback address needs a token.")
    ] = "127.0.0.1",
    port: Annotated[int, typer.Option(min=0, max=65535, help="TCP port; 0: any that is free.")] = 8470,
    token_file: Annotated[
        Path | None,
        typer.Option(help="File with the token that clients must show (mode 0600); made if it does not exist."),
    ] = None,
    log_json: Annotated[bool, typer.Option("--log-json", help="Log in JSON, one object a line.")] = False,
) -> None:
    """Serve a receiver: armed, started and watched by HTTP, with a live page and metrics, until Ctrl-C.

    Needs the extra serve (docs/howto/install.md).
    """
    from framelane.base.errors import ConfigError
    from framelane.base.progress import say
    from framelane.cli.terminal import Terminal

    try:
        from framelane.serve import running
    except ModuleNotFoundError as error:
        raise ConfigError(f'{error.name} is not installed: pip install "framelane[serve]"') from error
    console = Terminal()
    running.run(
        folder,
        plan=plan,
        host=host,
        port=port,
        token_file=token_file,
        log_json=log_json,
        tell=lambda line: say(console, line),
    )
