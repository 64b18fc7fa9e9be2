"""The way not taken: a small cache of translations in front of a table in host memory, as APEnet+ has it.

A TLP whose page is in the cache goes on; one whose page is not waits for a read of the table, of which `tags` may be
under way, each for `read_ns`. Lookups run ahead of the wire by `ahead` TLPs, in order, and TLPs leave in order. The
cache holds `entries` pages and forgets the one that was used least recently.

APEnet+'s: https://doi.org/10.1109/FPT.2013.6718331, and J. Phys.: Conf. Ser. 898 (2017) 082035, where misses begin at
messages of 256 KiB and 1 MiB: 64 and 256 pages of 4 KiB.
"""

from collections import OrderedDict, deque
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import islice


@dataclass(frozen=True, slots=True)
class Cache:
    """What there is of it: entries, reads under way at most, the time of one in ns, TLPs by which lookups are ahead."""

    entries: int
    tags: int = 1
    read_ns: float = 1000.0
    ahead: int = 16


@dataclass(frozen=True, slots=True)
class Found:
    """`hit_share` of the TLPs found their page, or that it was asked for; `gb_s`: 1e9 bytes of payload a second."""

    hit_share: float
    gb_s: float


def run(cache: Cache, pages: Iterable[int], tlp_bytes: int, tlp_ns: float, before: Iterable[int] = ()) -> Found:
    """TLPs to `pages`, in order, each `tlp_ns` on the wire; `before` them the cache has these pages."""
    known: OrderedDict[int, float] = OrderedDict.fromkeys(before, 0.0)
    """When the translation of each page that is in the cache is there."""
    reads: deque[float] = deque([0.0] * cache.tags)
    """When each tag is free."""
    left: deque[float] = deque([0.0] * cache.ahead)
    """When each of the last TLPs had left."""
    hits = count = 0
    sent = looked = 0.0
    for page in pages:
        looked = max(looked, left.popleft())
        count += 1
        if page in known:
            hits += 1
            known.move_to_end(page)
        else:
            start = max(looked, reads.popleft())
            known[page] = start + cache.read_ns
            reads.append(start + cache.read_ns)
            if len(known) > cache.entries:
                known.popitem(last=False)
        sent = max(sent, known[page]) + tlp_ns
        left.append(sent)
    return Found(hits / count, count * tlp_bytes / sent)


def round_and_round(ring_bytes: int, page_bytes: int, tlp_bytes: int) -> Iterator[int]:
    """The pages of the TLPs that fill a ring from its first byte to its last, again and again."""
    each, pages = page_bytes // tlp_bytes, max(1, ring_bytes // page_bytes)
    while True:
        for page in range(pages):
            for _ in range(each):
                yield page


def of_ring(
    cache: Cache, ring_bytes: int, page_bytes: int, tlp_bytes: int = 256, wire_gb_s: float = 14.4, most: int = 60_000
) -> Found:
    """A ring that is filled round and round, not for the first time.

    The cache has all of its pages, or none that comes next: beyond its reach it has forgotten each before it comes
    again. So all parts of the ring are alike, and `most` TLPs are looked at.
    """
    count = max(1, ring_bytes // page_bytes)
    pages = islice(round_and_round(ring_bytes, page_bytes, tlp_bytes), most)
    return run(cache, pages, tlp_bytes, tlp_bytes / wire_gb_s, range(count) if count <= cache.entries else ())
