"""Frames: what stands around an answer and claims nothing.

Greetings, polite closings, headings, "Answer:", pointers to a source and Markdown. They are no part
of what an answer states: metrics remove them, or leave them without a verdict.
"""

from __future__ import annotations

import re
from functools import lru_cache

from answerkey.language.sentences import sentence_spans
from answerkey.language.words import read_words
from answerkey.text import CITATION, fold

_TABLE = read_words("en")["frames"]
_LABEL = re.compile(_TABLE["label"], re.IGNORECASE)
_OPENING = re.compile(
    rf"(?:[\s>*_#•-]+|(?:{_TABLE['opening']})|(?:{_TABLE['label']}))+", re.IGNORECASE
)
POINTER = re.compile(_TABLE["pointer"], re.IGNORECASE)
_WHOLE = re.compile("|".join((*_TABLE["greeting"], *_TABLE["closing"], *_TABLE["source"])))
_HEADING = re.compile(r"^\s*#{1,6}\s.*$|^\s*(?:[-*_]\s?){3,}$", re.MULTILINE)
_QUOTE_MARK = re.compile(r"^\s*>+\s?", re.MULTILINE)
EMPHASIS = re.compile(r"\*\*|__|`|(?<!\w)[*_](?=\w)|(?<=[\w.!?])[*_](?!\w)")
_EDGES = " \t-–•>*#."
_LONGEST = 200  # characters; a longer sentence states something


@lru_cache(maxsize=4096)
def is_frame(sentence: str) -> bool:
    """Whether a sentence only greets, closes, points to a source or is a heading.

    >>> is_frame("Let me know if you need anything else!"), is_frame("It lasts two years.")
    (True, False)
    """
    # Also keeps the expressions below from long texts.
    if len(sentence) > _LONGEST:
        return False
    if _HEADING.fullmatch(sentence):
        return True
    plain = fold(_remove_marks(sentence)).strip(_EDGES)
    bare = plain.rstrip(" .!:,;")
    if not any(ch.isalnum() for ch in bare):
        return True
    return bool(_WHOLE.search(plain) or _WHOLE.search(bare) or _LABEL.fullmatch(plain))


@lru_cache(maxsize=4096)
def without_frame(text: str) -> str:
    """The answer alone; the text itself where nothing else is left.

    >>> without_frame("Hi! **Answer:** No, it is closed (section 4.2). Have a nice day!")
    'No, it is closed.'
    """
    plain = EMPHASIS.sub("", _QUOTE_MARK.sub("", _HEADING.sub("", text)))
    plain = without_pointers(plain)
    sentences = [plain[start:end] for start, end in sentence_spans(plain, longest=2_000)]
    kept = [sentence for sentence in sentences if not is_frame(sentence)]
    if len(kept) < len(sentences):
        # A text that is all frame, such as "Hello!", stays as it is.
        plain = " ".join(kept)
    return plain[opening_end(plain) :].strip() or text


def without_pointers(text: str) -> str:
    """The text without `(section 4.2)` and the like, whose numbers are no figures."""
    return POINTER.sub("", text)


def opening_end(text: str) -> int:
    """Where "Hello there," and "**Answer:**" end at the beginning of a text.

    >>> opening_end("Answer: No.")
    8
    """
    opening = _OPENING.match(text)
    return opening.end() if opening else 0


def _remove_marks(sentence: str) -> str:
    return EMPHASIS.sub("", _QUOTE_MARK.sub("", CITATION.sub("", sentence)))
