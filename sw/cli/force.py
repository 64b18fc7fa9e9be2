"""The option of all commands that write."""

from typing import Annotated

import typer

Force = Annotated[bool, typer.Option("--force", help="Replace an older file of that name.")]
