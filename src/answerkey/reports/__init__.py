"""Reports of runs and comparisons, for people and for programs."""
