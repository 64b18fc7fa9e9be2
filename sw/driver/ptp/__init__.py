"""A slave-only ordinary clock of PTP (IEEE 1588): what sets a board's time.

Public names: docs/reference/api.md.
"""
