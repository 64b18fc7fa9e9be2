"""Bytes of a message, read by others: CBOR by cbor2, bitshuffle and LZ4 by bitshuffle itself and by DECTRIS."""

import struct
from typing import Any

import bitshuffle
import cbor2
import numpy as np
import pytest
from dectris.compression import decompress
from hypothesis import given, settings
from hypothesis import strategies as st

from framelane.receiver.streams.bslz4 import bslz4
from framelane.receiver.streams.cbor import Tag, encode
from framelane.receiver.streams.reduced import reduced

values: st.SearchStrategy[Any] = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(1 << 64), (1 << 64) - 1)
    | st.floats(allow_nan=False)
    | st.text()
    | st.binary(max_size=300),
    lambda inner: st.lists(inner, max_size=30) | st.dictionaries(st.text(max_size=5), inner, max_size=30),
    max_leaves=40,
)


@settings(max_examples=200, deadline=None)
@given(values)
def test_any_value_is_what_it_was_to_another_reader(value: Any) -> None:
    assert cbor2.loads(encode(value)) == value


@given(st.integers(0, (1 << 64) - 1))
def test_a_number_has_as_few_bytes_as_in_another_writer(number: int) -> None:
    assert encode([number, -1 - number]) == cbor2.dumps([number, -1 - number])


def test_tags_are_read_and_what_has_no_form_is_refused() -> None:
    found = cbor2.loads(encode(Tag(56500, ["bslz4", 2, memoryview(b"xy")])))
    assert (found.tag, list(found.value)) == (56500, ["bslz4", 2, b"xy"])
    with pytest.raises(TypeError, match="set"):
        encode({"a": {1}})
    with pytest.raises(TypeError, match="64 bits"):
        encode(1 << 64)


@pytest.mark.parametrize("dtype", [np.uint8, np.uint16, np.int16, np.uint32])
@pytest.mark.parametrize("shape", [(1, 1), (3, 5), (64, 128), (513, 1030)])
def test_an_image_is_unpacked_by_bitshuffle_and_by_dectris(dtype: Any, shape: tuple[int, int]) -> None:
    rng = np.random.default_rng(1)
    image = np.where(rng.random(shape) < 0.1, rng.integers(0, 100, shape), 0).astype(dtype)
    packed = bslz4(image)
    size, block = struct.unpack(">QI", packed[:12])
    assert size == image.nbytes
    theirs = np.frombuffer(packed, np.uint8, offset=12)
    found = bitshuffle.decompress_lz4(theirs, shape, image.dtype, block // image.itemsize)
    assert (found == image).all()
    assert decompress(packed, "bslz4", elem_size=image.itemsize) == image.tobytes()


def test_a_slice_of_an_image_is_packed_as_it_is_seen() -> None:
    image = np.arange(64 * 64, dtype=np.uint16).reshape(64, 64)
    part = image[::2, 5:37]
    assert decompress(bslz4(part), "bslz4", elem_size=2) == part.tobytes()


@pytest.mark.parametrize("by", [1, 2, 3, 8])
def test_a_reduced_pixel_is_the_greatest_of_those_behind_it(by: int) -> None:
    image = np.random.default_rng(2).integers(0, 65536, (26, 40), np.uint16)
    rows, columns = 26 // by, 40 // by
    blocks = image[: rows * by, : columns * by].reshape(rows, by, columns, by)
    assert (reduced(image, by) == blocks.max((1, 3))).all()
