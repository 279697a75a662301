"""The docstore of a FAISS folder, as LangChain pickles it."""

from __future__ import annotations

import pickle
import sys
import types
from collections.abc import Sequence
from typing import Any

import pytest

_CLASSES = {
    "langchain_core.documents.base": "Document",
    "langchain_community.docstore.in_memory": "InMemoryDocstore",
}


def pickle_of_langchain(rows: Sequence[tuple[str, dict[str, Any]]]) -> bytes:
    """Text and metadata of each row; LangChain's classes exist only while it is written."""
    made = {name: type(name, (), {"__module__": module}) for module, name in _CLASSES.items()}
    with pytest.MonkeyPatch.context() as patch:
        for module, name in _CLASSES.items():
            for n in range(1, module.count(".") + 2):
                patch.setitem(
                    sys.modules, ".".join(module.split(".")[:n]), types.ModuleType(module)
                )
            setattr(sys.modules[module], name, made[name])
        documents = {}
        for number, (text, metadata) in enumerate(rows):
            document = documents[f"d{number}"] = made["Document"]()
            document.__dict__.update(page_content=text, metadata=metadata)
        store = made["InMemoryDocstore"]()
        store.__dict__["_dict"] = documents
        return pickle.dumps((store, {number: f"d{number}" for number in range(len(rows))}))
