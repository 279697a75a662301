"""`refusal`: does the answer decline, in whole or in part? By rules in `words/refusals.toml`, in ten languages.

A refusal is about the bot or its documents: "I can't help with that", "the documents do not mention it". What people can't
do is an ordinary answer: "You can't bring pets". An answer that declines one part and answers another is a partial refusal.
"""

from __future__ import annotations

import math
import re
import tomllib
from collections.abc import Mapping, Sequence
from functools import cache, lru_cache, reduce
from importlib.resources import files
from itertools import pairwise
from typing import Any, Literal

import msgspec

from answerkey.metrics.registry import metric
from answerkey.metrics.sentences import pieces, sentence_spans, synonyms
from answerkey.text import CITATION, UNSPACED, fold, has_any
from answerkey.types import Case, Response, Score

Refusal = Literal["full", "partial", "none"]

_BUT = (
    r"(?:but|however|although|though|yet|aber|jedoch|allerdings|mais|cependant|pero|sin embargo|mas|porém|contudo"
    r"|ma|però|tuttavia|maar|echter|tetapi|namun|tapi)\b,?\s"
)
_TURN = re.compile(  # begins with a set of characters, and looks back at it: so others are skipped fast
    rf"[\s,;:，](?:(?<=\s)(?:{_BUT}|-\s)|(?<=[,;:])\s{_BUT}|(?<=;)\s"
    r"|(?<=,)(?:\sso\s|\s?(?:但是|但|不过|然而)|\s(?:लेकिन|परंतु)\s)|(?<=[,，])(?=[\u3400-\u9fff]))"
)
_QUOTED = re.compile(r'"[^"]*"')
_WORDS = re.compile(rf"[{UNSPACED}]{{1,2}}|[^\W_{UNSPACED}]+")
_CONCESSION = re.compile(
    r"^((?:although|though|while|obwohl|bien que|aunque|embora|sebbene|hoewel|walaupun|meskipun|虽然|हालाँकि)[^,，]*)[,，]"
)
_FIGURE = re.compile(r"\d")
_LATIN = re.compile(r"[a-z]")
_CONDITION = re.compile(r"^(?:if|when|wenn|falls|si|se|jika|kalau|如果)\b")
_RUN = re.compile(rf"[{UNSPACED}]{{2,}}")
KINDS = (
    "refuses",
    "courtesy",
    "answers",
)  # what the classifier of tools/fit_refusals.py tells apart
SURE, RULED = 0.7, 0.05  # probabilities: without a rule, and with one
LONGEST_CLAUSE = 400  # characters
_SUBSTANCE = 3  # words of a clause that says something
_REMARK = (
    4  # one refusing clause among more than this many others is a remark, not a partial refusal
)


@lru_cache(maxsize=4096)
def refusal(answer: str) -> Refusal:
    """`full`, `partial` or `none`.

    >>> refusal("I'm sorry, the documents don't mention the price.")
    'full'
    >>> refusal("I can't say what it costs, but it comes in black.")
    'partial'
    >>> refusal("You can't bring pets into the building.")
    'none'
    """
    clauses = clauses_of(answer)
    weak = [c for c in clauses if _chances(c)[0] >= RULED and _matches("weak", c)]
    others = [c for c in clauses if c not in weak and (not _declines(c) or _CONDITION.match(c))]
    refused = len(clauses) - len(others) - len(weak)
    if not refused and not weak:
        return "none"
    substance = sum(
        (len(_WORDS.findall(c)) >= _SUBSTANCE or _FIGURE.search(c) is not None)
        and not _adds_nothing(c)
        for c in others
    )
    if not substance:
        return "full"
    return "partial" if refused * _REMARK >= substance and refused else "none"


@lru_cache(maxsize=4096)
def answering_part(answer: str) -> str:
    """A partial refusal without the clauses that decline; any other answer as it is.

    >>> answering_part("I can't give tax advice, but costs up to 500 euros are deductible.")
    'costs up to 500 euros are deductible.'
    """
    if refusal(answer) != "partial":
        return answer
    kept: list[str] = []
    for start, end in sentence_spans(answer, longest=2_000):
        parts = [part for part in _TURN.split(answer[start:end]) if part.strip()]
        kept += [part for part in parts if not _declines(fold(part).strip(" -*•\t"))]
    return " ".join(kept) or answer


def should_decline(case: Case) -> bool:
    """Whether declining is the right answer: the case is out of scope, or its expected answer is a refusal."""
    return case.criteria.out_of_scope or any(
        refusal(expected) == "full" for expected in case.expected
    )


@metric("refusal", better="neither", needs=("answer",), empty="0", version=4)
def refusal_metric(case: Case, response: Response) -> Score:
    """1 for an answer that declines, 0.5 for one that declines in part, else 0: 1 for `I don't know.`"""
    found = refusal(response.answer or "")
    return Score(
        {"full": 1.0, "partial": 0.5, "none": 0.0}[found],
        f"{found} refusal" if found != "none" else "",
    )


@metric("abstention", needs=("answer",), empty="0, or 1 where the bot should decline", version=6)
def abstention(case: Case, response: Response, *, words: Mapping[str, tuple[str, ...]]) -> Score:
    """1 when the bot declined exactly when it should: out of scope, or the expected answer is a refusal.

    Without an expected answer it may decline where the passages have at most half of the question's words.
    """
    answer = response.answer or ""
    found = "full" if has_any(answer, words["abstains"]) else refusal(answer)
    should = should_decline(case)
    declined = found == "full" or (found == "partial" and should)
    did = "declined" if declined else "answered"
    if (
        declined
        and not should
        and not case.expected
        and _lacks_topic(case.question, response.contexts)
    ):
        return Score(1.0, "declined; the passages have few of the question's words")
    return Score(
        float(declined == should), f"{did}, {'should decline' if should else 'should answer'}"
    )


def _lacks_topic(question: str, contexts: Sequence[str]) -> bool:
    asked = {word for piece in pieces(question) for word in piece.content_stems()}
    known = {word for text in contexts for piece in pieces(text) for word in piece.stems}
    found = [word in known or not known.isdisjoint(synonyms().get(word, ())) for word in asked]
    return bool(known) and 2 * sum(found) <= len(found)


def clauses_of(answer: str) -> list[str]:
    """The parts of the folded sentences between "but" and the like, without quotations."""
    clauses: list[str] = []
    answer = CITATION.sub("", answer)
    for start, end in sentence_spans(answer, longest=2_000):
        sentence = _CONCESSION.sub(r"\1; ", _QUOTED.sub(" quoted ", fold(answer[start:end])))
        clauses += [part.strip(" -*•\t") for part in _TURN.split(sentence) if part.strip()]
    return clauses


def _declines(clause: str) -> bool:
    """By a rule that the classifier does not find absurd, or by the classifier alone where it is sure."""
    chance = _chances(clause)[0]
    return chance >= SURE or (chance >= RULED and _matches("refuses", clause))


def _adds_nothing(clause: str) -> bool:
    return _matches("courtesy", clause) or _chances(clause)[1] >= SURE


def ngrams(clause: str) -> set[str]:
    """Words cut to five letters, and runs of two of them; of Chinese, characters."""
    words = ["^", *[word[:5] for word in _WORDS.findall(clause)], "$"]
    found = {*words, *[f"{a} {b}" for a, b in pairwise(words)]}
    for run in () if clause.isascii() else _RUN.findall(clause):
        found.update(run[at : at + size] for size in (2, 3, 4) for at in range(len(run) - size + 1))
    return found


@lru_cache(maxsize=4096)
def _chances(clause: str) -> tuple[float, float]:
    """The probabilities that a clause declines, and that it adds nothing."""
    known, (declines, nothing) = _weights()
    found = ngrams(clause[:LONGEST_CLAUSE])
    scale = 1 / math.sqrt(len(found))
    for name in known.keys() & found:
        for_declines, for_nothing = known[name]
        declines += for_declines * scale
        nothing += for_nothing * scale
    declines, nothing = math.exp(min(declines, 30.0)), math.exp(min(nothing, 30.0))
    return declines / (1 + declines + nothing), nothing / (1 + declines + nothing)


@cache
def _weights() -> tuple[dict[str, list[float]], list[float]]:
    data = msgspec.json.decode(
        (files("answerkey.metrics") / "fitted" / "refusal.json").read_bytes()
    )
    return data["weights"], data["shift"]


def _matches(kind: str, clause: str) -> bool:
    latin = _LATIN.search(clause) is not None
    plain, first_parts, in_any_order = _patterns(kind, latin, latin and clause.isascii())
    if plain.search(clause):
        return True
    return first_parts.search(clause) is not None and any(
        rules.match(clause[: end.start()] if (end := that.search(clause)) else clause)
        for that, rules in in_any_order
    )


@cache
def _rules() -> dict[str, dict[str, Any]]:
    return tomllib.loads(
        (files("answerkey.metrics") / "words" / "refusals.toml").read_text(encoding="utf-8")
    )


@cache
def _patterns(
    kind: str, latin: bool, only_latin: bool
) -> tuple[re.Pattern[str], re.Pattern[str], list[tuple[re.Pattern[str], re.Pattern[str]]]]:
    """The rules of all languages, of those in Latin script or of the others: the plain ones as one expression; the first
    parts of all others as one, which few clauses have; then per language the expression that ends what is searched, and its
    rules of several parts."""
    plain: list[str] = []
    first_parts: list[str] = []
    in_any_order: list[tuple[re.Pattern[str], re.Pattern[str]]] = []
    for language, table in _rules().items():
        if only_latin if language in {"zh", "hi"} else not latin:
            continue
        names = {
            f"{{{name}}}": str(value) for name, value in table.items() if isinstance(value, str)
        }
        rules: list[str] = [
            reduce(lambda rule, name: rule.replace(name, names[name]), names, one)
            for one in table[kind]
        ]
        plain += [rule for rule in rules if " & " not in rule]
        if joined := [rule.split(" & ") for rule in rules if " & " in rule]:
            first_parts += [first for first, *_ in joined]
            in_any_order.append((re.compile(names["{that}"]), re.compile(_any_order(joined))))
    firsts = _any_of(list(dict.fromkeys(first_parts))) if first_parts else "(?!)"
    return re.compile(_any_of(plain)), re.compile(firsts), in_any_order


def _any_order(rules: Sequence[Sequence[str]]) -> str:
    """Rules of several parts as one expression; those that begin with the same part stand behind it once."""
    behind: dict[str, list[str]] = {}
    for first, *rest in rules:
        behind.setdefault(first, []).append(
            "".join(f"(?!.*?{part[1:]})" if part[0] == "!" else f"(?=.*?{part})" for part in rest)
        )
    return "|".join(f"(?=.*?{first})(?:{'|'.join(rests)})" for first, rests in behind.items())


def _any_of(rules: Sequence[str]) -> str:
    """Rules as one expression; those that begin with the same anchor or group stand behind it once: at most places of a
    text none of them needs to be tried."""
    behind: dict[str, list[str]] = {}
    for rule in rules:
        behind.setdefault(_beginning(rule), []).append(rule)
    parts: list[str] = behind.pop("", [])
    for first, some in behind.items():
        parts.append(
            f"{first}(?:{_any_of([rule.removeprefix(first) for rule in some])})"
            if some[1:]
            else some[0]
        )
    return "|".join(parts)


def _beginning(rule: str) -> str:
    """The anchor or the group that a rule begins with, if any: `(?:i|we)` of `(?:i|we) lack`."""
    if anchor := re.match(r"\^|\\b", rule):
        return anchor[0]
    depth = 0
    for part in re.finditer(r"\\.|\[[^\]]*\]|[()]", rule if rule.startswith("(?:") else ""):
        depth += {"(": 1, ")": -1}.get(part[0], 0)
        if not depth:
            return "" if rule[part.end() :].startswith(("?", "*", "+", "{")) else rule[: part.end()]
    return ""
