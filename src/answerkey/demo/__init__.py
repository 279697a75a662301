"""Serindit Stores, an invented retail chain: the tables, documents and cases that the demo and examples use.

Data only. `tools/make_world.py` makes the tables and the PDF; everything else is written by hand.
"""

from pathlib import Path

FOLDER = Path(__file__).parent / "world"
