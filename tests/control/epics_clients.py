"""Clients of EPICS in a process of their own: requests are lines of JSON, answers too.

`{"ca": [NAME]}` reads records by Channel Access, `{"put": {NAME: VALUE}}` writes them and waits, `{"pva": [NAME]}`
reads by PVAccess. The environment says where servers are, before the libraries are loaded.
"""

import asyncio
import json
import sys
from typing import Any

from aioca import DBR_CHAR_STR, caget, caput
from p4p.client.thread import Context

PATIENCE_S = 15.0


async def read(name: str) -> Any:
    got = await caget(name, timeout=PATIENCE_S)
    if len(getattr(got, "shape", ())):  # a long text is an array of characters
        return str(await caget(name, timeout=PATIENCE_S, datatype=DBR_CHAR_STR))
    return str(got) if isinstance(got, str) else float(got)


async def answer(asked: dict[str, Any], pva: Context) -> dict[str, Any]:
    for name, value in asked.get("put", {}).items():
        await caput(name, value, wait=True, timeout=PATIENCE_S)
    said = {name: await read(name) for name in asked.get("ca", ())}
    for name in asked.get("pva", ()):
        got = await asyncio.to_thread(pva.get, name, timeout=PATIENCE_S)
        said[name] = "".join(got) if isinstance(got, str) else float(got)  # str() of one tells the time, too
    return said


async def main() -> None:
    with Context("pva") as pva:
        while line := await asyncio.to_thread(sys.stdin.readline):
            print(json.dumps(await answer(json.loads(line), pva)), flush=True)


asyncio.run(main())
