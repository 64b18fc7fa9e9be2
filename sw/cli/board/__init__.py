"""`framelane board`."""
