"""Retrieval experiments: sweep every setting from one retrieval, and find out why the numbers are low."""
