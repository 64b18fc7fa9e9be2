"""Raw frames of a JUNGFRAU: its UDP packets, live or captured, and files of frames."""
