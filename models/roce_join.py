"""The join of header and payload: what `roce_join.sv` does, the only place where payload bytes change lanes."""


def join(header: bytes, payload: bytes) -> bytes:
    """Header, payload, and zero bytes up to a multiple of four bytes of payload. No ICRC yet."""
    return header + payload + bytes(-len(payload) % 4)
