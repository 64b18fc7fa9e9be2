"""What every other package uses: errors, files written whole, compiled loops, progress and signals."""
