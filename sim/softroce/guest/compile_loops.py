"""On the host, before the guest: a receiver and its emulator run once, so that their loops are compiled and kept.

Emulated, the compiler takes ten times as long.
"""

import socket

from framelane.receiver import Live, receive
from framelane.session.session_plan import SessionPlan
from framelane.source import emulate
from own_source import own_address, own_port


def main() -> None:
    """Two frames over loopback."""
    ends = {"source": own_address(), "receiver": "127.0.0.1"}
    nodes: dict[str, object] = {end: {"mac": "02:00:00:00:00:01", "ip": ip} for end, ip in ends.items()}
    fields = {"rows": 16, "columns": 128, "n_slots": 3, "mtu": 1024, "src_port": own_port()}
    plan = SessionPlan.model_validate(fields | nodes)
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        probe.bind(("127.0.0.1", 0))
        port = int(probe.getsockname()[1])
    with receive(Live(transport="udp", plan=plan, port=port, link_port=0)) as run:
        host, link = run.serve()
        with run.beside(emulate, to=f"{host}:{link}", port=port, frames=2):
            for _ in run:
                pass


if __name__ == "__main__":
    main()
