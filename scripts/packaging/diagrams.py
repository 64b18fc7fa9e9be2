"""Draw the timing diagrams of docs/integrating: of each WaveJSON, which a bench has recorded, its SVG.

scripts/packaging/diagrams.py           draw them again
scripts/packaging/diagrams.py --take    take what benches have recorded last (build/waves) first
scripts/packaging/diagrams.py --check   exit status 1 names those that are not current
"""

import argparse
import shutil
import sys
from pathlib import Path

import wavedrom

from sources import ROOT

PAGES = ROOT / "docs" / "integrating"
RECORDED = ROOT / "build" / "waves"


def drawn(source: Path) -> str:
    """The SVG of a WaveJSON file."""
    return str(wavedrom.render(source.read_text()).tostring()) + "\n"


def outdated(folder: Path) -> list[str]:
    """The diagrams in a folder whose SVG is not what is drawn of them, or that have none."""
    sources = sorted(folder.glob("*.json"))
    return [
        path.name
        for path in (source.with_suffix(".svg") for source in sources)
        if not path.is_file() or path.read_text() != drawn(path.with_suffix(".json"))
    ]


def main() -> int:
    """Draw them, or say which are not current."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--take", action="store_true", help="what benches have recorded last is what is shown")
    parser.add_argument("--check", action="store_true", help="write nothing")
    options = parser.parse_args()
    if options.check:
        old = outdated(PAGES)
        for name in old:
            print(f"docs/integrating/{name} is not what its .json says: run scripts/packaging/diagrams.py")
        return int(bool(old))
    if options.take:
        for recorded in sorted(RECORDED.glob("*.json")):
            shutil.copy(recorded, PAGES)
    for source in sorted(PAGES.glob("*.json")):
        source.with_suffix(".svg").write_text(drawn(source))
    return 0


if __name__ == "__main__":
    sys.exit(main())
