"""The reference peak finder."""
