"""A stream of the frames of a run, in messages of stream2, by a thread of its own."""

import logging
import threading
import time
from dataclasses import replace
from typing import Self

import numpy as np

from framelane.receiver.live.frame import Frame
from framelane.receiver.live.packet_source import Live
from framelane.receiver.live.reception import Reception
from framelane.receiver.live.run_description import describe_run
from framelane.receiver.sinks.pixel_form import RAW, form_of
from framelane.receiver.streams.line import Line
from framelane.receiver.streams.reduced import reduced
from framelane.receiver.streams.stream2_messages import Series
from framelane.receiver.streams.stream_options import StreamOptions
from framelane.receiver.streams.tee import StreamCounts, Tee, Waiting
from framelane.session.metadata import Metadata

_log = logging.getLogger("framelane.stream")
_STEP_S = 0.05
"""From one look for consumers to the next, and whether the stream is to end."""
_GIVEN_BACK_S = 0.2
"""So long a frame whose slot may be overwritten is waited for, to be told whether it was."""


class Stream:
    """Sends frames of `run` to whoever has connected, as DECTRIS' stream2 (docs/serve/streams.md).

    `write` never waits and never raises: a consumer that is slow, or stalls, or is not there, misses frames, which
    `counts` has. `metadata` is of the experiment, and goes before what the run's plan says. `series` is its number.

    ConfigError without ZeroMQ, TransportError where nobody can listen at the address.
    """

    def __init__(
        self,
        run: Reception,
        options: StreamOptions | None = None,
        *,
        metadata: Metadata | None = None,
        series: int = 1,
    ) -> None:
        self.options = options = options or StreamOptions()
        self.fault = ""
        """Why it has ended early; empty where it has not."""
        self._run, self._tee = run, Tee(options)
        session, raw = run.session, run.prepared.judging is None
        live = run.source if isinstance(run.source, Live) else None
        self._may_be_overwritten = live is not None and live.free_running
        as_ = None if options.pixels == "int16" else options.pixels
        self._series = Series(
            description=describe_run(run, metadata or Metadata()),
            form=RAW if raw else form_of(as_, session.fraction_bits),
            unit=session.unit,
            fraction_bits=session.fraction_bits,
            by=options.reduce,
            number=series,
            images=live.frames if live else None,
        )
        self._line = Line(options)
        self.address = self._line.address
        """The address at which consumers connect, with the port that was chosen if any would do."""
        self._thread = threading.Thread(target=self._send_all, name="stream", daemon=True)
        self._thread.start()

    @property
    def counts(self) -> StreamCounts:
        """What became of the frames, up to now."""
        return replace(self._tee.counts)

    def write(self, frame: Frame) -> None:
        """Send a frame, if the options want it. Before it is given back, so before `Recorder.write`."""
        self._tee.offer(frame)

    def close(self) -> None:
        """Send what waits, as long as somebody takes it, and the end. May be called twice."""
        self._tee.end()
        self._thread.join()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def _send_all(self) -> None:
        line = self._line
        try:
            self._serve(line)
            if line.there(0.0):
                line.send(self._series.end())
        except Exception as error:  # never a reason to end a run
            _log.exception("the stream at %s has failed", self.address)
            self.fault = f"the stream at {self.address} has ended: {type(error).__name__}: {error}"
        finally:
            self._tee.drop()
            line.close()

    def _serve(self, line: Line) -> None:
        """Until nothing waits behind the end of the run, or nobody takes it."""
        tee, there = self._tee, True
        while True:
            there = line.there(0.0 if there else _STEP_S)
            if there and line.new:
                line.send(self._series.start())
                continue
            tee.set_open(there)
            waiting = tee.take(_STEP_S) if there else None
            if waiting is not None:
                self._send(line, waiting)
            elif tee.over and (there or not line.may_come):
                return

    def _send(self, line: Line, waiting: Waiting) -> None:
        if self._may_be_overwritten:
            end = time.monotonic() + _GIVEN_BACK_S
            while waiting.frame.intact is None and time.monotonic() < end:
                time.sleep(_GIVEN_BACK_S / 200)
        if waiting.frame.intact is False:
            self._tee.note(waiting, "overwritten")
            return
        image, form = waiting.image, self._series.form
        if image is not None:
            image = reduced(image if form is RAW else form(image.view(np.int16)), self.options.reduce)
        message = self._series.image(waiting.about, image)
        if line.send(message):
            self._tee.note(waiting, "sent", len(message))
        else:
            self._tee.note(waiting, "dropped")
