"""What takes long is shown while it lasts, to whoever wants to know."""

from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from framelane.base import telling


def test_long_work_is_shown_while_it_lasts_and_only_to_one_who_wants_to_know(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(telling, "_shown", [])
    said: list[str] = []

    @contextmanager
    def shown(what: str) -> Iterator[None]:
        said.append(f"{what} begins")
        yield
        said.append(f"{what} ends")

    with telling.long_work("one"):
        pass
    telling.show_long_work(shown)
    with telling.long_work("two"):
        assert said == ["two begins"]
    assert said == ["two begins", "two ends"]
