"""docs/reference/api.md and the public names: the same names, each with types and a docstring, and its snippets run."""

import dataclasses
import enum
import importlib
import inspect
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from dark_runs import dark_frames, write_frames
from framelane.calibration import Stage
from framelane.models.jungfrau.jf_detector import Detector, DetectorConfig
from framelane.models.tx import tx
from framelane.packets.pcap import PcapWriter
from framelane.receiver.pipeline.corrected import CorrectedImages
from framelane.receiver.pipeline.judging import Judging
from framelane.receiver.pipeline.veto import Veto
from framelane.receiver.ring.receiver import ReceivedFrame
from framelane.receiver.sinks.hdf5 import Hdf5Sink
from framelane.session.session import Session

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs" / "reference" / "api.md").read_text()
PACKAGES = ("calibration", "receiver", "source", "driver")
MOST_POSITIONAL = 5


def sections() -> dict[str, str]:
    """What the page says of each name, by `package.name`."""
    found: dict[str, str] = {}
    for package, text in re.findall(r"^## `framelane\.(\w+)`\n(.*?)(?=^## |\Z)", PAGE, re.MULTILINE | re.DOTALL):
        for name, said in re.findall(r"^### `(\w+)`\n(.*?)(?=^### |\Z)", text, re.MULTILINE | re.DOTALL):
            found[f"{package}.{name}"] = said
    return found


def public() -> dict[str, Any]:
    """Every public object, by `package.name`."""
    found: dict[str, Any] = {}
    for package in PACKAGES:
        module = importlib.import_module(f"framelane.{package}")
        found |= {f"{package}.{name}": getattr(module, name) for name in module.__all__}
    return found


def functions(name: str, thing: Any) -> Iterator[tuple[str, Any]]:
    """The function `thing`, or the methods and properties that the class `thing` itself defines."""
    if inspect.isfunction(thing):
        yield name, thing
        return
    protocol = getattr(thing, "_is_protocol", False)
    generated = dataclasses.is_dataclass(thing) or issubclass(thing, enum.Enum) or protocol
    for own, member in vars(thing).items():
        function = member.fget if isinstance(member, property) else getattr(member, "__func__", member)
        if inspect.isfunction(function) and (not own.startswith("_") or (own == "__init__" and not generated)):
            yield f"{name}.{own}", function


def test_the_page_has_the_names_that_the_packages_export() -> None:
    assert sorted(sections()) == sorted(public())


def test_each_name_is_explained_in_a_line_and_shown() -> None:
    for name, said in sections().items():
        package, _, bare = name.partition(".")
        first, code = said.strip().split("\n\n", 1)
        assert first.endswith("."), name
        assert re.match(rf"```python\nfrom framelane\.{package} import {bare}\n", code), name
        assert code.count(bare) > 1, f"{name} is not used"


@pytest.mark.parametrize("package", PACKAGES)
def test_names_are_where_the_type_checker_finds_them(package: str) -> None:
    module = importlib.import_module(f"framelane.{package}")
    source = inspect.getsource(module).partition("if TYPE_CHECKING:\n")[2].partition("else:\n")[0]
    imports = re.findall(r"^    from (\S+) import (.*)$", source, re.MULTILINE)
    seen = {}
    for origin, names in imports:
        for name in names.split(", "):
            there, _, here = name.partition(" as ")
            seen[here or there] = getattr(importlib.import_module(origin), there)
    assert seen == {name: getattr(module, name) for name in module.__all__}
    assert set(module.__all__) <= set(dir(module))
    assert module.__all__ == sorted(module.__all__, key=lambda name: (not name[0].isupper(), name))


@pytest.mark.parametrize(("name", "thing"), public().items(), ids=public())
def test_a_public_name_has_a_docstring_and_types(name: str, thing: Any) -> None:
    assert inspect.getdoc(thing), name
    bare = name.rpartition(".")[2]
    assert not str(thing.__doc__).startswith(f"{bare}("), f"{name} has only what dataclasses make up"
    for path, function in functions(name, thing):
        if not path.endswith("__init__"):
            assert inspect.getdoc(function), path
        signature = inspect.signature(function)
        arguments = [each for each in signature.parameters.values() if each.name not in ("self", "cls")]
        assert all(each.annotation is not inspect.Parameter.empty for each in arguments), path
        assert signature.return_annotation is not inspect.Signature.empty, path
        positional = [each for each in arguments if each.kind is inspect.Parameter.POSITIONAL_OR_KEYWORD]
        assert len(positional) <= MOST_POSITIONAL, path


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, network: tuple[str, str]) -> Path:
    """Make the folder that the page speaks of, and go there."""
    detector = Detector(DetectorConfig(stuck_in_g1=0, stuck_saturated=0))
    for stage, pedestal in zip((Stage.G0, Stage.G1, Stage.G2), detector.calibration.pedestal, strict=True):
        write_frames(tmp_path / f"dark_{stage}.h5", dark_frames(stage, pedestal, 12))
    detector.calibration.gain.astype("<f8").tofile(tmp_path / "gainMaps_M001.bin")
    write_frames(tmp_path / "raw.h5", np.stack([detector.frame(number).raw for number in range(2)]))
    board = runs_of((ROOT / "examples" / "open_board.py").read_text())
    session = Session.model_validate(board["session"])
    session.save(tmp_path / "session.json")
    (tmp_path / "board.toml").write_text(board["toml"])
    corrected = session.model_copy(update={"pixels": "corrected", "rows": 16, "columns": 100})
    judging = Judging(veto=Veto(10, 20), rungs=(1, 2, 4, 8, 16))
    process = CorrectedImages((16, 100), judging)
    with Hdf5Sink(tmp_path / "frames.h5", corrected, judging=judging) as sink:
        for number in range(20):
            words = np.random.default_rng(number).poisson(3 + number / 10, (16, 100)).astype(np.uint16)
            result = process(words)
            sink.write(ReceivedFrame(number, 0, words, 0, (None,)), result)
    corrected.save(tmp_path / "tx.json")
    images = [np.random.default_rng(n).poisson(5, (16, 100)).astype("<u2").tobytes() for n in range(3)]
    with PcapWriter(tmp_path / "tx.pcap") as capture:
        for packet in tx(images, corrected.tx_config()):
            capture.write(packet)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def runs_of(script: str) -> dict[str, Any]:
    """The session and the TOML file that examples/open_board.py writes."""
    literal = script.partition("session = ")[2].partition("Path(")[0]
    toml = script.partition('Path("board.toml").write_text("""\n')[2].partition('"""')[0]
    return {"session": eval(literal), "toml": toml}


def test_the_snippets_run_one_after_the_other(folder: Path) -> None:
    names: dict[str, Any] = {}
    for said in sections().values():
        code = said.partition("```python\n")[2].partition("```")[0]
        exec(compile(code, "docs/reference/api.md", "exec"), names)
    assert names["outcome"].sent == 4
    assert [frame.number for frame in names["frames"]] == [0, 1, 2]
    assert (folder / "received.h5").is_file()
    assert names["replay"].lost.any()
    assert names["peaks"].size > 0
    assert (names["state"].armed, names["counters"].frames) == (True, 0)
    assert (folder / "photons.h5").is_file()
