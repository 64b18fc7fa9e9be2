"""How well PTP keeps a board's clock: cases, what goes wrong, two boards, the page."""
