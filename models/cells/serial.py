"""Arithmetic of the serial cells `serial_*.sv`: one bit a clock, in the widths of the hardware."""

MASK = (1 << 64) - 1


def divide(dividend: int, divisor: int) -> tuple[int, int]:
    """Quotient (64 bits) and remainder of a 64-bit by a 32-bit number other than 0."""
    return divmod(dividend, divisor)


def scale(value: int, factor: int, offset: int = 0) -> int:
    """`offset` + `value` * `factor`, modulo 2^64; the factor has 32 bits."""
    return offset + value * factor & MASK
