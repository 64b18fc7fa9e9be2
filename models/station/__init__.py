"""Models of the receive path and the station."""
