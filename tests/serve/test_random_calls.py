"""Random calls in random states, from the service's own OpenAPI document: never a 500, never a run that is lost."""

import json
import os
from collections.abc import Iterator
from typing import Any

import httpx
import pytest
from hypothesis import HealthCheck, given, seed, settings
from hypothesis import strategies as st
from openapi_schema_validator import OAS31Validator

from random_states import Sender, bring_to, check_ended
from served import Served, configuration, served

CALLS = int(os.environ.get("FRAMELANE_SERVE_CALLS", "100"))
ANY = "tcp://127.0.0.1:0"
A_RUN = 20
"""Calls in a row: as many as an example of hypothesis has at most."""
USUAL = ["configure", "arm", "send", "start", "stop", "abort", "thresholds", "thresholds"]
"""Calls that lead from state to state: with purely random ones few runs would ever begin."""


@pytest.fixture(scope="module")
def here(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    with served(tmp_path_factory.mktemp("random")) as service:
        yield service


@pytest.fixture(scope="module")
def document(here: Served) -> dict[str, Any]:
    found: dict[str, Any] = httpx.get(f"{here.url}/openapi.json").json()
    return found


@pytest.fixture(scope="module")
def calls(document: dict[str, Any]) -> list[tuple[str, str, dict[str, Any]]]:
    found = [(method, path, call) for path, of in document["paths"].items() for method, call in of.items()]
    assert len(found) >= 15
    return found


values = st.recursive(
    st.none() | st.booleans() | st.integers(-3, 1 << 66) | st.floats() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=5,
)


def usual(here: Served, name: str, sender: Sender, draw: Any) -> httpx.Response | None:
    if name == "send":
        sender.begin(here)
        return None
    if name == "thresholds":
        changed = {"threshold": draw(st.integers(1, 100)), "minimum_peaks": draw(st.integers(0, 50))}
        return httpx.put(f"{here.url}/api/thresholds", json=changed, timeout=60)
    body = None
    if name == "configure":
        body = configuration() | {"streams": draw(st.sampled_from([[], [{"address": ANY}], [{"address": ANY}] * 2]))}
    return httpx.post(f"{here.url}/api/{name}", json=body, timeout=60)


def random_call(here: Served, calls: list[tuple[str, str, dict[str, Any]]], draw: Any) -> httpx.Response:
    method, path, call = draw(st.sampled_from(calls))
    query = {each["name"]: draw(st.integers(-2, 5000) | st.text(max_size=5)) for each in call.get("parameters", [])}
    query = {name: value for name, value in query.items() if draw(st.booleans())}
    if "wait_s" in query or path == "/api/picture":
        query["wait_s"] = draw(st.sampled_from([0, 0.01, -1, "x"]))
    body = None
    if "requestBody" in call:
        body = configuration() if draw(st.booleans()) else {}
        body |= {"streams": [{"address": ANY}]} if draw(st.booleans()) else {}
        parts = [body, body.get("source", body), body.get("source", {}).get("plan", body), *body.get("streams", [])]
        at = draw(st.sampled_from(parts))
        at[draw(st.sampled_from([*at, "judging", "metadata", "board", "threshold"]))] = draw(values)
    data = None if body is None else json.dumps(body).encode()
    kind = {"Content-Type": "application/json"}
    return httpx.request(method, here.url + path, params=query, content=data, headers=kind, timeout=60)


@seed(int(os.environ.get("FRAMELANE_SEED", "1")))
@settings(
    max_examples=-(-CALLS // A_RUN),
    deadline=None,
    database=None,
    suppress_health_check=[*HealthCheck],
)
@given(data=st.data())
def test_no_call_in_any_state_is_a_500_or_loses_a_run(
    here: Served, document: dict[str, Any], calls: list[tuple[str, str, dict[str, Any]]], data: st.DataObject
) -> None:
    sender, begun = Sender(), set()
    try:
        bring_to(here, data.draw(st.sampled_from(["idle", "armed", "running", "running"])), sender)
        for _ in range(A_RUN):
            if data.draw(st.booleans()):
                answer = usual(here, data.draw(st.sampled_from(USUAL)), sender, data.draw)
            else:
                answer = random_call(here, calls, data.draw)
            if answer is not None:
                assert answer.status_code in (200, 204, 401, 404, 405, 409, 422, 503), (answer.request, answer.text)
                if answer.status_code >= 400:
                    assert isinstance(answer.json()["detail"], str)
                as_described(document, answer)
            status = here.service.status()
            if status["loss"]["complete"]:
                begun.add(status["file"])
    finally:
        sender.end()
    check_ended(here, begun)


def as_described(document: dict[str, Any], answer: httpx.Response) -> None:
    """An answer in JSON is of the form that the document says of its status."""
    of = document["paths"][answer.request.url.path][answer.request.method.lower()]["responses"]
    told = of.get(str(answer.status_code), {}).get("content", {}).get("application/json")
    if told and answer.headers["content-type"] == "application/json":
        schema = told["schema"] | {"components": document["components"]}
        errors = [error.message for error in OAS31Validator(schema).iter_errors(answer.json())]
        assert not errors, (answer.request, errors)
