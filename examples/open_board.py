"""A transmitter: opened, configured from a file, armed, and its counters read.

The board is "sim", the gateware in Verilator (which builds it the first time, in about a minute); a real one is
"uio:/dev/uio0" or "pci:0000:03:00.0". One sees what the board is, what was configured, and that it waits for frames.
"""

import json
from pathlib import Path

from framelane.driver import configure, open_board

# What a receiver of 4 slots publishes when it starts (framelane recv --publish session.json).
session = {
    "source": {"mac": "02:00:00:00:00:01", "ip": "10.0.0.1"},
    "receiver": {"mac": "02:00:00:00:00:02", "ip": "10.0.0.2"},
    **{"qpn": 0x123, "psn": 0, "rkey": 0xCAFE, "base": 0x7F00_0000_0000, "mtu": 4096},
    **{"rows": 512, "columns": 1024, "n_slots": 4, "slot_bytes": 2 << 20, "window_end": 4},
}
Path("session.json").write_text(json.dumps(session))
Path("board.toml").write_text("""
[transmitter]
mac = "02:00:00:00:00:01"
ip = "10.0.0.1"

[source]
rows = 512
columns = 1024

[store]
base = 0
slots = 16

[[receiver]]
name = "disk"
session = "session.json"

[[flow]]
name = "all"
receivers = ["disk"]
""")

with open_board("sim") as board:
    able = board.probe()
    print(f"a transmitter of {able.data_width} bits at {able.clock_hz / 1e6:g} MHz, room for {able.flows} flows")
    config = configure(board, "board.toml")
    for name, credit in zip(config.destinations, config.credit, strict=True):
        print(f"frames go to {name}, which has room for {credit}")
    board.arm()
    state, counters = board.state(), board.counters()
    print(f"armed: {state.armed}, idle: {state.idle}, frames so far: {counters.frames}, packets: {counters.packets}")
    for sentence in board.errors().sentences():
        print(sentence)
    board.disarm()
