"""The two lengths of a JUNGFRAU's packets, and the rows that both are made of."""

from framelane.models.jungfrau.jf_packet import HEADER_BYTES, MODULE_COLUMNS

UNIT_ROWS = 2
"""Rows of the smaller of the two packets; what has come is kept for so many rows at a time."""
UNIT_WORDS = UNIT_ROWS * MODULE_COLUMNS
FEW, MANY = HEADER_BYTES + 2 * UNIT_WORDS, HEADER_BYTES + 4 * UNIT_WORDS
"""Bytes of a packet of two rows, and of four."""
