"""The session: what a receiver publishes for one acquisition, and all that a transmitter needs to know of it."""

import contextlib
import json
import secrets
from collections.abc import Mapping
from pathlib import Path
from typing import Literal, Self

from pydantic import ValidationError, model_validator

from framelane.base.claim import json_with
from framelane.base.document_lines import json_doubled, json_line
from framelane.base.documents import read_text
from framelane.base.errors import ConfigError, InputError
from framelane.base.part_file import PartFile
from framelane.base.validation import sentence
from framelane.models.placement.flow import Destination, Flow
from framelane.models.placement.slots import FREE_RUNNING
from framelane.models.roce_tx.roce_qp import AckPolicy, QpContext, Segmentation, Service
from framelane.models.tx import TxConfig
from framelane.session.session_plan import U24, U32, U64, Positive, SessionPlan, random_base

_SESSION_FILE = json_with("a session", "qpn", "rkey", "base", format="framelane-session-1")


class Session(SessionPlan):
    """One receiver's ring, as a JSON document: its `SessionPlan`, and what came of it.

    `qpn` is the receiver's QP, `psn` the first packet's, `rkey` that of the ring's region, `base` the virtual address
    of slot 0, `slot_bytes` never 0; `window_end` is the credit at the time of publication (2^64 - 1: free-running).
    """

    format: Literal["framelane-session-1"] = "framelane-session-1"
    qpn: U24
    psn: U24
    rkey: U32
    base: U64
    slot_bytes: Positive
    window_end: U64 = FREE_RUNNING

    @model_validator(mode="after")
    def _check(self) -> Self:
        ring_bytes = self.layout.ring_bytes
        if self.base + ring_bytes > 1 << 64:
            raise ValueError(f"base: a ring of {ring_bytes} bytes at {self.base:#x} passes the end of memory")
        return self

    @classmethod
    def of(cls, plan: SessionPlan, *, qpn: int, psn: int, rkey: int, base: int, window_end: int = FREE_RUNNING) -> Self:
        """The session of `plan` on this QP and region. ConfigError where the ring does not fit behind `base`."""
        chosen = plan.model_dump(include=set(SessionPlan.model_fields)) | {"slot_bytes": plan.layout.slot_bytes}
        try:
            return cls(**chosen, qpn=qpn, psn=psn, rkey=rkey, base=base, window_end=window_end)
        except ValidationError as error:
            raise ConfigError(f"no session can be made: {sentence(error, cls)}") from error

    @classmethod
    def random(cls, plan: SessionPlan, window_end: int = FREE_RUNNING) -> Self:
        """The session of `plan` on a NIC in software, which may choose: nothing of it can be guessed."""
        base = random_base(plan.layout.ring_bytes)
        qpn, psn, rkey = 2 + secrets.randbelow((1 << 24) - 3), secrets.randbits(24), secrets.randbits(32)
        return cls.of(plan, qpn=qpn, psn=psn, rkey=rkey, base=base, window_end=window_end)

    def qp_context(self) -> QpContext:
        """The transmitter's QP for this session: on RC the last packet of every message asks for an acknowledgement."""
        return QpContext(
            dst=self.receiver.endpoint(),
            dest_qpn=self.qpn,
            rkey=self.rkey,
            psn=self.psn,
            mtu=self.mtu,
            service=Service[self.service],
            segmentation=Segmentation[self.segmentation.upper()],
            ack_policy=AckPolicy.LAST if self.service == "RC" else AckPolicy.NEVER,
            src_port=self.src_port,
        )

    def destination(self, source: int = 0, qp: int = 0) -> Destination:
        """The session's ring as one source's destination. ConfigError where there is no such source."""
        self.check_source(source)
        return Destination(qp, self.base, self.slot_bytes, self.n_slots, self.layout.trailer_offset(source))

    def flow(self, source: int = 0, first_destination: int = 0) -> Flow:
        """The transmitter's flow of all frames from one source, its share of the rows, which lie without gaps there.

        Raises ConfigError where there is no such source, or the rows do not part evenly.
        """
        self.check_source(source)
        if self.rows % self.sources:
            raise ConfigError(f"{self.rows} rows do not part evenly among {self.sources} sources")
        height, pitch = self.rows // self.sources, 2 * self.columns
        return Flow(
            source=source,
            first_destination=first_destination,
            width=self.columns,
            height=height,
            source_pitch=pitch,
            y1=source * height,
            destination_pitch=pitch,
        )

    def tx_config(self, source: int = 0) -> TxConfig:
        """The transmitter's configuration that serves this session as source `source` with its share of whole frames.

        ConfigError as of `destination` and `flow`.
        """
        return TxConfig(self.source.endpoint(), (self.qp_context(),), (self.destination(source),), (self.flow(source),))

    def check_source(self, source: int) -> None:
        """Raise ConfigError where there is no source of this number."""
        if not 0 <= source < self.sources:
            raise ConfigError(f"source {source} is not in a session of {self.sources}: give 0..{self.sources - 1}")

    def save(self, path: Path, link: Mapping[str, str | int] | None = None, *, force: bool = False) -> None:
        """Write the document, over an older session, too: a reader sees that or the new one, never half.

        InputError where that fails, or, without `force`, where there is a file of another kind.

        Only its owner may read it: who may read it may write to the ring, and with the `link` (its port, and
        `LinkKey.document`) in it report as a source.
        """
        document = self.model_dump(mode="json") | ({"link": dict(link)} if link else {})
        try:
            with PartFile(path, 0o600, force=force, kind=_SESSION_FILE, renews=True) as part:
                part.path.write_text(json.dumps(document, indent=2) + "\n", encoding="utf-8")
        except OSError as error:
            raise InputError(f"cannot write the session {path}: {error.strerror}") from error

    @classmethod
    def load(cls, path: Path) -> Self:
        """Read the document but for its `link`; InputError names the file and every field that is wrong."""
        text = read_text(path, "session")
        with contextlib.suppress(ValueError, RecursionError):  # no JSON: what is wrong with it is said below
            json.loads(text)
            if doubled := json_doubled(text):
                key, line = doubled
                raise InputError(
                    f"the session {path} is not usable: {key} stands there twice (line {line}): remove one"
                )
        try:
            return cls.model_validate_json(_without_link(text))
        except ValidationError as error:
            said = sentence(error, cls, lambda where: json_line(text, where))
            raise InputError(f"the session {path} is not usable: {said}") from error


def _without_link(text: str) -> str:
    with contextlib.suppress(ValueError, RecursionError):
        document = json.loads(text)
        if isinstance(document, dict) and document.pop("link", None) is not None:
            return json.dumps(document)
    return text
