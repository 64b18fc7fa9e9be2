"""Machine code that was kept is not used for other sources."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PROGRAM = """
import numpy as np
from framelane.models.jungfrau.jf_fixed import FixedCalibration
from framelane.receiver.pipeline.correction import Correction
planes = np.full((3, 1, 64), 0x8000, np.uint16)
print(Correction(FixedCalibration(planes, planes, (0, 0, 0)))(np.full((1, 64), 0x3FFF, np.uint16))[0, 0])
"""
OTHERS = """
import sys
import numba, numpy as np
from framelane.base.compiled import compiled
print(compiled(lambda a: a.sum())(np.eye(3)), "scipy.linalg" in sys.modules)
both = numba.njit(lambda a: (np.dot(a, a).sum(), np.cov(a)[0, 0]))(np.eye(3))
print(both[0], round(both[1], 3), "scipy.linalg" in sys.modules)
"""


def test_scipy_is_imported_only_for_a_program_whose_own_loops_need_it() -> None:
    done = subprocess.run([sys.executable, "-c", OTHERS], capture_output=True, text=True, check=True)
    assert done.stdout == "3.0 False\n3.0 0.333 True\n"


def test_a_number_that_changes_in_the_models_changes_what_is_computed(tmp_path: Path) -> None:
    ignored = shutil.ignore_patterns("__pycache__")
    shutil.copytree(ROOT / "sw", tmp_path / "framelane", ignore=ignored)
    shutil.copytree(ROOT / "models", tmp_path / "framelane" / "models", ignore=ignored)
    model = tmp_path / "framelane" / "models" / "jungfrau" / "jf_correct.py"

    def largest() -> str:
        command = [sys.executable, "-c", PROGRAM]
        environment = os.environ | {"PYTHONPATH": str(tmp_path), "NUMBA_CACHE_DIR": str(tmp_path / "cache")}
        return subprocess.run(command, env=environment, cwd=tmp_path, capture_output=True, text=True, check=True).stdout

    assert largest() == "32700\n"
    assert list((tmp_path / "cache").rglob("*.nbi")), "nothing was kept"
    model.write_text(model.read_text().replace("MAX_VALUE = 32700", "MAX_VALUE = 12345"))
    assert largest() == "12345\n"
