"""What is measured of files."""
