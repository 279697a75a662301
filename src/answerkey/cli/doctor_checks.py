"""What `answerkey doctor` looks at: packages, models, folders, and the judge."""

from __future__ import annotations

import os
import platform
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

from answerkey import __version__
from answerkey.errors import AnswerkeyError, IncompleteError
from answerkey.types import Json

if TYPE_CHECKING:
    from answerkey.metrics.judge.exam import Exam
    from answerkey.metrics.judge.judged_metrics import Judge

OK, MISSING, BROKEN = "ok", "not installed", "broken"
_EXTRAS = {
    "faiss": ("faiss", "faiss-cpu", "dense search with FAISS, reading its index files"),
    "qdrant": ("qdrant_client", "qdrant-client", "Qdrant collections"),
    "ray": ("ray", "ray", "runs on a cluster"),
    "sentence-transformers": ("sentence_transformers", "sentence-transformers", "other embedding models"),
}


@dataclass(frozen=True, slots=True)
class Check:
    name: str
    status: str
    detail: str

    def as_json(self) -> Json:
        return {"name": self.name, "status": self.status, "detail": self.detail}


@dataclass(frozen=True, slots=True)
class Examined:
    """The judge's exam; `error` says why there was none."""

    name: str
    error: str = ""
    exam: Exam | None = None

    @property
    def passed(self) -> bool:
        return self.exam is not None and self.exam.passed

    def as_json(self) -> Json:
        exam = self.exam
        return {
            "name": self.name,
            "reachable": exam is not None,
            "error": self.error or None,
            "passed": self.passed,
            "right": exam.right if exam else None,
            "of": len(exam.answered) if exam else None,
            "resists_injection": exam.resists_injection if exam else None,
            "questions": [
                {
                    "kind": item.kind,
                    "question": item.question,
                    "answer": item.answer,
                    "wanted": item.wanted,
                    "accuracy": item.score.value,
                    "reason": item.score.reason,
                    "error": item.score.error,
                    "right": item.right,
                }
                for item in (exam.answered if exam else ())
            ],
        }


def check_installation() -> list[Check]:
    """Python and answerkey, the packaged model, what is optional, and the folder for caches."""
    checks = [
        Check(
            "answerkey",
            OK,
            f"{__version__} on Python {platform.python_version()}, {platform.platform(terse=True)}",
        ),
        _tried("embedding model", _embeds),
        _tried("tables", _queries),
        _tried("charts", _draws),
        _tried("cache folder", _writes),
    ]
    return checks + [_extra(name, *about) for name, about in _EXTRAS.items()]


def open_judge(settings: Mapping[str, Any] | str) -> Judge:
    """The judge, without its cache: the exam is about what it says now."""
    from answerkey.metrics.judge.judged_metrics import load_judge

    if settings in ("local", {"preset": "local"}):
        return load_judge("local")
    return load_judge({**({"preset": settings} if isinstance(settings, str) else settings), "cache": False})


def examine(judge: Judge) -> Examined:
    """The judge asked ten questions; an endpoint that does not answer is told, not raised."""
    from answerkey.metrics.judge.exam import take_exam

    try:
        exam = take_exam(judge)
    except IncompleteError as error:
        return Examined(judge.name, str(error))
    finally:
        judge.close()
    unheard = [item.score for item in exam.answered if item.score.details.get("asks") == 0]
    if len(unheard) == len(exam.answered):
        return Examined(judge.name, (unheard[0].error or "no reply").removeprefix("judge: "))
    return Examined(judge.name, exam=exam)


def _tried(name: str, work: Callable[[], str]) -> Check:
    try:
        return Check(name, OK, work())
    except (AnswerkeyError, ImportError, OSError, RuntimeError, ValueError) as error:
        return Check(name, BROKEN, f"{type(error).__name__}: {error}")


def _embeds() -> str:
    from answerkey.embed import load_embedder

    model = load_embedder(cache=False)
    cat, kitten, law = model.embed(["a cat", "a kitten", "tax law"])
    near, far = float(cat @ kitten), float(cat @ law)
    if near <= far:
        raise RuntimeError(
            f"{model.name} finds a cat nearer to tax law than to a kitten: reinstall answerkey"
        )
    return f"{model.name}, {model.precision}, {model.digest[:12]}"


def _queries() -> str:
    import duckdb

    duckdb.connect().execute("select 1").fetchall()
    return f"duckdb {version('duckdb')}"


def _draws() -> str:
    return f"altair {version('altair')}, vl-convert {version('vl-convert-python')}"


def _writes() -> str:
    folder = Path(os.environ.get("ANSWERKEY_CACHE") or Path.home() / ".cache" / "answerkey")
    folder.mkdir(parents=True, exist_ok=True)
    probe = folder / f".doctor-{os.getpid()}"
    probe.write_text("x")
    probe.unlink()
    return str(folder)


def _extra(name: str, module: str, package: str, purpose: str) -> Check:
    """Found without importing it: some of these take seconds to load."""
    if find_spec(module) is None:
        return Check(name, MISSING, f"for {purpose}: pip install 'answerkey[{name}]'")
    try:
        return Check(name, OK, f"{package} {version(package)}")
    except PackageNotFoundError:
        return Check(name, OK, package)
