"""What the REST interface answers, as its OpenAPI document describes it."""

from pydantic import BaseModel, ConfigDict, Field

from framelane.serve.service_state import State


class Answer(BaseModel):
    """Base of what is answered."""


class Loss(Answer):
    """The loss identity: `sent` is the sum of the others. Frames."""

    sent: int
    complete: int
    incomplete: int
    missing: int
    dropped_at_source: int
    dropped_by_host: int
    wrong_size: int
    holds: bool


class Thresholds(Answer):
    """The thresholds that judge frames: photons (or keV) of a peak, peaks of a frame; null: the defaults, 20 and 0."""

    model_config = ConfigDict(strict=True)
    threshold: int | None = Field(None, ge=1, le=32700)
    minimum_peaks: int | None = Field(None, ge=0, le=1 << 31)


class Status(Answer):
    """What the service does, and how the run goes."""

    state: State
    doing: str = Field(description="The command that it is busy with, arm for instance; else empty.")
    said: str = Field(description="What is to be known of the state, in a sentence.")
    run: int = Field(description="Number of the newest run, from 1; 0: there was none.")
    file: str | None = Field(
        description="Of the newest run, in the service's folder. It is there with its first frames."
    )
    address: str = Field(description="Where sources of the run find its session, HOST:PORT; empty where none goes on.")
    line: str = Field(description="How it goes, in a sentence.")
    loss: Loss
    frames_per_s: float = Field(description="Over the last two seconds.")
    slots: int = Field(description="Of the ring.")
    slots_used: int
    troubles: list[str] = Field(description="What is wrong, a sentence each.")
    thresholds: Thresholds


class Packets(Answer):
    """What came over the wire."""

    received: int
    placed: int
    payload_bytes: int
    skipped: int
    behind: int
    queue_drops: int
    refused: dict[str, int]
    examples: dict[str, str] = Field(description="Of each reason what was wrong with the first packet.")


class Statistics(Answer):
    """All that a run has counted."""

    loss: Loss
    written: int = Field(description="Frames in the file.")
    reasons: dict[str, int]
    packets: Packets
    strays: int
    sources_gone: int


class FrameRecord(Answer):
    """What is known of a frame; null: its trailer did not come."""

    number: int
    detector_frame: int | None
    timestamp_ns: int | None
    time_flags: int = Field(description="What timestamp_ns is worth: the word of the trailer; 0: nothing is known.")
    bunch_id: int | None
    complete: bool
    holes: int
    saturated: int
    invalid: int
    masked: int
    peaks: int
    threshold: int
    minimum_peaks: int
    accepted: bool
    reason: str


class Verdicts(Answer):
    """Why frames were kept or not, and how many peaks they had."""

    reasons: dict[str, int]
    edges: list[int] = Field(description="Bin k has the frames of `edges[k]` peaks or more, and fewer than the next.")
    frames: list[int]


class HistorySample(Answer):
    """A moment of a run. Counts are from its beginning: what was between two samples is their difference."""

    time: float = Field(description="Seconds since 1970.")
    frames: int = Field(description="That came, complete or not.")
    lost: int = Field(description="That were sent and are not complete.")
    slots: int
    slots_used: int = Field(description="The most since the last sample.")
    pending: int = Field(description="Frames in the pipeline, or on the GPU.")
    verdicts: dict[str, int]
    drift_adu: dict[str, float] = Field(description="Of the pedestal of each module that is tracked.")


class Refusal(Answer):
    """What was wrong, and what to do."""

    detail: str
