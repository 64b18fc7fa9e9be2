"""No loop of tests, benches and scripts waits for ever: each that waits looks at a clock as well."""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
WAITS = {
    "accept",
    "acquire",
    "get",
    "join",
    "poll",
    "readline",
    "recv",
    "recv_into",
    "recvfrom",
    "select",
    "sleep",
    "wait",
}
CLOCKS = {"monotonic", "monotonic_ns", "perf_counter"}
BENCHES = ROOT / "sim" / "cocotb"
"""Their loops wait for the clock of a simulation, which pytest's own timeout ends."""
ALLOWED = {
    ("tests/support/live_recv.py", "not all((words in text for words in wanted))"): "the process is killed in time",
    ("tests/support/unauthenticated.py", "(data := raw.recv(1 << 16))"): "`connected` gives the socket a timeout",
    ("tests/session/test_session_link.py", "bad.recv(1 << 16)"): "`connected` gives the socket a timeout",
    ("tests/session/test_fuzz_link.py", "True"): "a thread that ends when its socket is closed",
    ("sim/softroce/guest/cases_guest.py", "not (folder / CASES).exists()"): "the host ends the guest in time",
    ("sim/softroce/guest/chain_guest.py", "not path.exists()"): "the host ends the guest in time",
    ("sim/softroce/machine/run.py", "not path.exists()"): "`_alive` raises TimedOut",
    ("sim/softroce/machine/run.py", "alive"): "`_alive` raises TimedOut",
    (
        "tests/driver/simulated/test_tx_tap_frames.py",
        "offered - got < IN_FLIGHT and pinging.poll() is None",
    ): "it offers IN_FLIGHT frames at most",
    ("scripts/beside.py", "behind.is_alive()"): "`Runs` ends what it runs at its deadline",
}
"""Loops without a clock, by file and condition, and what else ends them."""


def own(nodes: list[ast.AST]) -> Iterator[ast.AST]:
    """These and all within them, except functions that are only defined there."""
    for node in nodes:
        yield node
        if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda):
            yield from own(list(ast.iter_child_nodes(node)))


def called(node: ast.AST) -> str:
    """The bare name of what is called."""
    if not isinstance(node, ast.Call):
        return ""
    return getattr(node.func, "attr", getattr(node.func, "id", ""))


def waits(node: ast.AST, asked: set[ast.AST]) -> bool:
    """Whether the call may block; `poll()` and `poll(0)` do not, but to go round until they say so is to wait."""
    name = called(node)
    if not isinstance(node, ast.Call) or name not in WAITS:
        return False
    given = [*node.args, *(each.value for each in node.keywords)]
    if name == "poll":
        return ast.unparse(given[0]) != "0" if given else node in asked
    if name == "get":  # of a queue, not of a dict
        return not node.args
    return name != "join" or not isinstance(getattr(node.func, "value", None), ast.Constant)


def ends_by_itself(loop: ast.While) -> bool:
    """Whether it ends where an event is set, by another thread: `while not over.is_set()`."""
    test = loop.test
    return (
        isinstance(test, ast.UnaryOp)
        and isinstance(test.op, ast.Not)
        and isinstance(test.operand, ast.Call)
        and called(test.operand) in ("is_set", "wait")
        and isinstance(test.operand.func, ast.Attribute)
        and ast.unparse(test.operand.func.value) in ("over", "stop")
    )


def never_blocks(loop: ast.While, tree: ast.Module) -> bool:
    """Whether what is caught around it, or in it, says that its socket does not wait."""
    around = [each for each in ast.walk(tree) if isinstance(each, ast.Try | ast.With) and loop in ast.walk(each)]
    return any("BlockingIOError" in ast.unparse(each) for each in (loop, *around))


def endless(source: str) -> list[tuple[int, str]]:
    """Line and condition of each `while` that waits and looks at no clock."""
    found = []
    tree = ast.parse(source)
    for loop in ast.walk(tree):
        if not isinstance(loop, ast.While) or ends_by_itself(loop):
            continue
        asked = set(own([loop.test]))
        nodes = list(own([loop.test, *loop.body]))
        waiting = any(waits(node, asked) for node in nodes) and not any(called(node) in CLOCKS for node in nodes)
        if waiting and not never_blocks(loop, tree):
            found.append((loop.lineno, ast.unparse(loop.test)))
    return found


def test_every_loop_that_waits_looks_at_a_clock() -> None:
    found, allowed = [], set()
    for top in ("tests", "sim", "scripts"):
        for path in sorted((ROOT / top).rglob("*.py")):
            name = path.relative_to(ROOT).as_posix()
            text = path.read_text()
            if BENCHES in path.parents or "while " not in text:
                continue
            for line, condition in endless(text):
                if (name, condition) in ALLOWED:
                    allowed.add((name, condition))
                else:
                    found.append(
                        f"{name}:{line}: while {condition}: waits without a deadline: look at time.monotonic()"
                    )
    assert not found, "\n".join(found)
    assert allowed == ALLOWED.keys(), "no longer there"


@pytest.mark.parametrize(
    ("loop", "named"),
    [
        ("while not path.exists():\n    time.sleep(0.1)", True),
        ("while process.poll() is None:\n    pass", True),
        ("while True:\n    raw, _ = listening.accept()", True),
        ("while True:\n    if lines.readline():\n        break", True),
        ("while told < 3:\n    told += len(queue.get())", True),
        ("while thread.is_alive():\n    thread.join(1)", True),
        ("while not path.exists():\n    assert time.monotonic() < end\n    time.sleep(0.1)", False),
        ("while time.monotonic() < end and not done:\n    done = poll(0.1)", False),
        ("while not nic.ended:\n    nic.poll(0)", False),
        ("while names:\n    text += ', '.join(names.get(names.pop(), ()))", False),
        ("while not over.is_set():\n    time.sleep(0.1)", False),
        ("while todo:\n    def later():\n        time.sleep(1)\n    todo.pop()", False),
    ],
)
def test_a_loop_that_may_wait_for_ever_is_named(loop: str, named: bool) -> None:
    assert bool(endless(loop)) is named
