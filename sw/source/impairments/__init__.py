"""Impairments: packets lost, repeated, reordered, corrupted or mixed with foreign ones, as a user asks for them."""
