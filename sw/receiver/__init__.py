"""Ring, transports, pipeline and sinks: from packets in memory to images."""
