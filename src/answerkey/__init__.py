"""answerkey: is your question-answering bot good, where does it fail, and did a change make it better?

Names are loaded when they are first used, so that importing the package costs nothing.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from answerkey.compare.comparison import compare_runs as compare_runs
    from answerkey.errors import AnswerkeyError as AnswerkeyError
    from answerkey.metrics.registry import metric as metric
    from answerkey.metrics.semantic import evaluate_all as evaluate_all
    from answerkey.quality.assess import assess_answer as assess_answer
    from answerkey.quality.improve import improve_answer as improve_answer
    from answerkey.runs.assertions import assert_verdict as assert_verdict
    from answerkey.types import AnswerCriteria as AnswerCriteria
    from answerkey.types import Case as Case
    from answerkey.types import Outcome as Outcome
    from answerkey.types import Passage as Passage
    from answerkey.types import Response as Response
    from answerkey.types import Score as Score
    from answerkey.types import Verdict as Verdict

__version__ = "0.1.0"

_WHERE = {
    "AnswerkeyError": "errors",
    "assert_verdict": "runs.assertions",
    "assess_answer": "quality.assess",
    "improve_answer": "quality.improve",
    "compare_runs": "compare.comparison",
    "evaluate_all": "metrics.semantic",
    "metric": "metrics.registry",
    **dict.fromkeys(
        ("AnswerCriteria", "Case", "Outcome", "Passage", "Response", "Score", "Verdict"), "types"
    ),
}


def __getattr__(name: str) -> Any:
    if name not in _WHERE:
        raise AttributeError(f"module 'answerkey' has no attribute {name!r}")
    return getattr(import_module(f"answerkey.{_WHERE[name]}"), name)


def __dir__() -> list[str]:
    return sorted({*globals(), *_WHERE})
