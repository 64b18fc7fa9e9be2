"""The golden transmitter as a live source: the packets of `models.tx`, made as fast as a network takes them.

The model itself makes the packets of an image, once. From frame to frame only PSN, address, ICRC and the trailer
change: compiled code writes those. Numbers, slots, credit and trailers are the model's, too.
"""

import struct
import zlib
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from framelane.base.errors import InputError
from framelane.models.placement.bd_gen import BdGen
from framelane.models.placement.flow import FrameEvent
from framelane.models.roce_tx import wire
from framelane.models.roce_tx.packet_batch import Batch
from framelane.models.roce_tx.roce_qp import AckPolicy
from framelane.models.tx import Tx
from framelane.session.session import Session
from framelane.source._stamping import stamp
from framelane.source.prepared_frame import PreparedFrame

_TRAILER_HEADER = struct.Struct(">IQIII")
"""AckReq and PSN, the last word of the BTH; RETH; ImmDt."""
_FRAME_0 = FrameEvent(0, 0, 0, 0)


class Emulator:
    """Source number `source` of `session`, with credit up to `window_end`, which may be raised at any time.

    Frame n of the detector is frame n of the session. ConfigError where there is no such source, or the rows do not
    part evenly.
    """

    def __init__(self, session: Session, source: int = 0) -> None:
        config = session.tx_config(source)
        self.window_end = session.window_end
        (self._flow,), (self._qp,) = config.flows, config.qps
        self._shape = (session.rows, session.columns)
        self._psn = session.psn
        self._bd_gen = BdGen(config.flows, config.destinations, (session.mtu,))
        self._plain = replace(config, qps=(replace(self._qp, psn=0, ack_policy=AckPolicy.NEVER),))
        """For the packets of frame 0, without AckReq, from PSN 0 on."""
        (((*pixels, trailer), _),) = BdGen(config.flows, config.destinations, (session.mtu,)).frame(_FRAME_0)
        self._ends = np.cumsum([-(-bd.length // session.mtu) for bd in pixels]) - 1
        """The packets of an image that end a message."""
        self._trailer_address = trailer.destination

    def prepare(self, image: NDArray[np.generic]) -> PreparedFrame:
        """The packets of this source's share of a whole image: pixels of 2 bytes, (rows, columns) of the session."""
        if image.shape != self._shape or image.dtype.itemsize != 2:
            raise InputError(f"the image is {image.dtype} {image.shape}, the session's are {self._shape} of 2 bytes")
        rows = slice(self._flow.y1, self._flow.y1 + self._flow.height)
        share = np.ascontiguousarray(image[rows]).tobytes()
        model = Tx(self._plain, lambda address, length: share[address : address + length])
        prepared = PreparedFrame.of(model.frame(_FRAME_0), self._ends)
        self._stamp(prepared, 0)  # compiled now, and not while a detector waits
        return prepared

    def frame(
        self,
        number: int,
        prepared: PreparedFrame,
        timestamp_ns: int = 0,
        bunch_id: int = 0,
        detector_frame: int | None = None,
    ) -> Batch | None:
        """The packets of frame `number` with this image, valid until it is used again; None where it has no credit.

        Numbers rise; one that is left out counts as dropped in the trailers. The detector's own number is another where
        frames go to several sessions in turn.
        """
        self._bd_gen.window_ends[0] = self.window_end
        jobs = self._bd_gen.frame(FrameEvent(number, timestamp_ns, bunch_id, 0))
        if not jobs:
            return None
        (((*_, end), trailer),) = jobs
        if detector_frame is not None:
            trailer = replace(trailer, detector_frame=detector_frame)
        self._stamp(prepared, end.destination - self._trailer_address)
        psn = self._psn + len(prepared.packets) & 0xFFFFFF
        word = self._qp.asks_ack(psn, last=True) << 31 | psn
        body = _TRAILER_HEADER.pack(word, end.destination, self._qp.rkey, end.length, end.imm) + trailer.pack()
        body += zlib.crc32(body, prepared.trailer_crc).to_bytes(wire.ICRC_BYTES, "little")
        at = prepared.trailer_at
        prepared.batch.memory[at : at + len(body)] = np.frombuffer(body, np.uint8)
        self._psn = psn + 1 & 0xFFFFFF
        return prepared.batch

    def _stamp(self, prepared: PreparedFrame, offset: int) -> None:
        """Put the image `offset` bytes further than frame 0, with the QP's next PSNs."""
        policy, log2 = int(self._qp.ack_policy), self._qp.ack_log2
        stamp(prepared.batch.memory, prepared.packets, prepared.tables, self._psn, offset, policy, log2)
