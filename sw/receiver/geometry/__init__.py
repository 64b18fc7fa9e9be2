"""Modules in their places: geometry files, and the assembly of images."""
