"""Python imports this first where its folder is on PYTHONPATH: so a process that a test starts has the test's fault."""

import importlib
import sys
from pathlib import Path

sys.path.append(str(Path(__file__).parents[1]))
importlib.import_module("planted_module").here()
sys.path.pop()
