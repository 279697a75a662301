"""Files kept between runs under the cache folder, named by a hash of all that made them."""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from tempfile import NamedTemporaryFile

from answerkey.embed.cache import cache_folder


@dataclass(frozen=True, slots=True)
class Kept:
    path: Path

    @property
    def found(self) -> bool:
        return self.path.is_file()

    def write(self, content: bytes) -> None:
        """Whole or not at all; a cache that cannot be written is no reason to stop."""
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            with NamedTemporaryFile(dir=self.path.parent, delete=False) as file:
                file.write(content)
            os.replace(file.name, self.path)
        except OSError:
            return


def kept(kind: str, key: str, ending: str) -> Kept:
    return Kept(cache_folder() / "retrieval" / kind / f"{key}{ending}")


def digest(parts: Iterable[str]) -> str:
    """A hash of texts in order; no two lists of texts run together."""
    total = sha256()
    for part in parts:
        raw = part.encode("utf-8", "surrogatepass")
        total.update(len(raw).to_bytes(8, "little"))
        total.update(raw)
    return total.hexdigest()
