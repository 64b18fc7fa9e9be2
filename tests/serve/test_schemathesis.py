"""Random calls that schemathesis draws from the service's own OpenAPI document, in random states.

Half of the calls fit the document, half break it in one way. schemathesis judges each answer by the document, and each
run must end with its file whole. `test_random_calls` reaches more states; this test has the independent judge.
"""

import itertools
import os
import random
from collections.abc import Iterator
from typing import Any

import pytest
import schemathesis
from hypothesis import HealthCheck, Phase, given, seed, settings
from hypothesis import strategies as st
from schemathesis import GenerationMode
from schemathesis.checks import not_a_server_error
from schemathesis.core.result import Ok
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    negative_data_rejection,
    response_headers_conformance,
    response_schema_conformance,
    status_code_conformance,
)

from random_states import Sender, bring_to, check_ended
from served import Served, served

CALLS = int(os.environ.get("FRAMELANE_SERVE_CALLS", "60"))
A_RUN = 20
"""Calls until another state is begun with."""
SEED = int(os.environ.get("FRAMELANE_SEED", "1"))
CHECKS = [
    not_a_server_error,
    status_code_conformance,
    content_type_conformance,
    response_headers_conformance,
    response_schema_conformance,
    negative_data_rejection,
]
MOST = {"rows": 64, "columns": 128, "n_slots": 64, "slot_bytes": 1 << 16, "modules": 1, "slots": 16}
"""Members of a configuration that are no larger here: the document allows a ring that fills this machine's memory."""
WAIT_S = 0.05


@pytest.fixture(scope="module")
def here(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    with served(tmp_path_factory.mktemp("schemathesis")) as service:
        yield service


@pytest.fixture(scope="module")
def operations(here: Served) -> list[Any]:
    schema = schemathesis.openapi.from_url(f"{here.url}/openapi.json")
    found = [operation.ok() for operation in schema.get_all_operations() if isinstance(operation, Ok)]
    assert len(found) >= 15
    return found


def small(value: Any) -> Any:
    """A configuration with members up to `MOST`; whatever else it is stays."""
    if isinstance(value, list):
        return [small(each) for each in value]
    if not isinstance(value, dict):
        return value
    whole = {name: each for name, each in value.items() if name in MOST and type(each) is int}
    return {name: min(each, MOST[name]) if name in whole else small(each) for name, each in value.items()}


def soon(case: Any) -> None:
    """Let no call wait for long: only the waiting that the document allows is shortened."""
    case.body = small(case.body)
    if any(parameter.name == "wait_s" for parameter in case.operation.query):
        wait_s = case.query.get("wait_s", WAIT_S)
        if isinstance(wait_s, int | float) and WAIT_S < wait_s <= 30:
            wait_s = WAIT_S
        case.query["wait_s"] = wait_s


def test_what_is_answered_is_what_the_document_says(here: Served, operations: list[Any]) -> None:
    chance, sender, begun, made = random.Random(SEED), Sender(), set[str](), itertools.count()

    # A call that fails in one state says nothing when it is made smaller in another: `generate` alone.
    @seed(SEED)
    @settings(
        max_examples=CALLS,
        deadline=None,
        database=None,
        phases=[Phase.generate],
        suppress_health_check=[*HealthCheck],
    )
    @given(data=st.data())
    def make(data: st.DataObject) -> None:
        operation = data.draw(st.sampled_from(operations))
        mode = data.draw(st.sampled_from(list(GenerationMode)))
        case = data.draw(operation.as_strategy(generation_mode=mode))
        soon(case)
        if next(made) % A_RUN == 0:
            sender.end()
            check_ended(here, begun)
            bring_to(here, chance.choice(["idle", "armed", "running", "running"]), sender)
        case.call_and_validate(checks=CHECKS, timeout=60)
        status = here.service.status()
        if status["loss"]["complete"]:
            begun.add(status["file"])

    try:
        make()
    finally:
        sender.end()
    check_ended(here, begun)
    assert begun
    assert next(made) >= CALLS
