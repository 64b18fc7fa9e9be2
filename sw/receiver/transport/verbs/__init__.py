"""The transport on RDMA verbs: an RNIC, or a port with Linux's SoftRoCE driver, places the packets."""

from framelane.receiver.transport.verbs.transport import VerbsTransport

__all__ = ["VerbsTransport"]
