"""The conclusion of an answer: yes or no, for or against, up or down, who did it to whom, below or above zero.

Opposite words are data (`poles` and `relations` in `words/english.toml`). A negation puts a word on the other side, and so does
another order of the two things that a relation is about.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache

from answerkey.language.figure_match import figures_agree
from answerkey.language.quantities import Figure
from answerkey.language.sentences import sentence_spans
from answerkey.language.stems import stem
from answerkey.language.words import phrases, poles, stem_list
from answerkey.metrics.agreement.comparable import Text, Word, read
from answerkey.metrics.agreement.word_match import has_root

_OPENING = (  # what a reply may begin with before its yes or no
    r"^\W*(?:(?:hi|hello|hey|good\ (?:morning|day|news|question)|thanks?(?:\ you)?(?:\ for\ (?:asking|your\ question))?"
    r"|sorry|unfortunately|i['’]?m\ (?:sorry|afraid)|well)\b(?:\ there|\ but)?[\s,.!:–—-]*){0,3}"
)
_SAID = re.compile(
    rf"(?:{_OPENING}|\b(?:so|thus|hence|therefore|answer\ is|conclusion|overall)\b[\s,:*]*)"
    r"(yes|no|true|false|correct|nope|yeah|sure|certainly|definitely|absolutely|of\ course)\b"
    r"(?!\.?\s*\d|\s+(?:one|matter|longer|match|answer|information|data|problem|doubt|wonder|worr(?:y|ies)|idea)\b)"
    r"(?=[\W]*$|[.,;:!\s]*\W|\s+(?:it|they|you|we|he|she|there|this|that)\b)",
    re.IGNORECASE,
)
_BRIEFLY = re.compile(  # a yes or no in a few words: `It does.`, `Not yet.`, `That's not necessary`
    rf"{_OPENING}(?:(?P<yes>indeed\b|that['’]?s\ (?:right|correct|true)\b)"
    r"|(?P<no>not(?=\ (?:yet|any\ ?more|at\ all|really|quite|necessarily|if|unless|before|until|without)\b|\ ?[.,;:!–—])"
    r"|that['’]?s\ not\ (?:necessary|needed|required|possible|allowed|permitted|true|right|correct|the\ case)\b)"
    r"|(?:it|they|you|we|he|she|there|that|this)\s(?:is|are|was|were|do|does|did|can|could|will|would|has|have|had|may|should)"
    r"(?P<negated>n['’]t|not|\snot)?(?:\sindeed)?(?=[.,;!]|$))",
    re.IGNORECASE,
)
_ASKS_YES_NO = re.compile(
    r"(?:^|[.,?!:]\s+)(?:and\s+)?(?:is|are|was|were|am|does|do|did|has|have|had|can|could|will|would|should|shall|must|may|might)"
    r"\s+(?!not\b)(?:(?!\bor\b)[^?]){0,300}\?",
    re.IGNORECASE,
)
_PHRASES = [
    (re.compile(rf"\b(?:{pattern})\b", re.IGNORECASE), put) for put, pattern in phrases().items()
]
_NO_MORE = re.compile(
    r"\b(?:not|cannot|never|no|\w+n['’]t)\b[^.,;]{0,20}\b(more|longer|less|fewer|later|earlier)\b",
    re.IGNORECASE,
)
_NO = frozenset({"no", "nope", "false"})
_IMPLIED = 0.75
_STATED = 0.25  # the weight of a yes or no in other words, and of a statement without any
_ABOUT_IT = re.compile(
    r"(?:they|it|these|this)\b", re.IGNORECASE
)  # begins a sentence about the same thing as the one before
LONGEST = 80  # words of a text that is about one thing
_REACH = 5  # words after a `not` that it negates
_PREFIX = re.compile(r"(?:un|in|im|ir|il|non|dis)(?=\w{4})")
_BE = frozenset({"is", "was", "were", "are", "be", "been", "being"})
_ALLOW, RISE = (poles()[stem(word)][-1][0] for word in ("forbid", "decline"))


@dataclass(frozen=True, slots=True)
class Mark:
    """A word on an axis: `side` is 1 or -1 after negation; `left` and `right` are the content words around it in the sentence."""

    stem: str
    axis: int
    side: int
    left: frozenset[str]
    right: frozenset[str]


def _breaks(word: Word) -> bool:
    return any(mark in word.before for mark in ',;:.!?–—()"”') or word.stem in stem_list(
        "contrasts"
    )


def _is_negated(words: Sequence[Word], at: int) -> bool:
    """Whether an odd number of negations precede the word in its clause, or one follows it: `can't`."""
    count = 0
    for n in range(at - 1, max(-1, at - 1 - _REACH), -1):
        if words[n].sentence != words[at].sentence or _breaks(words[n + 1]):
            break
        # The `no` of `no, …` is an answer, and a negated modal verb negates what follows.
        count += words[n].negates
    return (count + _negated_after(words, at)) % 2 == 1


def _negated_after(words: Sequence[Word], at: int) -> bool:
    if at + 1 < len(words):
        following = words[at + 1]
    else:
        following = None
    return bool(
        following
        and following.negates
        and following.stem in {"t", "not", "never"}
        and following.sentence == words[at].sentence
        and not _breaks(following)
    )


@lru_cache(maxsize=1024)
def _wording(plain: str) -> Text:
    for pattern, put in _PHRASES:
        plain = pattern.sub(put, plain)
    return read(plain)


@lru_cache(maxsize=1024)
def marks(plain: str) -> tuple[Mark, ...]:
    """Every word of a text that has an opposite, with its side."""
    words = _wording(plain).words
    marked: list[Mark] = []
    for at, word in enumerate(words):
        places = poles().get(word.stem, ())
        # The month is no permission: "in May" inside a sentence, while "May I" begins one.
        if not places or (word.stem == "may" and word.capital and at):
            continue
        flip = -1 if _is_negated(words, at) else 1
        # "Must not" forbids; as a negated "must" it would only say that something is not required.
        must_not = word.stem in {"must", "mustn"} and _negated_after(words, at)
        left, right = _beside_than(words, at) or _around(words, at)
        if must_not:
            marked.append(Mark(word.stem, _ALLOW, -1, left, right))
            continue
        marked += [Mark(word.stem, axis, side * flip, left, right) for axis, side in places]
    return tuple(marked)


def _beside_than(words: Sequence[Word], at: int) -> tuple[frozenset[str], frozenset[str]] | None:
    """Of a comparison the content words before and after its `than`: `higher in A than in B`."""
    inside = [n for n, word in enumerate(words) if word.sentence == words[at].sentence]
    than = next((n for n in inside if n > at and words[n].stem == "than"), None)
    if than is None:
        return None
    before = frozenset(words[n].stem for n in inside if n < than and n != at and words[n].content)
    return before, frozenset(words[n].stem for n in inside if n > than and words[n].content)


def _around(words: Sequence[Word], at: int) -> tuple[frozenset[str], frozenset[str]]:
    """The content words before and after one in its sentence, the other way round for `was bought by`."""
    inside = [n for n, word in enumerate(words) if word.sentence == words[at].sentence]
    left = frozenset(words[n].stem for n in inside if n < at and words[n].content)
    right = frozenset(words[n].stem for n in inside if n > at and words[n].content)
    passive = any(words[n].stem == "by" for n in inside if at < n <= at + 3) and any(
        words[n].stem in _BE for n in inside if at - 3 <= n < at
    )
    return (right, left) if passive else (left, right)


def word_order(
    one: tuple[frozenset[str], frozenset[str]],
    other: tuple[frozenset[str], frozenset[str]],
    names: frozenset[str],
) -> int:
    """1 where both have the same things on the same sides, -1 where they are exchanged, 0 where it can't be seen."""
    (l1, r1), (l2, r2) = ((left - right, right - left) for left, right in (one, other))
    if len(names) >= 2:
        l1 = l1 & names
        r1 = r1 & names
        l2 = l2 & names
        r2 = r2 & names
    same = len(l1 & l2) + len(r1 & r2)
    # At most one per side, so that 2 means: one thing of either side is on the other one.
    crossed = min(1, len(l1 & r2)) + min(1, len(r1 & l2))
    if crossed == 2 and crossed > same:
        return -1
    return 1 if same and not crossed else 0


def relation(said: Text, wanted: Text, echo: frozenset[str] = frozenset()) -> float:
    """1 where two texts are on the same side of what both are about, -1 where they are opposed, 0 where nothing tells;
    -0.5 where only a negation tells, which one of them may have put into other words.

    `echo` are words of the question, which an answer may repeat without saying anything.
    """
    if max(len(said.words), len(wanted.words)) > LONGEST:
        return 0
    # Checked first: two texts that negate each other's point share negations and would look alike.
    negative = negated_words(wanted, said.vocabulary), negated_words(said, wanted.vocabulary)
    if all(negative) and _deny_each_other(said, wanted, *negative):
        return -0.5
    names = said.names & wanted.names
    sides: set[int] = set(_exchanged_verbs(said, wanted, names))
    own = [mark for mark in marks(said.plain) if mark.axis < 0 or mark.stem not in echo]
    sought = marks(wanted.plain)
    for axis in {mark.axis for mark in own} & {mark.axis for mark in sought}:
        ours, theirs = ([mark for mark in some if mark.axis == axis] for some in (sought, own))
        if axis < 0 and len(ours) == len(theirs) == 1:
            order = word_order(
                (ours[0].left, ours[0].right), (theirs[0].left, theirs[0].right), names
            )
            sides.add(order * ours[0].side * theirs[0].side)
        elif len({mark.side for mark in ours}) == len({mark.side for mark in theirs}) == 1:
            sides.add(ours[0].side * theirs[0].side)
        else:
            # Such a text compares or contrasts; neither side can be called its own.
            sides.add(0)  # a text that has both
    if sides:
        return -1 if -1 in sides else max(sides)
    # With a negation in the question, "no" may confirm or deny.
    if echo & {"not", "no", "never"}:
        return 0
    if not any(negative):
        return 0
    if all(negative):
        return 1
    return -0.5


def _deny_each_other(
    said: Text, wanted: Text, ours: frozenset[str], theirs: frozenset[str]
) -> bool:
    """Whether each text has what the other negates: `in the morning, not at night` and `at night, not in the morning`."""
    return ours <= frozenset(said.content) - theirs and theirs <= frozenset(wanted.content) - ours


def _exchanged_verbs(said: Text, wanted: Text, names: frozenset[str]) -> Iterator[int]:
    """-1 for each verb of both texts with the same two names on the other sides: `Orion acquired Delta`."""
    if len(names) < 2:
        return
    verbs = {
        word.stem
        for word in wanted.words
        if word.content and not word.capital and word.stem not in poles()
    }
    for verb in verbs & {word.stem for word in said.words if not word.capital}:
        sides = [
            _around(text.words, next(n for n, word in enumerate(text.words) if word.stem == verb))
            for text in (wanted, said)
        ]
        if word_order(sides[0], sides[1], names) < 0:
            yield -1


def negated_words(text: Text, known: frozenset[str]) -> frozenset[str]:
    """The words that a negation or a prefix negates, among those known: `roaming` of `no roaming`, `lock` of `unlocked`."""
    words = _wording(text.plain).words
    places = [
        (at, word.stem)
        for at, word in enumerate(words)
        if word.content and (word.stem in known or has_root(word.stem, known))
    ]
    tokens = {token for at, token in places if _is_negated(words, at)}
    # A word that stands plain elsewhere in the text is not what the text denies.
    tokens -= {token for at, token in places if not _is_negated(words, at)}
    bare = {
        _PREFIX.sub("", word.stem, count=1)
        for word in words
        if word.stem not in known and _PREFIX.match(word.stem)
    }
    return frozenset(tokens | (bare & known))


def focus(text: Text, wanted: Text, key: Sequence[Figure]) -> Text:
    """The sentence of a text that has most of the expected figures and words; the first of several."""
    sought = frozenset(wanted.content)

    def count_shared(sentence: Text) -> tuple[bool, int]:
        has = bool(key) and any(figures_agree(key[0], figure) for figure in sentence.figures)
        return has, len(sought & sentence.vocabulary)

    return max(sentences(text), key=count_shared, default=text)


def sentences(text: Text) -> list[Text]:
    """The sentences of a text, cut at semicolons too."""
    parts = [
        part
        for start, end in sentence_spans(text.plain)
        for part in text.plain[start:end].split("; ")
    ]
    if len(parts) > 1:
        return [read(part) for part in parts]
    return [text]


def stance(text: Text, question: Text) -> float:
    """1 for yes, -1 for no, less where only the wording implies it, else 0."""
    # A plain yes or no counts even when the question does not look like a yes-or-no question.
    said = _SAID.search(text.plain)
    if said:
        return -1.0 if said[1].lower() in _NO else 1.0
    yes_no = _ASKS_YES_NO.search(question.plain)
    if not yes_no:
        return 0.0
    if briefly := _BRIEFLY.match(text.plain):
        if briefly["no"] or briefly["negated"]:
            return -1.0
        return 1.0
    topic = read(yes_no[0])
    if (limit := _NO_MORE.search(text.plain)) and limit[1].lower() in topic.vocabulary:
        return -_IMPLIED  # the very words of the question
    shared = [
        (len(frozenset(topic.content) & sentence.vocabulary), sentence)
        for sentence in sentences(text)
    ]
    most = max(count for count, _ in shared)
    near = [
        sentence
        for count, sentence in shared
        if most and (count >= most / 2 or _ABOUT_IT.match(sentence.plain))
    ]
    sides = {
        side
        for sentence in near
        for side in (relation(sentence, topic), _valence(sentence, topic))
        if side
    }
    if sides:
        # One objection among several sentences decides: "It is possible, but not for guests".
        return -_IMPLIED if min(sides) < 0 else _IMPLIED
    return _STATED if near else 0.0  # a sentence about something else is neither


def _valence(sentence: Text, topic: Text) -> int:
    """1 for a sentence that says that something is allowed, included, possible; -1 for the opposite; 0 for neither."""
    words = _wording(sentence.plain).words
    sides = {
        side * (-1 if _is_negated(words, at) else 1)
        for side, name in ((1, "implies_yes"), (-1, "implies_no"))
        for at, word in enumerate(words)
        # Words of the question itself imply nothing: "Is it allowed?" has "allowed" already.
        if word.stem in stem_list(name) - topic.vocabulary
    }
    return sum(sides)


def direction(text: Text) -> float:
    """1 where everything goes up, -1 where everything goes down, 0 for none or both."""
    sides = {mark.side for mark in marks(text.plain) if mark.axis == RISE}
    return float(sum(sides))
