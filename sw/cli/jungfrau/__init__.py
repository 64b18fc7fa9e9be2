"""`framelane jungfrau`."""
