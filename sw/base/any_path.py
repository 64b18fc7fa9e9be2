"""How a user may name a file."""

import os

AnyPath = str | os.PathLike[str]
