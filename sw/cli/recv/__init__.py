"""`framelane recv`."""
