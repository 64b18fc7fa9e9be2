"""Sessions and plans that are almost right: each is read, or refused in one sentence that names the file.

FRAMELANE_FUZZ_FILES is the number of either (300 if it is not set; `make nightly`: 10,000).
"""

import os
import random
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from framelane.base.errors import ConfigError, InputError
from framelane.models.placement.slots import SLOT_ALIGN
from framelane.session.link_key import LinkKey
from framelane.session.plan_file import load_plan
from framelane.session.session import Session
from framelane.session.session_plan import SessionPlan
from line_mutations import mutated, mutated_toml

MakeSession = Callable[..., Session]
FILES = int(os.environ.get("FRAMELANE_FUZZ_FILES", "300"))
MOST_S = 2.0
"""For one document."""
PLAN = """# of a module
rows = 512
columns = 1024
n_slots = 64
mtu = 4096

[source]
mac = "02:00:00:00:00:01"
ip = "192.0.2.1"

[receiver]
mac = "02:00:00:00:00:02"
ip = "192.0.2.2"
"""


def each_is_read_or_refused(
    path: Path, contents: Callable[[random.Random], bytes], use: Callable[[Path], None]
) -> None:
    """Write one after the other, and `use` it."""
    chance, read = random.Random(4), 0
    refused: list[tuple[str, bytes]] = []
    for number in range(FILES):
        content = contents(chance)
        path.write_bytes(content)
        begun = time.monotonic()
        try:
            use(path)
            read += 1
        except InputError as error:
            refused.append((str(error), content))
        except Exception as error:
            pytest.fail(f"document {number}, {content!r}: {error!r}")
        assert time.monotonic() - begun < MOST_S, content
    assert read > 0 < len(refused)
    for said, content in refused:
        assert str(path) in said, content
        assert said.isprintable(), (said, content)
        assert len(said) < 2000, (said, content)
        assert "Input should" not in said, said


def test_any_session_is_read_or_refused(make_session: MakeSession, tmp_path: Path) -> None:
    """In a session that is read, every source has its place in the ring."""

    def use(path: Path) -> None:
        session = Session.load(path)
        assert session.slot_bytes % SLOT_ALIGN == 0 < session.slot_bytes
        ends = session.base + session.n_slots * session.slot_bytes
        assert ends <= 1 << 64
        for source in range(min(session.sources, 3)):
            assert session.image_bytes <= session.destination(source).trailer_offset < session.slot_bytes
        try:
            session.tx_config(0)
        except ConfigError:
            assert session.rows % session.sources

    make_session().save(tmp_path / "whole.json", LinkKey.random().document())
    whole = (tmp_path / "whole.json").read_bytes()
    each_is_read_or_refused(tmp_path / "session.json", lambda chance: mutated(chance, whole.rstrip()), use)


def test_any_plan_is_read_or_refused(tmp_path: Path) -> None:
    """A plan that is read makes a session."""

    def use(path: Path) -> None:
        plan: SessionPlan = load_plan(path)
        assert plan.rows % plan.sources == 0
        Session.random(plan)

    each_is_read_or_refused(tmp_path / "plan.toml", lambda chance: mutated_toml(chance, PLAN.encode()), use)


def test_a_document_with_a_hundred_thousand_faults_is_refused_at_once(tmp_path: Path) -> None:
    (tmp_path / "plan.toml").write_text("".join(f"a{n} = 1\n" for n in range(20_000)))
    begun = time.monotonic()
    with pytest.raises(InputError, match=r"a0: is not a key here: .*; and \d+ more$") as error:
        load_plan(tmp_path / "plan.toml")
    assert len(str(error.value)) < 4000
    assert time.monotonic() - begun < 10
