"""The JUNGFRAU: words, correction, packets, geometry, and a simulated detector."""
