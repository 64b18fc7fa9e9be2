"""The documentation as a site: it builds, no link leads nowhere, and what is generated says what the sources say."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("site")
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", str(folder)]
    paths = os.pathsep.join([str(ROOT / "scripts" / "site"), os.environ.get("PYTHONPATH", "")])
    built = subprocess.run(
        command,
        cwd=ROOT,
        env=os.environ | {"PYTHONPATH": paths, "NO_MKDOCS_2_WARNING": "1"},
        capture_output=True,
        text=True,
    )
    assert built.returncode == 0, built.stdout + built.stderr
    return folder


def text(page: Path) -> str:
    """What a page shows."""
    return re.sub(r"\s+", " ", re.sub(r"<[^>]+>", " ", page.read_text()))


def test_every_command_has_its_section(site: Path) -> None:
    page = (site / "reference" / "cli.html").read_text()
    sections = set(re.findall(r'<h2 id="(framelane[\w-]*)"', page))
    assert {"framelane-recv", "framelane-board-configure", "framelane-serve", "framelane-jungfrau-send"} <= sections
    assert "--minimum-peaks &lt;int&gt;" in page


def test_every_path_of_the_service_has_its_section(site: Path) -> None:
    described = json.loads((site / "reference" / "openapi.json").read_text())
    shown = text(site / "reference" / "rest.html")
    calls = [f"{method.upper()} {path}" for path, methods in described["paths"].items() for method in methods]
    assert len(calls) > 10
    assert [call for call in calls if call not in shown] == []


def test_every_public_name_has_its_section(site: Path) -> None:
    page = (site / "reference" / "python.html").read_text()
    for name in ("receive", "Live", "make_calibration", "emulate", "open_board", "Client"):
        assert f'id="{name.lower()}"' in page or f'id="{name}"' in page, name
    assert "minimum_peaks" in page


def test_sources_that_pages_link_to_are_there(site: Path) -> None:
    assert (site / "source" / "examples" / "receive_frames.py").is_file()
    assert 'href="../source/examples/receive_frames.py"' in (site / "reference" / "api.html").read_text()


def test_no_page_asks_another_host_for_anything(site: Path) -> None:
    for page in site.rglob("*.html"):
        loaded = re.findall(r'<(?:script|img|link)[^>]+(?:src|href)="(https?://[^"]+)"', page.read_text())
        assert loaded == [], page
