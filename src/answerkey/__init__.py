"""answerkey: is your question-answering bot good, where does it fail, and did a change make it better?

    import answerkey as ak

    run = ak.evaluate(df)              # a DataFrame with questions, answers, expected answers
    run.failures()                     # the bad answers, each with one sentence: why

Names are imported when they are first used, so that importing the package is fast.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from answerkey.api.evaluate import aevaluate as aevaluate
    from answerkey.api.evaluate import evaluate as evaluate
    from answerkey.api.evaluate import run_suite as run_suite
    from answerkey.api.load import load_cases as load_cases
    from answerkey.api.measure import rank as rank
    from answerkey.api.measure import score as score
    from answerkey.api.pairs import compare as compare
    from answerkey.api.pairs import prefer as prefer
    from answerkey.api.run import Run as Run
    from answerkey.api.run import open_run as open_run
    from answerkey.api.testsets import audit as audit
    from answerkey.api.testsets import generate as generate
    from answerkey.comparison.comparison import Comparison as Comparison
    from answerkey.comparison.comparison import compare_runs as compare_runs
    from answerkey.comparison.prefer import Preference as Preference
    from answerkey.errors import AnswerkeyError as AnswerkeyError
    from answerkey.metrics.entailment.entailed import entail as entail
    from answerkey.metrics.ranking.rank import Ranked as Ranked
    from answerkey.metrics.registry import metric as metric
    from answerkey.metrics.semantic import evaluate_all as evaluate_all
    from answerkey.quality.assess import assess_answer as assess_answer
    from answerkey.quality.improve import improve_answer as improve_answer
    from answerkey.runs.assertions import assert_verdict as assert_verdict
    from answerkey.runs.summary import Summary as Summary
    from answerkey.types import AnswerCriteria as AnswerCriteria
    from answerkey.types import Case as Case
    from answerkey.types import Outcome as Outcome
    from answerkey.types import Passage as Passage
    from answerkey.types import Profile as Profile
    from answerkey.types import Question as Question
    from answerkey.types import Response as Response
    from answerkey.types import Score as Score
    from answerkey.types import Target as Target
    from answerkey.types import ToolCall as ToolCall
    from answerkey.types import Verdict as Verdict

__version__ = "0.2.0"

_NAMES = {
    "api.evaluate": "aevaluate evaluate run_suite",
    "api.load": "load_cases",
    "api.measure": "rank score",
    "api.pairs": "compare prefer",
    "api.run": "Run open_run",
    "api.testsets": "audit generate",
    "comparison.comparison": "Comparison compare_runs",
    "comparison.prefer": "Preference",
    "errors": "AnswerkeyError",
    "metrics.entailment.entailed": "entail",
    "metrics.ranking.rank": "Ranked",
    "metrics.registry": "metric",
    "metrics.semantic": "evaluate_all",
    "quality.assess": "assess_answer",
    "quality.improve": "improve_answer",
    "runs.assertions": "assert_verdict",
    "runs.summary": "Summary",
    "types": "AnswerCriteria Case Outcome Passage Profile Question Response Score Target ToolCall Verdict",
}
_MODULE_OF = {name: module for module, names in _NAMES.items() for name in names.split()}
__all__ = ["__version__", *_MODULE_OF]  # pyright: ignore[reportUnsupportedDunderAll]


def __getattr__(name: str) -> Any:
    if name not in _MODULE_OF:
        raise AttributeError(f"module 'answerkey' has no attribute {name!r}")
    value = getattr(import_module(f"answerkey.{_MODULE_OF[name]}"), name)
    globals()[name] = value  # the next use finds it without this function
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
