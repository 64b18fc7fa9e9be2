"""Records of a service, read and written by independent clients: EPICS' own of Channel Access, and p4p of PVAccess."""

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from framelane.control.names import COMMANDS, READINGS, SETTINGS
from live_recv import wait_until
from own_source import own_port
from served import Served, configuration, served

PREFIX = "TEST:FL:"
CLIENTS = """
import asyncio, json, sys
from aioca import FORMAT_TIME, caget, caput, purge_channel_caches
from p4p.client.thread import Context

async def ca(lines):
    said = []
    for name, value in lines:
        if value is not None:
            await caput(name, value, wait=True, timeout=20)
        long = name.endswith(("$"))
        got = await caget(name, timeout=10, format=FORMAT_TIME)
        said.append([str(got) if isinstance(got, str) else float(got), int(got.severity)])
    purge_channel_caches()
    return said

def pva(names):
    with Context("pva", nt=False) as context:
        found = [context.get(name, timeout=10) for name in names]
    return [each.value.index if hasattr(each.value, "index") and not isinstance(each.value, str) else each.value for each in found]

for line in sys.stdin:
    asked = json.loads(line)
    answer = asyncio.run(ca(asked["ca"])) if "ca" in asked else pva(asked["pva"])
    print(json.dumps(answer), flush=True)
"""
