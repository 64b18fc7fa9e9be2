"""What runs have left behind that were not ended."""
