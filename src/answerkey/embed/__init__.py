"""Texts in, unit vectors out: the packaged model by default, others by name, folder or endpoint.

from answerkey.embed import load_embedder
vectors = load_embedder().embed(["a question", "an answer"])   # (2, 384), rows of length 1
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from answerkey.embed.embedder import CachedEmbedder as CachedEmbedder
from answerkey.embed.embedder import Embedder as Embedder
from answerkey.embed.embedder import embed_passages as embed_passages
from answerkey.embed.embedder import embed_queries as embed_queries
from answerkey.embed.embedder import unit_rows as unit_rows
from answerkey.embed.load import load_embedder as load_embedder

if TYPE_CHECKING:
    from answerkey.embed.embedder import Vectors as Vectors
