"""The answer against the passages: a sentence that they contradict or do not contain."""

from __future__ import annotations

from collections.abc import Mapping

from answerkey.profiles.explain.against_expected import find_off_topic
from answerkey.profiles.explain.details import read_entries
from answerkey.profiles.explain.failed_answer import SUPPORT_METRICS, FailedAnswer
from answerkey.profiles.explain.sentence import Failure, quote
from answerkey.types import Kind

_SENTENCE_METRICS = ("groundedness", "groundedness:words")  # they list the sentences of an answer


def find_wrong_support(failed: FailedAnswer) -> Failure | None:
    """Only where nothing is expected, or the answer is as expected: then the passages decide."""
    if failed.case.expected and not failed.fails_only_support():
        return None
    sentence = _worst_sentence(failed)
    if not sentence and not any(name in SUPPORT_METRICS for name in failed.failing):
        return find_off_topic(failed)
    text = str(sentence.get("text") or failed.answer)
    if sentence.get("contradicted"):
        return Failure(Kind.CONTRADICTS, f"Says {quote(text)}; {_cite(failed, sentence)}.")
    if _has_listed_sentences(failed) and not sentence:
        # A floor above the metric's own: no sentence is flagged, so a passage may well say it.
        return Failure(Kind.OTHER, f"Says {quote(text)}; its support is below the profile's floor.")
    return Failure(Kind.UNSUPPORTED, f"Says {quote(text)}; no passage says so.")


def _cite(failed: FailedAnswer, sentence: Mapping[str, object]) -> str:
    """The passage that contradicts a sentence, as far as the metric names it."""
    index = sentence.get("passage")
    # Details may come from a file, so the index may point outside the list.
    if not isinstance(index, int) or not 0 <= index < len(failed.passages):
        return "a passage contradicts it"
    return f"passage {index + 1} says {quote(failed.passages[index])}"


def _has_listed_sentences(failed: FailedAnswer) -> bool:
    """Whether what failed is a metric that lists the sentences of the answer."""
    failing = [name for name in failed.failing if name in SUPPORT_METRICS]
    return all(
        name in _SENTENCE_METRICS and read_entries(failed.scores.get(name), "sentences")
        for name in failing
    )


def _worst_sentence(failed: FailedAnswer) -> Mapping[str, object]:
    """The sentence with the least support, as the metric lists them."""
    for name in _SENTENCE_METRICS:
        flagged = [
            each for each in read_entries(failed.scores.get(name), "sentences") if each.get("flag")
        ]
        if flagged:
            return max(flagged, key=_doubt)
    return {}


def _doubt(sentence: Mapping[str, object]) -> float:
    """How sure the metric is that a sentence has no support; 0 without a usable number."""
    probability = sentence.get("probability")
    if not isinstance(probability, int | float) or not 0 <= probability <= 1:
        return 0.0
    return float(probability)
