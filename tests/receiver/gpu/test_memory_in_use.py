"""How much of a GPU's memory is used, as the runtime tells; and nothing of one that has failed. Needs no GPU."""

from types import SimpleNamespace
from unittest.mock import Mock

import pytest

from framelane.receiver.gpu import _device


class RuntimeFault(Exception):
    """As CuPy raises where the GPU has failed."""


@pytest.mark.parametrize(
    ("told", "found"),
    [({"return_value": (3 << 30, 80 << 30)}, (77 << 30, 80 << 30)), ({"side_effect": RuntimeFault}, None)],
)
def test_memory_in_use_is_what_is_not_free(
    monkeypatch: pytest.MonkeyPatch, told: dict[str, object], found: tuple[int, int] | None
) -> None:
    runtime = SimpleNamespace(memGetInfo=Mock(**told), CUDARuntimeError=RuntimeFault)
    cupy = SimpleNamespace(cuda=SimpleNamespace(runtime=runtime))
    monkeypatch.setattr(_device, "cupy", lambda: cupy)
    assert _device.memory_in_use() == found
