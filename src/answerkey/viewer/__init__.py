"""Room 8: runs in the browser, on this machine only."""
