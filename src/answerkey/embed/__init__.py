"""Texts in, unit vectors out: the packaged model by default, sentence-transformers or an endpoint on request.

from answerkey.embed import load_embedder
vectors = load_embedder().embed(["a question", "an answer"])   # (2, 384), rows of length 1
"""

from answerkey.embed.embedder import Embedder as Embedder
from answerkey.embed.models import DEFAULT_MODEL as DEFAULT_MODEL
from answerkey.embed.models import load_embedder as load_embedder
