"""Runs in the browser: a server on this machine."""
