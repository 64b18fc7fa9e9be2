"""How long work on a GPU takes: by events around graphs, so that launching from Python costs nothing."""

import statistics
from collections.abc import Callable, Sequence
from typing import Any

from framelane.receiver.gpu._device import cupy

WARM_UP = 3
REPEATS = 30


class Graph:
    """Calls that queue work, captured once; each runs on other data than the one before.

    They run one after the other, or with more `lanes` on so many streams by turns.
    `prepare` queues what has to be done before, and is not timed; by default it is a run of the same calls, so that
    nothing that another kernel has left in the cache is still to be written.
    """

    def __init__(
        self, calls: Sequence[Callable[[], object]], prepare: Callable[[], object] | None = None, lanes: int = 1
    ) -> None:
        module = cupy()
        self._prepare = prepare
        self._calls = len(calls)
        streams = [module.cuda.Stream(non_blocking=True) for _ in range(lanes)]
        self._stream = streams[0]

        def queue() -> None:
            for i, call in enumerate(calls):
                with streams[i % lanes]:
                    call()

        module.cuda.Device().synchronize()  # what was queued elsewhere
        queue()  # the first time kernels are compiled
        module.cuda.Device().synchronize()
        self._stream.begin_capture()
        for stream in streams[1:]:
            stream.wait_event(self._stream.record(_marker()))
        queue()
        for stream in streams[1:]:
            self._stream.wait_event(stream.record(_marker()))
        self._graph = self._stream.end_capture()
        self._events = [module.cuda.Event() for _ in range(2)]

    def microseconds(self) -> float:
        """A call, on average over one run of all."""
        begin, end = self._events
        with self._stream:
            if self._prepare:
                self._prepare()
            else:
                self._graph.launch()
            begin.record()
            self._graph.launch()
            end.record()
        end.synchronize()
        return float(cupy().cuda.get_elapsed_time(begin, end)) * 1e3 / self._calls


def _marker() -> Any:
    return cupy().cuda.Event(disable_timing=True)


def medians(graphs: dict[Any, Graph], repeats: int = REPEATS) -> dict[Any, float]:
    """The median microseconds of a call of each, all graphs by turns, so that what else happens meets all alike."""
    for graph in graphs.values():
        for _ in range(WARM_UP):
            graph.microseconds()
    times: dict[Any, list[float]] = {key: [] for key in graphs}
    for _ in range(repeats):
        for key, graph in graphs.items():
            times[key].append(graph.microseconds())
    return {key: statistics.median(values) for key, values in times.items()}


def microseconds(call: Callable[[], object], repeats: int = REPEATS) -> float:
    """The median of a call that cannot be captured, for work that takes long enough."""
    module = cupy()
    begin, end = (module.cuda.Event() for _ in range(2))
    times = []
    for _ in range(WARM_UP + repeats):
        begin.record()
        call()
        end.record()
        end.synchronize()
        times.append(float(module.cuda.get_elapsed_time(begin, end)) * 1e3)
    return statistics.median(times[WARM_UP:])
