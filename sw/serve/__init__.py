"""A receiver as a service: `framelane serve` (docs/serve/README.md), and a client for programs.

From an extra: `pip install "framelane[serve]"`.
"""

from typing import TYPE_CHECKING

from framelane.base.lazily import lazily

__all__ = ["AsyncClient", "Client", "ServiceError"]

if TYPE_CHECKING:
    from framelane.serve.client import AsyncClient, Client, ServiceError
else:
    __getattr__, __dir__ = lazily(__name__, dict.fromkeys(__all__, "framelane.serve.client"))
