"""The session: what a receiver publishes for one acquisition, and the link that carries it and the credit."""
