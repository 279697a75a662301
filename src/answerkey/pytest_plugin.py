"""The pytest plugin. Nothing heavy is imported when pytest loads it."""

from __future__ import annotations
