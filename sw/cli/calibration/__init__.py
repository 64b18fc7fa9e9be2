"""`framelane calibration`."""
