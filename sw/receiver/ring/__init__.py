"""The ring of slots, its credit, and the loop that follows every frame's fate."""
