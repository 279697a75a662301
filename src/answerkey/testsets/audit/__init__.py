"""Findings about the cases of a test set, with evidence and a suggested fix."""
