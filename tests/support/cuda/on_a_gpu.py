"""Fixtures of the tests that need a GPU: where there is none, these skip with a sentence."""

import itertools
from collections.abc import Iterator
from typing import Any

import pytest

from framelane.base.errors import ConfigError
from framelane.receiver.gpu._device import cupy
from framelane.receiver.gpu.pipeline.gpu_lanes import Way

RINGS = ("host", "pinned", "gpu")
"""Where the memory of a ring may be."""


@pytest.fixture(scope="module")
def cp() -> Iterator[Any]:
    """CuPy, where there is a GPU. What a module has queued there ends with it."""
    try:
        module = cupy()
    except ConfigError as error:
        pytest.skip(f"needs a GPU: {error}")
    yield module
    module.cuda.Device().synchronize()


@pytest.fixture(params=list(itertools.product(Way, RINGS)), ids="-".join)
def way_and_ring(request: pytest.FixtureRequest) -> tuple[Way, str]:
    """Each way with each kind of ring."""
    way, kind = request.param
    return Way(way), str(kind)
