"""Sums and maxima of pictures: of at least half of those that were asked for, and every pixel as numpy has it."""

import functools
import gzip
import json
import struct
import time
from pathlib import Path
from typing import Any

import httpx
import numpy as np
import pytest
from numpy.typing import NDArray

from framelane.serve import Client
from framelane.serve.pictures import HOLE, MASKED, SATURATED, Picture
from framelane.serve.sums import SUM_LEVELS, Sum, Sums
from framelane.session.session import Session
from framelane.source.emulate_images import images
from live_recv import wait_until
from served import configuration, served

ABOUT = {"frame": 0, "unit": "photons", "scale": 1.0, "bragg": []}


def unpacked(coded: bytes) -> tuple[dict[str, Any], NDArray[np.uint8]]:
    data = gzip.decompress(coded)
    (length,) = struct.unpack_from("<I", data)
    head = json.loads(data[4 : 4 + length])
    return head, np.frombuffer(data, np.uint8, offset=4 + length).reshape(head["rows"], head["columns"])


def pictures(count: int, dtype: Any = np.int16) -> list[Picture]:
    rng = np.random.default_rng(3)
    made = [rng.integers(-3, 300, (8, 12)).astype(np.int16) for _ in range(count)]
    if dtype == np.uint16:
        made = [(each.view(np.uint16) & 0x3FFF) | 0x4000 for each in made]
    return [Picture(k + 1, image, ABOUT) for k, image in enumerate(made)]


def values_of(head: dict[str, Any], levels: NDArray[np.uint8]) -> NDArray[np.int64]:
    return np.array(head["levels"] + [0] * 4)[levels]


@pytest.mark.parametrize(("count", "over", "used"), [(1, 10, 1), (7, 10, 7), (10, 10, 10), (11, 10, 6), (23, 10, 8)])
def test_a_sum_is_of_the_last_pictures_half_of_them_at_least(count: int, over: int, used: int) -> None:
    made, total = pictures(count), Sum(over)
    for picture in made:
        total.add(picture)
        total.add(picture)  # not twice
    newest = [picture.image.astype(np.int64) for picture in made[-used:]]
    head, levels = unpacked(total.coded(made[-1], "sum", 1))
    assert (head["over"], head["show"]) == (used, "sum")
    truth, found = np.sum(newest, 0), values_of(head, levels)
    assert (found == truth)[truth.clip(0) < 128].sum() == ((truth >= 0) & (truth < 128)).sum()
    assert ((found <= truth.clip(0)) & (truth.clip(0) < found * 1.125 + 1)).all(), "a level is its least value"
    head, levels = unpacked(total.coded(made[-1], "maximum", 1))
    truth, found = np.max(newest, 0), values_of(head, levels)
    assert ((found <= truth.clip(0)) & (truth.clip(0) < found * 1.05 + 1)).all()


def test_a_pixel_that_never_came_stays_one_and_any_value_hides_it() -> None:
    hole, masked, saturated = -32768, -32767, 32767
    first, second = (np.array([row], np.int16) for row in ([hole, hole, masked, saturated], [5, hole, masked, 1]))
    total = Sum(10)
    for k, image in enumerate((first, second)):
        total.add(Picture(k + 1, image, ABOUT))
    for show in ("sum", "maximum"):
        _, levels = unpacked(total.coded(Picture(2, second, ABOUT), show, 1))
        assert levels[0].tolist() == [5, HOLE, MASKED, SATURATED]


def test_raw_words_are_added_without_their_gain_bits() -> None:
    made, total = pictures(4, np.uint16), Sum(10)
    made[0].image[0, 0] = 0x8000  # never written
    for picture in made:
        total.add(picture)
    words = [picture.image & 0x3FFF for picture in made]
    words[0] = np.where(made[0].image == 0x8000, 0, words[0])
    head, levels = unpacked(total.coded(made[-1], "sum", 1))
    truth = np.sum(words, 0, dtype=np.int64)
    step = head["levels"][1] - head["levels"][0] + 1
    inside = (truth >= head["levels"][0]) & (truth <= head["levels"][-1])
    assert (np.abs(values_of(head, levels) - truth)[inside] <= step).all()


def test_levels_of_sums_grow_without_a_gap() -> None:
    steps = np.diff(SUM_LEVELS)
    assert (steps > 0).all()
    assert SUM_LEVELS[:129].tolist() == [*range(128), 128]
    assert SUM_LEVELS[-1] > 1000 * 4000
    image = np.repeat(SUM_LEVELS[None], 2, 0)
    total = Sum(10)
    total.add(Picture(1, np.zeros((2, len(SUM_LEVELS)), np.int16), ABOUT))
    total._halves[0].sums[:] = image
    _, levels = unpacked(total.coded(Picture(1, total._halves[0].greatest, ABOUT), "sum", 1))
    assert (levels == np.arange(len(SUM_LEVELS))).all()


def _has(total: Sum, sequence: int) -> bool:
    return total._last == sequence


def test_nothing_is_added_while_nobody_looks_and_a_new_run_begins_anew() -> None:
    sums, made = Sums(), pictures(5)
    sums.follow(made[0])
    first = sums.over(7)
    assert first is sums.over(10)
    for picture in made[1:]:
        sums.follow(picture)
        assert wait_until(functools.partial(_has, first, picture.sequence))
    head, _ = unpacked(first.coded(made[-1], "sum", 1))
    assert head["over"] == 4
    sums.forget()
    assert sums.over(10) is not first


def test_the_service_shows_the_sum_of_what_was_sent(tmp_path: Path) -> None:
    with served(tmp_path) as here, Client(here.url) as client:
        client.configure(configuration(frames=1))
        client.arm()
        here.send(1)
        client.wait_for("ended", 30)
        sent = np.asarray(images(Session.load(tmp_path / "session.json"), None, None, 1)[0]).view(np.int16)
        answer = httpx.get(f"{here.url}/api/picture", params={"show": "sum", "over": 10})
        raw = answer.content  # httpx has taken off gzip
        (length,) = struct.unpack_from("<I", raw)
        head = json.loads(raw[4 : 4 + length])
        levels = np.frombuffer(raw, np.uint8, offset=4 + length).reshape(sent.shape)
        plain = (sent >= 0) & (sent < 128)
        assert head["over"] == 1
        assert (levels[plain] == sent[plain]).all()
        refused = httpx.get(f"{here.url}/api/picture", params={"show": "mean"})
        assert (refused.status_code, "newest" in refused.json()["detail"]) == (422, True)
        samples = httpx.get(f"{here.url}/api/history").json()
        assert samples[-1]["frames"] == 1
        assert samples[-1]["verdicts"]["ENOUGH_PEAKS"] == 1
        assert abs(samples[-1]["time"] - time.time()) < 60
        assert httpx.get(f"{here.url}/api/history", params={"after": samples[-1]["time"]}).json() == []
