"""A detector's packets corrected one by one, in any order, are the offline correction of the frame that they make."""

import random
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from scapy.layers.inet import IP, UDP
from scapy.layers.l2 import Ether
from scapy.packet import Raw

from framelane.base.errors import ConfigError
from framelane.models.detector.det_correct import DetCorrect
from framelane.models.detector.det_header import DetFate, DetHeader
from framelane.models.detector.det_place import Target
from framelane.models.detector.detector_core import DetectorCore
from framelane.models.detector.detector_sent import packets
from framelane.models.jungfrau.jf_fixed import FixedCalibration
from framelane.models.placement.slots import HOLE_WORD
from framelane.models.roce_tx.wire import Endpoint
from framelane.packets.detector_file import shipped
from framelane.receiver.pipeline.correction import Correction

MODULES, FRAMES, FIRST_PORT = 2, 2, 50001
JUNGFRAU = shipped("jungfrau")
ROWS, COLUMNS = JUNGFRAU.module.rows, JUNGFRAU.module.columns
IMAGE = (MODULES * ROWS, COLUMNS)
IMAGE_BYTES = 2 * MODULES * ROWS * COLUMNS
LOCAL = Endpoint(mac=0x020000000001, ip=0x0A000001)
TARGET = Target(
    base=0x10000, slot_bytes=IMAGE_BYTES + 4096, slots_log2=1, first=1, mask_offset=IMAGE_BYTES,
    trailer_offset=IMAGE_BYTES + 64 * MODULES,
)  # fmt: skip
HEADER = DetHeader(JUNGFRAU, MODULES)


def calibration(high_gain: bool = False, shape: tuple[int, int] = IMAGE) -> FixedCalibration:
    rng = np.random.default_rng(5)
    pedestal, mantissa = (rng.integers(0, 0x10000, (3, *shape), np.uint16) for _ in range(2))
    mantissa[rng.random(mantissa.shape) < 0.05] = 0
    return FixedCalibration(pedestal, mantissa, (17, 25, 14), high_gain=high_gain)


def image(rng: Any) -> NDArray[np.uint16]:
    """Any words that a detector sends: special ones are frequent, holes are none."""
    words = rng.integers(0, 0x10000, IMAGE, np.uint16)
    special = rng.choice(np.array([0xFFFF, 0x4000, 0xC000, 0x3FFF], np.uint16), IMAGE)
    words = np.where(rng.random(IMAGE) < 0.1, special, words)
    return np.where(words >> 14 == 2, 0xFFFF, words).astype(np.uint16)


def line(payload: bytes, stream: int) -> bytes:
    under = Ether(src=2, dst="02:00:00:00:00:01") / IP(src="10.0.0.9", dst="10.0.0.1")
    return bytes(under / UDP(sport=1, dport=FIRST_PORT + stream, chksum=0) / Raw(payload))


@pytest.mark.parametrize(("interfaces", "high_gain"), [(1, False), (2, True)])
def test_memory_is_the_offline_correction_of_the_frames(interfaces: int, high_gain: bool) -> None:
    chance, rng = random.Random(1), np.random.default_rng(1)
    header = replace(HEADER, interfaces=interfaces)
    fixed = calibration(high_gain)
    core = DetectorCore(header, TARGET, LOCAL, FIRST_PORT, DetCorrect(header, fixed, 0, IMAGE_BYTES))
    raw = [image(rng) for _ in range(FRAMES)]
    sent = []
    for number, words in enumerate(raw, 1):
        for module in range(MODULES):
            part = words[module * ROWS : (module + 1) * ROWS]
            numbers = {"frame_number": number, "module_id": module}
            for port, packet in packets(JUNGFRAU, part, numbers, interfaces=interfaces):
                sent.append((packet, module * interfaces + port, number, module))
    chance.shuffle(sent)
    lost, sent = sent[:40], sent[40:]
    sent += chance.sample(sent, 30)
    memory = np.full((FRAMES, TARGET.slot_bytes // 2), HOLE_WORD, "<u2")
    for payload, stream, _, _ in sent:
        for write in core.take(line(payload, stream)):
            slot, at = divmod(write.address - TARGET.base, TARGET.slot_bytes)
            memory[slot, at // 2 : (at + len(write.payload)) // 2] = np.frombuffer(write.payload, "<u2")
    assert core.fates == {DetFate.PLACED: len(sent) - 30, DetFate.DUPLICATE: 30}

    # What never came is a hole, in raw images and in corrected ones.
    for payload, stream, number, module in lost:
        values = HEADER.of.numbers(payload)
        at = values["packet_number"] * 4096 + (stream % interfaces) * ROWS // 2 * COLUMNS
        raw[number - 1][module * ROWS : (module + 1) * ROWS].reshape(-1)[at : at + 4096] = HOLE_WORD
    wanted = Correction(fixed, threads=1)(np.stack(raw))
    found = memory[:, : IMAGE_BYTES // 2].view("<i2").reshape(wanted.shape)
    assert np.count_nonzero(wanted == -32768) == 40 * 4096
    np.testing.assert_array_equal(found, wanted)


def test_what_has_come_of_a_cut_packet_is_corrected() -> None:
    fixed, words = calibration(), image(np.random.default_rng(2))
    packet = next(p for _, p in packets(JUNGFRAU, words[ROWS:], {"frame_number": 1, "module_id": 1}))
    core = DetectorCore(HEADER, TARGET, LOCAL, FIRST_PORT, DetCorrect(HEADER, fixed, 0, IMAGE_BYTES))
    write, _ = core.take(line(packet, 1)[:-100], bad=True)
    assert write.bad
    wanted = Correction(fixed, threads=1)(words).astype("<i2").tobytes()
    assert write.payload == wanted[ROWS * COLUMNS * 2 :][: 8192 - 100]


def test_what_does_not_fit_is_refused() -> None:
    fixed = calibration()
    with pytest.raises(ConfigError, match=r"is for \(1024, 1024\) pixels, 1 modules of JUNGFRAU .* \(512, 1024\)"):
        DetCorrect(replace(HEADER, modules=1), fixed, 0, IMAGE_BYTES)
    with pytest.raises(ConfigError, match="cannot lie at 0x800: give an address that is a multiple of 4096"):
        DetCorrect(HEADER, fixed, 2048, IMAGE_BYTES)
    with pytest.raises(ConfigError, match=f"{IMAGE_BYTES} bytes do not lie at a pitch of 4096"):
        DetCorrect(HEADER, fixed, 0, 4096)
    plain = JUNGFRAU.model_copy(update={"pixels": JUNGFRAU.pixels.model_copy(update={"guard": "hole_word"})})
    with pytest.raises(ConfigError, match="JUNGFRAU: only pixels with a gain code are corrected"):
        DetCorrect(DetHeader(plain, MODULES), fixed, 0, IMAGE_BYTES)
