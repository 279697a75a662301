"""In words: why a sentence counts as supported or not, so that a person can check it."""

from __future__ import annotations

from collections.abc import Sequence

from answerkey.metrics.grounding.sentence_features import ReadAnswer, ReadSentence
from answerkey.text import numbers
from answerkey.types import Json

SHOWN = 4
UNSURE = (0.35, 0.65)


def sentence_reason(answer: ReadAnswer, sentence: ReadSentence, flag: bool) -> str:
    """What no passage has, where the sentence is flagged; else where its words are found."""
    if sentence.evidence < 0:
        return "no passage to support it"
    passage = f"passage {answer.index.passages[sentence.evidence] + 1}"
    lacks = _lacks(answer, sentence)
    if flag:
        return (
            "; ".join(lacks)
            if lacks
            else f"low support: its words are there, but not together; nearest is {passage}"
        )
    share = sentence.features["recall_or_asked"]
    found = f"{share:.0%} of its words are in the passages, nearest is {passage}"
    return f"{found}; {'; '.join(lacks)}" if lacks and answer.one_language else found


def _lacks(answer: ReadAnswer, sentence: ReadSentence) -> list[str]:
    piece, support = sentence.piece, sentence.support
    said = [answer.text[start:end] for start, end in piece.spans]
    lacks: list[str] = []
    if support.missing_numbers:
        written = {number.value: number.text for number in numbers(answer.text[piece.start : piece.end])}
        shown = [written.get(value, f"{value:.12g}") for value in support.missing_numbers]
        lacks.append(f"{_list('number', shown)} in no passage")
    if not answer.one_language:
        return lacks
    names = [said[at] for at in support.missing_names] if answer.english else []
    if names:
        lacks.append(f"{_list('name', names)} in no passage")
    if answer.english and support.turned:
        lacks.append(f'"{support.turned[0]}" turns the statement round and is not near the evidence')
    digits = [said[at] for at in support.missing if not said[at][0].isdigit() and said[at] not in names]
    if digits:
        lacks.append(f"{_list('word', digits)} in no passage")
    return lacks


def _list(noun: str, items: Sequence[str]) -> str:
    unique = list(dict.fromkeys(items))
    shown = ", ".join(f'"{item}"' for item in unique[:SHOWN])
    more = f" and {len(unique) - SHOWN} more" if len(unique) > SHOWN else ""
    return f"{noun} {shown}{more}" if len(unique) == 1 else f"{noun}s {shown}{more}"


def answer_reason(answer: ReadAnswer, sentences: Sequence[Json], supported: float) -> str:
    """How many sentences are flagged, the worst of them with its reason, and how weak the evidence is."""
    flagged = [sentence for sentence in sentences if sentence["flag"]]
    worst = max(sentences, key=lambda sentence: sentence["probability"])
    count = f"{len(flagged)} of {len(sentences)} sentences flagged as unsupported"
    told = f'{count}; worst: "{_short(worst["text"])}": {worst["reason"]}' if flagged else count
    return "; ".join([told, *_weak(answer, supported)])


def _weak(answer: ReadAnswer, supported: float) -> list[str]:
    notes: list[str] = []
    if not answer.one_language:
        notes.append(
            "weak evidence: answer and passages are in different languages, only numbers were compared"
        )
    elif not answer.english:
        notes.append("weak evidence: not English, so word lists, names and meaning were left out")
    elif not answer.by_meaning:
        notes.append("by words alone, without an embedding model")
    if UNSURE[0] <= supported <= UNSURE[1]:
        notes.append("weak evidence: could go either way")
    elif supported > UNSURE[1]:
        notes.append("a single swapped word is easily missed")
    return notes


def _short(text: str, longest: int = 80) -> str:
    return text if len(text) <= longest else text[: longest - 1] + "…"
