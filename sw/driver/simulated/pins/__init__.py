"""Boards with a PHY, simulated by their pins."""
