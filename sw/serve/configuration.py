"""What a service is told before it is armed: where frames come from, what becomes of them, the board, the file."""

from pathlib import Path
from typing import Annotated, Any, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, model_validator

from framelane.base.errors import InputError
from framelane.driver.config.board_document import BoardDocument
from framelane.packets.detector_file import names
from framelane.receiver import FileOptions, Live, Metadata, Processing, StreamOptions
from framelane.session.session_plan import SessionPlan

SESSION = "session.json"
"""The file in the service's folder to which the session of a run is published."""
FileName = Annotated[str, Field(pattern=r"^[A-Za-z0-9_][A-Za-z0-9_.-]{0,99}$")]
"""The name of a file in the service's folder: no path leads out of it."""
Count = Annotated[int, Field(ge=1, lt=1 << 31)]
Seconds = Annotated[float, Field(gt=0, allow_inf_nan=False)]
Port = Annotated[int, Field(ge=0, lt=1 << 16)]


class Table(BaseModel):
    """An object of the configuration. Other keys than its own, and values of another JSON type, are refused."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)


class SourceSetting(Table):
    """Where packets come from: the options of `framelane recv`, with the same names (docs/howto/receiving.md)."""

    transport: Literal["udp", "packet", "verbs", "jungfrau", "detector"] = "udp"
    plan: SessionPlan | None = None
    """The plan of a new session for each run; not for a detector's own packets."""
    detector: FileName | None = None
    """With `detector`: whose packets these are, `eiger` for example, or a description in the service's folder
    (docs/detectors/packets.md)."""
    port: Port | None = None
    ports: Annotated[list[Port], Field(min_length=1, max_length=1024)] | None = None
    """The port of each interface of each module, where they are not consecutive."""
    link_port: Port | None = None
    link_tls: bool = False
    max_rate: Seconds | None = None
    interface: FileName | None = None
    host: Annotated[str, Field(max_length=64)] | None = None
    modules: Count | None = None
    interfaces: Count | None = None
    slots: Count | None = None
    device: FileName | None = None
    gid_index: Annotated[int, Field(ge=0, lt=256)] | None = None
    free_running: bool = False
    frames: Count | None = None
    """A run ends after so many, or a few more; None: when it is stopped, or all sources have told their end."""
    idle: Seconds | None = None
    """It ends when nothing has come for so many seconds."""


class JudgingSetting(Table):
    """What becomes of the frames: the options of `framelane recv`, by the same names."""

    calibration: FileName | None = None
    """A file in the service's folder."""
    gain_mode: Literal["normal", "hg0"] | None = None
    threshold: Annotated[int, Field(ge=1, le=32700)] | None = None
    minimum_peaks: Annotated[int, Field(ge=0, le=1 << 31)] | None = None
    peaks: Literal["pixels", "bragg"] | None = None
    snr: Seconds | None = None
    sparse: Count | None = None
    ladder: Annotated[list[Count], Field(max_length=64)] | None = None
    keep_rejected: Annotated[float, Field(ge=0, le=1)] | None = None
    keep_seed: Annotated[int, Field(ge=0, lt=1 << 63)] | None = None
    dark_period: Count | None = None
    dark_phase: Annotated[int, Field(ge=0, lt=1 << 31)] | None = None
    gpu: bool = False


class StreamSetting(Table):
    """Images to other programs: `StreamOptions`, by the same names (docs/serve/streams.md)."""

    address: Annotated[str, Field(max_length=100)] = "tcp://127.0.0.1:31001"
    send: Literal["all", "accepted", "newest"] | None = None
    every: Count | None = None
    rate: Seconds | None = None
    socket: Literal["push", "pub"] | None = None
    pixels: Literal["uint16", "int16"] | None = None
    reduce: Count | None = None
    queue: Count | None = None

    def options(self) -> StreamOptions:
        """ConfigError for what cannot be."""
        return StreamOptions(**_given(self))


class BoardSetting(Table):
    """A transmitter that is armed and disarmed with the receiver, which gives it its credit (docs/howto/board.md).

    `document` is what a board.toml says, as JSON. Its receiver has `session = "session.json"`, that of this service.
    """

    address: Annotated[str, Field(pattern=r"^(uio|pci|udp|sim):[^\x00-\x1f]{1,200}$")]
    document: BoardDocument

    @model_validator(mode="after")
    def _check(self) -> Self:
        named = [receiver.session for receiver in self.document.receiver]
        named += [self.document.correction.calibration] if self.document.correction else []
        for name in named:
            if "/" in name:
                raise ValueError(
                    f"document: {name} is a path: copy the file to the service's folder, and give its name"
                )
        if all(receiver.session != SESSION for receiver in self.document.receiver):
            raise ValueError(
                f'document: no receiver has session = "{SESSION}": that is how the board finds this service'
            )
        return self


class Configuration(Table):
    """All that `POST /api/configure` takes."""

    source: SourceSetting
    judging: JudgingSetting = JudgingSetting()
    metadata: Metadata = Metadata()
    """Metadata of the experiment, for the file (docs/reference/files.md)."""
    board: BoardSetting | None = None
    streams: Annotated[list[StreamSetting], Field(max_length=8)] = []
    """Streams to other programs during a run."""
    name: FileName = "run"
    """Files of frames are `<name>_000001.h5` and so on, in the service's folder."""

    @model_validator(mode="after")
    def _check(self) -> Self:
        plan = self.source.plan
        if plan is not None and plan.rows % plan.sources:
            raise ValueError(f"plan: {plan.rows} rows do not part evenly among {plan.sources} sources")
        if self.metadata.geometry is not None and "/" in self.metadata.geometry:
            raise ValueError("metadata.geometry: give the name of a geometry, not a path")
        if self.board is not None and plan is None:
            raise ValueError("board: a board needs a plan of its session: give source.plan")
        return self

    def live(self, folder: Path) -> Live:
        """Where packets come from. OptionError for what cannot be."""
        given = _given(self.source)
        if self.source.detector is not None and self.source.detector not in names():
            given["detector"] = folder / self.source.detector
        own_packets = self.source.transport in ("jungfrau", "detector")
        return Live(**given, publish=None if own_packets else folder / SESSION)

    def processing(self, folder: Path) -> Processing:
        """What becomes of the frames. OptionError for what cannot be."""
        given = _given(self.judging)
        if self.judging.calibration is not None:
            given["calibration"] = folder / self.judging.calibration
        return Processing(**given)

    def check(self, folder: Path) -> None:
        """FramelaneError for what cannot be, as far as that is known before a run."""
        self.live(folder)
        processing = self.processing(folder)
        FileOptions(metadata=self.metadata)
        for stream in self.streams:
            stream.options()
        if processing.calibration is not None and not processing.calibration.is_file():
            raise InputError(
                f"there is no calibration {self.judging.calibration} in the service's folder: copy it there"
            )
        plan = self.source.plan
        if plan is not None and plan.pixels == "raw" and processing.calibration is None:
            processing.check_no_judging()

    def changed(self, **judging: Any) -> "Configuration":
        """The same with other values of `judging`."""
        return self.model_copy(update={"judging": self.judging.model_copy(update=judging)})


def _given(table: Table) -> dict[str, Any]:
    """What was given of a table: the other options have their own defaults."""
    found = {name: getattr(table, name) for name in type(table).model_fields}
    return {name: value for name, value in found.items() if value is not None and value is not False}


def text_of(configuration: Configuration) -> dict[str, Any]:
    """The configuration as JSON values, without those that were not given."""
    return configuration.model_dump(mode="json", exclude_none=True)
