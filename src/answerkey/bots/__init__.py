"""The built-in bots. Each is a target like anybody's own: `make(settings, folder)` gives something to ask."""
