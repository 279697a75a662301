"""Citation markers: do they point to passages, do sentences carry one, and do the cited passages support the sentence?

Markers are `[1]`, `[1, 2]`, `[1-3]`, `[^1]`, `【1】`, `[doc1]`, `[Doc 1]`, and `(1)` after a sentence.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TypedDict

from answerkey.entailment.pair_model import PairModel
from answerkey.language.refusal import refusal
from answerkey.language.sentences import sentence_spans
from answerkey.metrics.grounding.groundedness import groundedness
from answerkey.metrics.registry import Facts, metric, metric_group
from answerkey.text import CITATION, bracket_citations, citations, format_count
from answerkey.types import Case, Pair, Response, Score

_LETTER = re.compile(r"[^\W\d_]")
# A mark after the full stop, "It is so. [1]": not after the number of a list, nor after an abbreviation.
_AFTER_END = re.compile(
    # It looks back after the first character: so others are skipped fast.
    r"([.!?。！？](?<![.!?。！？].)(?<!^\d.)(?<!^\d\d.)(?<!\bal.)(?<!\bcf.)(?<!\b[A-Za-z]\.[A-Za-z].)"
    rf"[.!?。！？]*[\"'”’)]*)((?:[^\S\n]*{CITATION.pattern})+)",
    re.MULTILINE | re.IGNORECASE,
)
_RUNS_ON = re.compile(r"(?:\b[A-Za-z]\.[A-Za-z]|\b(?:al|cf|pp?|vol|sec|art))\.$", re.IGNORECASE)
_SPACE_BEFORE_END = re.compile(r"\s+([.!?。！？,;:])")
_CONTINUES = re.compile(r"[a-z\d\[(]")


@metric(
    "citation_validity",
    family="communication",
    needs=("answer",),
    uses=("contexts",),
    empty="not applicable without a marker [n]",
    version=2,
)
def citation_validity(case: Case, response: Response) -> Score:
    """Share of markers [n] that point to a retrieved passage: 0.5 for `[1] [9]` with two passages."""
    marks = citations(response.answer or "")
    if not marks:
        return Score.not_applicable("the answer cites nothing")
    # Bots without passage texts still number their sources.
    count = len(response.passages) or len(response.sources)
    wrong = [mark for mark in marks if not 1 <= mark <= count]
    reason = ""
    if wrong:
        listed = ", ".join(f"[{mark}]" for mark in sorted(set(wrong)))
        reason = f"no passage {listed} among {count}"
    return Score((len(marks) - len(wrong)) / len(marks), reason)


@metric(
    "citation_coverage",
    family="communication",
    needs=("answer",),
    empty="not applicable to an answer with no sentence",
    version=2,
)
def citation_coverage(case: Case, response: Response) -> Score:
    """Share of the answer's sentences that carry a marker [n]: 0.5 for `One [1]. Two.`"""
    sentences = cited_sentences(response.answer or "")
    if not sentences:
        return Score.not_applicable("the answer has no sentence")
    marked = sum(bool(sentence.marks) for sentence in sentences)
    return Score(marked / len(sentences), f"{marked} of {len(sentences)} sentences")


_EMPTY = "not applicable to an answer without a marker or a claim"
_of_marks = partial(
    Facts, family="communication", needs=("answer", "contexts"), uses=("question",), empty=_EMPTY
)


@metric_group(
    _of_marks(
        "citation_support",
        "Share of markers whose passage supports the sentence: 0.5 for one right of two.",
    ),
    _of_marks(
        "citation_precision",
        "Share of markers that are needed for the support of their sentence, as in ALCE.",
    ),
    _of_marks(
        "citation_recall",
        "Share of sentences that their cited passages support together, as in ALCE.",
    ),
)
def citation_support(
    pairs: Sequence[Pair], *, names: Sequence[str], pair_model: PairModel | None = None
) -> dict[str, list[Score]]:
    """Whether the passages that each sentence cites support it, decided as `groundedness` decides."""
    answers = [cited_sentences(response.answer or "") for _, response in pairs]
    combinations: dict[tuple[int, str, tuple[int, ...]], None] = {}
    for n, sentences in enumerate(answers):
        for sentence in sentences:
            for marks in _combinations(sentence, len(pairs[n][1].passages)):
                combinations[n, sentence.text, marks] = None
    singles = [
        (pairs[n][0], Response(text, tuple(pairs[n][1].passages[mark - 1] for mark in marks)))
        for n, text, marks in combinations
    ]
    scores = groundedness(singles, pair_model=pair_model)
    support = dict(zip(combinations, map(_is_supported, scores), strict=True))
    table = [
        _score_citations(sentences, n, len(pairs[n][1].passages), support)
        for n, sentences in enumerate(answers)
    ]
    return {name: [row[name] for row in table] for name in names}


@dataclass(frozen=True, slots=True)
class CitedSentence:
    """A sentence without its markers, and the passages they point to."""

    text: str
    marks: tuple[int, ...]


class CitationFinding(TypedDict):
    """Whether all passages cited together support the sentence, and those that do so `alone`."""

    text: str
    marks: list[int]
    supported: bool
    alone: list[int]


def _combinations(sentence: CitedSentence, passages: int) -> Iterator[tuple[int, ...]]:
    """All marks of a sentence together, each alone, and all but each."""
    marks = tuple(dict.fromkeys(mark for mark in sentence.marks if 1 <= mark <= passages))
    if marks:
        yield marks
    # Each alone, and all but each: ALCE's precision asks both.
    for mark in marks if len(marks) > 1 else ():
        yield (mark,)
        yield tuple(other for other in marks if other != mark)


def _is_supported(score: Score) -> bool:
    return not any(sentence["flag"] for sentence in score.details.get("sentences", ()))


@dataclass(frozen=True, slots=True)
class _SentenceSupport:
    """How the passages that a sentence cites support it."""

    text: str
    marks: list[int]
    together: bool
    alone: list[int]
    needed: int


def _score_citations(
    sentences: Sequence[CitedSentence],
    n: int,
    passages: int,
    support: Mapping[tuple[int, str, tuple[int, ...]], bool],
) -> dict[str, Score]:
    """The three scores of answer number `n`, which was given that many passages."""
    # "The documents do not say" needs no citation.
    claims = [sentence for sentence in sentences if refusal(sentence.text) != "full"]
    if not any(sentence.marks for sentence in claims):
        reason = "the answer cites nothing" if claims else "the answer claims nothing"
        names = ("citation_support", "citation_precision", "citation_recall")
        return dict.fromkeys(names, Score.not_applicable(reason))

    def is_supported(text: str, marks: tuple[int, ...]) -> bool:
        return bool(marks) and support[n, text, marks]

    rows = [_measure_sentence(claim, passages, is_supported) for claim in claims]
    total = sum(len(row.marks) for row in rows)
    markers = format_count(total, "marker")
    supported = sum(len(row.alone) for row in rows)
    needed = sum(row.needed for row in rows)
    whole = sum(row.together for row in rows)
    reason = f"{supported} of {markers} supported"
    wrong = next((row for row in rows if row.marks and not row.alone), None)
    if wrong is not None:
        reason += f'; [{wrong.marks[0]}] does not support "{wrong.text[:80]}"'
    details: list[CitationFinding] = [
        {"text": row.text, "marks": row.marks, "supported": row.together, "alone": row.alone}
        for row in rows
    ]
    recall = f"{whole} of {format_count(len(claims), 'sentence')} supported by the passages cited"
    return {
        "citation_support": Score(supported / total, reason, details={"sentences": details}),
        "citation_precision": Score(needed / total, f"{needed} of {markers} needed"),
        "citation_recall": Score(whole / len(claims), recall),
    }


def _measure_sentence(
    sentence: CitedSentence, passages: int, is_supported: Callable[[str, tuple[int, ...]], bool]
) -> _SentenceSupport:
    marks = list(dict.fromkeys(sentence.marks))
    # Markers of passages that do not exist count in the total, never as support.
    valid = tuple(mark for mark in marks if 1 <= mark <= passages)
    together = is_supported(sentence.text, valid)
    alone = [mark for mark in valid if is_supported(sentence.text, (mark,))]
    needed: set[int] = set()
    if together:
        # A marker is needed if it supports the sentence, or if the others do not without it.
        for mark in valid:
            others = tuple(other for other in valid if other != mark)
            if mark in alone or not is_supported(sentence.text, others):
                needed.add(mark)
    return _SentenceSupport(sentence.text, marks, together, alone, len(needed))


def cited_sentences(answer: str) -> list[CitedSentence]:
    """The sentences of an answer with their markers. A line that ends in a colon belongs to what follows.

    >>> cited_sentences("It is so. [1] And this too.")
    [CitedSentence(text='It is so.', marks=(1,)), CitedSentence(text='And this too.', marks=())]
    """
    # The marker moves before the full stop, so that it stays with the sentence that it supports.
    text = _AFTER_END.sub(r"\2\1", bracket_citations(answer))
    sentences: list[CitedSentence] = []
    before = ""
    # The limit is off: a long sentence cut in two would leave its first half without the marker.
    for start, end in sentence_spans(text, longest=len(text) + 1):
        part = text[start:end]
        bare = _SPACE_BEFORE_END.sub(r"\1", CITATION.sub("", part)).strip()
        if CITATION.search(part):
            marks = tuple(citations(part))
        else:
            marks = ()
        if sentences and _is_one_sentence(before[-12:], part):
            sentences[-1] = CitedSentence(
                f"{sentences[-1].text} {bare}", (*sentences[-1].marks, *marks)
            )
        elif _LETTER.search(bare):
            sentences.append(CitedSentence(bare, marks))
        # A marker on a line of its own belongs to the sentence above it.
        elif sentences and marks:
            sentences[-1] = CitedSentence(sentences[-1].text, (*sentences[-1].marks, *marks))
        before = part
    return sentences


def _is_one_sentence(before: str, part: str) -> bool:
    return before.endswith(":") or (
        _RUNS_ON.search(before) is not None and _CONTINUES.match(part) is not None
    )
