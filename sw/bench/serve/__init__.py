"""What is measured of the service."""
