"""Models of the RoCEv2 packetizer, and its packets."""
