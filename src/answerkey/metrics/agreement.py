"""How an answer compares with one expected answer: features for the fitted model, each with a plain meaning."""

from __future__ import annotations

import math
import re
import unicodedata
from dataclasses import dataclass
from functools import lru_cache

from rapidfuzz import fuzz

from answerkey.metrics.evidence import Piece, pieces
from answerkey.metrics.figures import Date, Figure, dates, figures, figures_agree

ARTICLES = frozenset({"a", "an", "the", "of"})
_GLUED = re.compile(r"(?<=[a-zß-ÿ])(?=[A-Z][a-z])|(?<=[^\W\d_]{3})(?=\d)|(?<=\d{4})(?=[a-z]{2})")
_GLUED_NOTE = re.compile(
    r"\b((?:in|to|of|by|since|until|and|from)\s*(?:1[89]|20)\d\d)([1-9])(?=[\s.]|$)(?!\.\d)"
)
_SQUASHED = re.compile(r"[\W_]+")
_REFUSAL = re.compile(
    r"""\b(?:i(?:'m|\ am)\ (?:sorry|unable|not\ (?:sure|able))|sorry,|as\ an\ ai|unable\ to
    |(?:cannot|can't|can\ not|could\ not|couldn't)\ (?:be\ )?
     (?:answer|determin|provid|find|calculat|confirm|assess|access|give)\w*
    |(?:do|does|did)(?:\ not|n't)\ (?:(?:specifically|explicitly|directly|actually)\ )?
     (?:have|know|provide|include|contain|mention|specify|disclose|give|state|offer|appear)
    |(?:is|are|was|were)(?:\ not|n't)\ (?:(?:specifically|explicitly|directly|enough|sufficient)\ )?
     (?:provided|given|available|included|mentioned|specified|disclosed|clear|known|possible|enough|stated|information)
    |no\ (?:information|answer|data|mention)|not\ enough\ (?:information|context)|insufficient\ (?:information|data|context)
    |unknown|unclear|without\ (?:more|additional|further|specific)\ (?:information|data|context|details)
    |would\ (?:need|require)\ (?:more|additional|access|the|to)|we\ (?:would\ )?need\ (?:more|additional))""",
    re.IGNORECASE | re.VERBOSE,
)
_YES_NO = re.compile(r"\W*(yes|no|true|false)\b", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Text:
    """A text made ready to compare. `tokens` are stems without articles."""

    tokens: tuple[str, ...]
    content: tuple[str, ...]
    joined: str
    squashed: str
    figures: tuple[Figure, ...]
    dates: tuple[Date, ...]
    names: frozenset[str]
    polarity: str
    declines: bool
    negations: int


@lru_cache(maxsize=4096)
def read(text: str) -> Text:
    """Spaces that a page lost are put back (`byMissi Hale1`), odd blanks and widths are made plain."""
    plain = unicodedata.normalize("NFKC", text)
    plain = _GLUED.sub(" ", _GLUED_NOTE.sub(r"\1 \2", plain))
    taken: tuple[Piece, ...] = pieces(plain)
    stems = tuple(stem for piece in taken for stem in piece.stems if stem not in ARTICLES)
    content = tuple(stem for piece in taken for stem in piece.content_stems())
    names = frozenset(s for p in taken for s, named in zip(p.stems, p.named, strict=True) if named)
    said = _YES_NO.match(plain)
    return Text(
        tokens=stems,
        content=content or stems,
        joined=" " + " ".join(stems) + " ",
        squashed=_SQUASHED.sub("", plain.lower()),
        figures=figures(plain),
        dates=dates(plain),
        names=names,
        polarity={"yes": "yes", "true": "yes", "no": "no", "false": "no"}.get(said[1].lower(), "")
        if said
        else "",
        declines=bool(_REFUSAL.search(plain)),
        negations=sum(piece.negations for piece in taken),
    )


def compare(answer: str, reference: str, question: str) -> dict[str, float]:
    """The features of one answer against one expected answer."""
    said, wanted, asked = read(answer), read(reference), read(question)
    f: dict[str, float] = {}
    have, known = set(said.tokens), set(asked.tokens)
    new = [token for token in wanted.content if token not in known]
    close = {token: _closest(token, have, said.figures) for token in set(wanted.content)}
    f["exact"] = float(said.tokens == wanted.tokens)
    at = said.joined.find(wanted.joined)
    f["contains"] = float(at >= 0 and bool(wanted.tokens))
    f["squashed"] = float(len(wanted.squashed) >= 4 and wanted.squashed in said.squashed)
    f["inside"] = float(bool(said.tokens) and said.joined in wanted.joined)
    f["recall"] = _mean([close[token] for token in wanted.content])
    f["recall_new"] = _mean([close[token] for token in new]) if new else f["recall"]
    f["all_asked"] = float(not new)
    f["worst_new"] = min((close[token] for token in new), default=f["recall"])
    f["last"] = close[wanted.content[-1]] if wanted.content else 0.0
    f["first"] = close[wanted.content[0]] if wanted.content else 0.0
    fresh = [token for token in said.content if token not in known]
    goal = set(wanted.tokens)
    f["precision_new"] = _mean([float(token in goal) for token in fresh]) if fresh else float(not new)
    f["partial"] = fuzz.partial_ratio(wanted.joined, said.joined) / 100
    f["token_set"] = fuzz.token_set_ratio(wanted.joined, said.joined) / 100
    f["sorted"] = fuzz.token_sort_ratio(wanted.joined, said.joined) / 100
    f["early"] = 1.0 - at / len(said.joined) if f["contains"] else 0.0
    _compare_figures(said, wanted, asked, f)
    _compare_dates(said, wanted, f)
    _compare_manner(said, wanted, f)
    rivals = said.names - goal - known
    f["rivals"] = min(10.0, len(rivals))
    f["answer_length"] = math.log1p(len(said.tokens))
    f["reference_length"] = math.log1p(len(wanted.tokens))
    return f


def _compare_figures(said: Text, wanted: Text, asked: Text, f: dict[str, float]) -> None:
    given = {figure.value for figure in asked.figures}
    key = [figure for figure in wanted.figures if figure.value not in given]
    found = [any(figures_agree(figure, other) for other in said.figures) for figure in key]
    fresh = [figure for figure in said.figures if figure.value not in given]
    f["figures"] = min(3.0, len(key))
    f["figures_found"] = _mean([float(hit) for hit in found]) if key else 0.5
    f["first_figure"] = float(found[0]) if key else 0.5
    f["figures_wrong"] = float(bool(key) and bool(fresh) and not any(found))
    f["figures_none"] = float(bool(key) and not fresh)


def _compare_dates(said: Text, wanted: Text, f: dict[str, float]) -> None:
    """1 where every part that both give (year, month, day) agrees, 0 where one differs, 0.5 where nothing is said."""
    verdicts = [max((mine.agrees(other) for mine in said.dates), default=0.5) for other in wanted.dates]
    f["date"] = _mean(verdicts) if verdicts else 0.5
    f["date_parts"] = max((other.parts for other in wanted.dates), default=0)


def _compare_manner(said: Text, wanted: Text, f: dict[str, float]) -> None:
    f["yes_no"] = 0.5 if not (said.polarity and wanted.polarity) else float(said.polarity == wanted.polarity)
    f["yes_no_expected"] = float(bool(wanted.polarity))
    f["declines"] = float(said.declines and not wanted.declines)
    f["both_decline"] = float(said.declines and wanted.declines)
    f["negation_differs"] = float((said.negations > 0) != (wanted.negations > 0))


def _closest(token: str, have: set[str], given: tuple[Figure, ...]) -> float:
    """1 for the same stem or figure, part of it for a near spelling, else 0."""
    if token in have:
        return 1.0
    if token[0].isdigit():
        return float(any(figures_agree(figure, other) for figure in figures(token) for other in given))
    if len(token) < 4:
        return 0.0
    best = max((fuzz.ratio(token, other) for other in have if abs(len(other) - len(token)) <= 2), default=0.0)
    return best / 100 if best >= 75 else 0.0


def _mean(values: list[float]) -> float:
    return sum(values) / len(values) if values else 0.0
