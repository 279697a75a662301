"""Checks for a live bot: cheap enough for every answer, with no model call."""
