"""The wire from a sender of packets to an RDMA device, as a command finds it."""

import os
from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from typing import Self

from framelane.base.errors import ConfigError
from framelane.session.session_plan import Node

_PREFIX = "RDMA_"


@dataclass(frozen=True, slots=True)
class RdmaLink:
    """Packets that leave the interface `sender` reach `device`, which is on the interface `receiver`.

    The defaults are those of the link that `link.sh` makes: locally administered MACs (IEEE 802), addresses of no host
    (TEST-NET-2, RFC 5737).
    """

    device: str = "framelane_rxe"
    receiver: str = "framelane1"
    receiver_mac: str = "02:00:00:00:00:11"
    receiver_ip: str = "198.51.100.1"
    sender: str = "framelane0"
    source_mac: str = "02:00:00:00:00:22"
    source_ip: str = "198.51.100.2"

    @property
    def source_node(self) -> Node:
        """The source of a session on this link."""
        return Node.model_validate({"mac": self.source_mac, "ip": self.source_ip})

    @property
    def receiver_node(self) -> Node:
        """The receiver of a session on this link."""
        return Node.model_validate({"mac": self.receiver_mac, "ip": self.receiver_ip})

    def variables(self) -> dict[str, str]:
        """The link as variables, for `link.sh` and for the command: RDMA_DEVICE, RDMA_SENDER, ..."""
        return {f"{_PREFIX}{name.upper()}": value for name, value in asdict(self).items()}

    @classmethod
    def of(cls, variables: Mapping[str, str] = os.environ) -> Self:
        """The link that `variables` tell. ConfigError where one is not there."""
        names = {field.name: f"{_PREFIX}{field.name.upper()}" for field in fields(cls)}
        missing = [variable for variable in names.values() if variable not in variables]
        if missing:
            raise ConfigError(f"there is no RDMA link: {', '.join(missing)} not set: run by sim/softroce/machine/vm.py")
        return cls(**{name: variables[variable] for name, variable in names.items()})
