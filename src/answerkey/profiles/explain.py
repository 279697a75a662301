"""Why an answer failed: one sentence, one kind and one cause. The only place that writes them.

The rules and examples are in docs/how-to/failures.md. They read the texts of the case with the
tools of `language`, and the structured results of the metrics; never a sentence of a metric.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

from answerkey.coerce.values import is_list, is_mapping, table_of
from answerkey.language.refusal import refusal
from answerkey.language.sentences import content_stems
from answerkey.profiles.explain_tools import explain_tools
from answerkey.profiles.statements import (
    Statement,
    asks_yes_or_no,
    find_opposite,
    find_passage,
    find_rival,
    missing_items,
    own_words,
    polarity,
    read_figures,
    read_names,
    share_of_words,
    split_items,
    starts_with_yes_or_no,
    without_question,
)
from answerkey.text import CITATION, words
from answerkey.types import Case, Cause, Kind, Response, Score

LONGEST_WHY = 160
_LONGEST_QUOTE = 60
# Metrics that compare the answer with the passages; the others that fail a case compare it with
# what is expected.
_SUPPORT_METRICS = frozenset(
    {
        "groundedness",
        "groundedness:words",
        "entailment",
        "answer_hallucination",
        "hallucination",
        "judge.faithfulness",
    }
)
_RELEVANCE_METRICS = frozenset({"answer_relevance", "judge.relevance"})
_FORMAT_CHECKS = frozenset({"regex", "is-json", "contains-json", "starts-with"})
_RANKING_METRICS = ("ndcg@", "recall@", "precision@", "hit_rate@", "f1@", "mrr", "map")
# Placeholders that bots return where they have no answer.
_PLACEHOLDERS = frozenset({"-", "--", "...", "…", "n/a", "none", "null", "nan"})
# Passages and labels say nothing about where these failures come from.
_KINDS_WITHOUT_CAUSE = frozenset(
    {
        Kind.WRONG_ROUTE,
        Kind.BAD_FORMAT,
        Kind.WRONG_TOOL,
        Kind.WRONG_ARGUMENT,
        Kind.FORBIDDEN_TOOL,
        Kind.LEAK,
        Kind.ASKED_AGAIN,
    }
)
# Share of the expected words from which a passage, or an answer, has the expected facts.
_HAS_FACTS = 0.6
# Share of the other expected words below which the answer is about another subject: "Use the store
# finder" for "Open My orders" is no wrong name. "Berlin is the capital" for "Paris is the capital" is.
_SAME_SUBJECT = 0.3


@dataclass(frozen=True, slots=True)
class Explanation:
    """`why` is at most 160 characters and names no metric."""

    why: str
    kind: Kind
    cause: Cause


def explain_failure(
    case: Case, response: Response, scores: Mapping[str, Score], failing: Collection[str]
) -> Explanation:
    """Why the answer of a case failed; `failing` are the metrics that failed it."""
    return _Explainer(case, response, scores, failing).explain()


def has_no_answer(answer: str | None) -> bool:
    """Whether there is no answer: nothing, blanks, or a placeholder such as `n/a`."""
    return answer is None or answer.strip().casefold() in {"", *_PLACEHOLDERS}


@dataclass(frozen=True, slots=True)
class _Finding:
    """A kind with its sentence.

    `expected` is the fact that the answer lacks, `stated` the one in its place; `omitted` are
    facts without one.
    """

    kind: Kind
    sentence: str
    expected: Statement | None = None
    stated: Statement | None = None
    omitted: str = ""


class _Explainer:
    def __init__(
        self,
        case: Case,
        response: Response,
        scores: Mapping[str, Score],
        failing: Collection[str],
    ) -> None:
        self._case = case
        self._response = response
        self._scores = scores
        self._failing = failing
        self._answer = response.answer or ""
        # Blank passages stay in the list: `passage 3` is the third one that a page shows.
        has_text = any(text.strip() for text in response.contexts)
        self._passages = list(response.contexts) if has_text else []
        self._expected = _nearest_expected(self._answer, case.expected)

    def explain(self) -> Explanation:
        finding = self._find()
        return Explanation(_shorten(finding.sentence), finding.kind, self._find_cause(finding))

    def _find(self) -> _Finding:
        """The first rule that applies; they are ordered from the surest to the vaguest."""
        return (
            self._find_tool_failure()
            or self._find_wrong_route()
            or self._find_missing_answer()
            or self._find_wrong_ranking()
            or self._find_bad_format()
            or self._find_refusal()
            or self._find_wrong_statement()
            or self._find_wrong_support()
            or self._find_unmet_criterion()
            or self._describe_other()
        )

    def _find_tool_failure(self) -> _Finding | None:
        failure = explain_tools(self._scores, self._failing)
        if failure is None:
            return None
        return _Finding(*failure)

    def _find_wrong_route(self) -> _Finding | None:
        score = self._scores.get("route_score")
        if score is None or score.value is None or score.value > 0:
            return None
        route = self._response.route or "none"
        sentence = f"Took the route {route}, expected {self._case.expected_route}."
        return _Finding(Kind.WRONG_ROUTE, sentence)

    def _find_missing_answer(self) -> _Finding | None:
        if not has_no_answer(self._answer) or self._fails_only_ranking():
            return None
        sentence = "Gives no answer"
        if self._case.expected:
            sentence += f", expected {_quote(self._expected)}"
        return _Finding(Kind.NO_ANSWER, f"{sentence}{self._passage_with_expected()}.")

    def _fails_only_ranking(self) -> bool:
        return bool(self._failing) and all(
            name.startswith(_RANKING_METRICS) for name in self._failing
        )

    def _find_wrong_ranking(self) -> _Finding | None:
        if not self._fails_only_ranking():
            return None
        relevant = [name for name, grade in (self._case.relevant or {}).items() if grade > 0]
        retrieved = _retrieved_ids(self._response)
        first = ", ".join(retrieved[:3]) or "nothing"
        present = sum(name in retrieved for name in relevant)
        expected = ", ".join(relevant[:3])
        sentence = f"Finds {present} of {len(relevant)} relevant; ranks {first} first, expected {expected}."
        return _Finding(Kind.OTHER, sentence)

    def _find_bad_format(self) -> _Finding | None:
        says = f"Says {_quote(self._answer)}"
        pattern = self._case.criteria.regex
        score = self._scores.get("regex")
        if pattern and score is not None and score.value == 0 and "regex" in self._failing:
            return _Finding(Kind.BAD_FORMAT, f"{says}, expected the pattern {_clip(pattern)}.")
        for check in self._unmet_criteria():
            if str(check.get("kind")) in _FORMAT_CHECKS:
                return _Finding(Kind.BAD_FORMAT, f"{says}, expected {_describe_check(check)}.")
        return None

    def _unmet_criteria(self) -> list[Mapping[str, object]]:
        """The criteria in words that the answer does not meet, as the metric lists them."""
        score = self._scores.get("criteria")
        if score is None or "criteria" not in self._failing:
            return []
        return [check for check in _read_entries(score, "criteria") if check.get("met") is False]

    def _find_unmet_criterion(self) -> _Finding | None:
        for check in self._unmet_criteria():
            sentence = f"Says {_quote(self._answer)}, expected: {_describe_check(check)}."
            return _Finding(Kind.OTHER, sentence)
        return None

    def _find_refusal(self) -> _Finding | None:
        declines = refusal(self._answer) == "full"
        if self._should_decline():
            if declines:
                return None
            return _Finding(Kind.SHOULD_REFUSE, f"Says {_quote(self._answer)}, expected a refusal.")
        if not declines:
            return None
        sentence = f"Declines: {_quote(self._answer)}"
        if self._case.expected:
            sentence += f", expected {_quote(self._expected)}"
        return _Finding(Kind.REFUSED, f"{sentence}{self._passage_with_expected()}.")

    def _should_decline(self) -> bool:
        if self._case.criteria.out_of_scope:
            return True
        return any(refusal(expected) == "full" for expected in self._case.expected)

    def _find_wrong_statement(self) -> _Finding | None:
        """The answer against the expected one."""
        if not self._case.expected or self._fails_only_support():
            return None
        return (
            self._compare_polarity()
            or self._compare_figures()
            or self._compare_opposites()
            or self._find_off_topic()
            or self._compare_names()
            or self._find_omission()
        )

    def _fails_only_support(self) -> bool:
        """Whether the answer is as expected, and only the passages do not support it."""
        fails_support = any(name in _SUPPORT_METRICS for name in self._failing)
        others = [name for name in self._failing if name not in _SUPPORT_METRICS]
        return fails_support and all(name in _RELEVANCE_METRICS for name in others)

    def _compare_figures(self) -> _Finding | None:
        asked = read_figures(self._case.question)
        expected = without_question(read_figures(self._expected), asked)
        stated = without_question(read_figures(_without_citations(self._answer)), asked)
        rival = find_rival(stated, expected)
        return self._describe_rival(Kind.WRONG_FIGURE, rival)

    def _compare_names(self) -> _Finding | None:
        expected = read_names(self._expected, self._case.question)
        stated = read_names(self._answer, self._case.question)
        is_one_word = len(self._expected.split()) == 1
        missing = [
            name
            for name in expected
            # One capital at the start of a sentence is a name only where it stands alone.
            if (name.is_sure or is_one_word) and find_passage(name, [self._answer]) is None
        ]
        others = [name for name in stated if find_passage(name, [self._expected]) is None]
        rival = find_rival(others, missing)
        if rival is not None and self._has_other_subject(rival[1]):
            return None
        return self._describe_rival(Kind.WRONG_NAME, rival)

    def _has_other_subject(self, expected: Statement) -> bool:
        """Whether the rest of the answer is about something else, so that no name is just swapped."""
        rest = content_stems(self._expected) - content_stems(expected.text)
        return bool(rest) and share_of_words(rest, self._answer) < _SAME_SUBJECT

    def _describe_rival(
        self, kind: Kind, rival: tuple[Statement, Statement] | None
    ) -> _Finding | None:
        if rival is None:
            return None
        stated, expected = rival
        sentence = f"Says {_clip(stated.text)}, expected {_clip(expected.text)}"
        number = find_passage(expected, self._passages)
        if number is not None:
            sentence += f"; passage {number} says {_clip(expected.text)}"
        elif (number := find_passage(stated, self._passages)) is not None:
            sentence += f"; passage {number} says {_clip(stated.text)}"
        return _Finding(kind, f"{sentence}.", expected, stated)

    def _compare_polarity(self) -> _Finding | None:
        both_open = starts_with_yes_or_no(self._answer) and starts_with_yes_or_no(self._expected)
        if not both_open and not asks_yes_or_no(self._case.question):
            return None
        if polarity(self._answer) == polarity(self._expected):
            return None
        return self._describe_contradiction()

    def _compare_opposites(self) -> _Finding | None:
        if find_opposite(self._answer, self._expected) is None:
            return None
        return self._describe_contradiction()

    def _describe_contradiction(self) -> _Finding:
        sentence = f"Says {_quote(self._answer)}, expected {_quote(self._expected)}"
        return _Finding(Kind.CONTRADICTS, f"{sentence}{self._passage_with_expected()}.")

    def _find_off_topic(self) -> _Finding | None:
        if not any(name in self._failing for name in _RELEVANCE_METRICS):
            return None
        stems = content_stems(self._case.question) | content_stems(self._expected)
        if share_of_words(content_stems(self._answer), " ".join(sorted(stems))) > 0:
            return None
        sentence = f"Says {_quote(self._answer)}, which is about something else"
        if self._case.expected:
            sentence += f"; expected {_quote(self._expected)}"
        return _Finding(Kind.OFF_TOPIC, f"{sentence}.")

    def _find_omission(self) -> _Finding | None:
        """Some of the expected facts, and nothing in place of the others."""
        facts = own_words(self._expected, self._case.question)
        if share_of_words(facts, self._answer) == 0:
            return None
        missing = missing_items(self._answer, self._expected)
        if not missing or len(missing) == len(list(split_items(self._expected))):
            return None
        omitted = ", ".join(missing)
        sentence = f"Says {_quote(self._answer)}, but not {_quote(omitted)}"
        for number, passage in enumerate(self._passages, start=1):
            if share_of_words(content_stems(omitted), passage) >= _HAS_FACTS:
                sentence += f"; passage {number} has it"
                break
        return _Finding(Kind.INCOMPLETE, f"{sentence}.", omitted=omitted)

    def _find_wrong_support(self) -> _Finding | None:
        """A sentence that the passages contradict or do not contain."""
        if self._case.expected and not self._fails_only_support():
            return None
        sentence = self._worst_sentence()
        if not sentence and not any(name in _SUPPORT_METRICS for name in self._failing):
            return self._find_off_topic()
        text = str(sentence.get("text") or self._answer)
        if sentence.get("contradicted"):
            return _Finding(Kind.CONTRADICTS, f"Says {_quote(text)}; {self._cite(sentence)}.")
        return _Finding(Kind.UNSUPPORTED, f"Says {_quote(text)}; no passage says so.")

    def _cite(self, sentence: Mapping[str, object]) -> str:
        """The passage that contradicts a sentence, as far as the metric names it."""
        index = sentence.get("passage")
        if not isinstance(index, int) or not 0 <= index < len(self._passages):
            return "a passage contradicts it"
        return f"passage {index + 1} says {_quote(self._passages[index])}"

    def _worst_sentence(self) -> Mapping[str, object]:
        """The sentence with the least support, as the metric lists them."""
        for name in ("groundedness", "groundedness:words"):
            score = self._scores.get(name)
            if score is None:
                continue
            flagged = [each for each in _read_entries(score, "sentences") if each.get("flag")]
            if flagged:
                return max(flagged, key=_doubt)
        return {}

    def _describe_other(self) -> _Finding:
        sentence = f"Says {_quote(self._answer)}"
        forbidden = self._find_forbidden_text()
        if forbidden:
            return _Finding(Kind.OTHER, f"{sentence}; must not contain {_quote(forbidden)}.")
        if missing := self._missing_texts():
            return _Finding(Kind.INCOMPLETE, f"{sentence}, but not {_quote(', '.join(missing))}.")
        if self._says_exactly_the_expected():
            sentence += ", as expected; other requirements of the profile are not met"
        elif self._case.expected:
            sentence += f", expected {_quote(self._expected)}{self._passage_with_expected()}"
        return _Finding(Kind.OTHER, f"{sentence}.")

    def _says_exactly_the_expected(self) -> bool:
        answer = words(self._answer)
        return bool(answer) and any(answer == words(text) for text in self._case.expected)

    def _find_forbidden_text(self) -> str:
        answer = self._answer.casefold()
        for text in self._case.criteria.must_not_contain:
            if text.casefold() in answer:
                return text
        return ""

    def _missing_texts(self) -> list[str]:
        answer = self._answer.casefold()
        return [text for text in self._case.criteria.must_contain if text.casefold() not in answer]

    def _passage_with_expected(self) -> str:
        """`; passage 3 has it`, where a passage has the expected facts."""
        number = self._find_expected_passage()
        if number is None:
            return ""
        return f"; passage {number} has it"

    def _find_expected_passage(self) -> int | None:
        """The number of the first passage that has the expected facts, from 1."""
        for number, passage in enumerate(self._passages, start=1):
            if self._has_expected_facts(passage):
                return number
        return None

    def _has_expected_facts(self, text: str) -> bool:
        if not self._case.expected:
            return False
        figures = without_question(read_figures(self._expected), read_figures(self._case.question))
        if any(find_passage(figure, [text]) is None for figure in figures):
            return False
        facts = own_words(self._expected, self._case.question)
        if not facts:
            # A bare yes or no: the passage about the question has the answer.
            facts = content_stems(self._case.question)
        return share_of_words(facts, text) >= _HAS_FACTS

    def _find_cause(self, finding: _Finding) -> Cause:
        if finding.kind in _KINDS_WITHOUT_CAUSE:
            return Cause.UNCLEAR
        from_labels = self._find_cause_by_labels()
        if from_labels is not None:
            return from_labels
        if not self._passages:
            return Cause.UNCLEAR
        if not self._case.expected or finding.kind is Kind.SHOULD_REFUSE:
            return self._find_cause_without_expected(finding)
        if self._is_label_wrong(finding):
            return Cause.WRONG_LABEL
        if finding.expected is not None:
            has_fact = find_passage(finding.expected, self._passages) is not None
        elif finding.omitted:
            share = share_of_words(content_stems(finding.omitted), "\n".join(self._passages))
            has_fact = share >= _HAS_FACTS
        else:
            has_fact = self._has_expected_facts("\n".join(self._passages))
        if not has_fact:
            return Cause.NOT_RETRIEVED
        if finding.kind is Kind.UNSUPPORTED:
            return Cause.INVENTED
        return Cause.NOT_USED

    def _find_cause_by_labels(self) -> Cause | None:
        """Labels of relevant documents say where the answer is, or that it is nowhere."""
        labels = self._case.relevant
        if labels is None:
            return None
        relevant = {name for name, grade in labels.items() if grade > 0}
        if not relevant:
            return Cause.NOT_IN_DOCUMENTS
        retrieved = _retrieved_ids(self._response)
        if retrieved and relevant.isdisjoint(retrieved):
            return Cause.NOT_RETRIEVED
        return None

    def _find_cause_without_expected(self, finding: _Finding) -> Cause:
        if finding.kind is Kind.UNSUPPORTED:
            return Cause.INVENTED
        if finding.kind is Kind.SHOULD_REFUSE:
            facts = own_words(self._answer, self._case.question)
            share = share_of_words(facts, "\n".join(self._passages))
            if share >= _HAS_FACTS:
                return Cause.UNCLEAR
            return Cause.INVENTED
        if finding.kind is Kind.CONTRADICTS:
            return Cause.NOT_USED
        return Cause.UNCLEAR

    def _is_label_wrong(self, finding: _Finding) -> bool:
        """The passages support the answer and contradict the expected one."""
        if finding.stated is not None and finding.expected is not None:
            has_stated = find_passage(finding.stated, self._passages) is not None
            has_expected = find_passage(finding.expected, self._passages) is not None
            return has_stated and not has_expected and self._is_supported()
        is_about_question = share_of_words(
            content_stems(self._case.question), "\n".join(self._passages)
        )
        is_contradiction = finding.kind is Kind.CONTRADICTS
        return is_contradiction and is_about_question >= 0.5 and self._is_supported()

    def _is_supported(self) -> bool:
        """Whether the passages support every sentence of the answer, as far as it was measured."""
        for name in ("groundedness", "groundedness:words", "entailment"):
            score = self._scores.get(name)
            if score is not None and score.value is not None:
                return score.value >= 0.5
        return False


def _without_citations(text: str) -> str:
    """The text without marks such as [2], whose numbers are no figures."""
    return CITATION.sub(" ", text)


def _nearest_expected(answer: str, expected: Sequence[str]) -> str:
    """Of several right answers the one that shares most words with the answer."""
    if not expected:
        return ""
    stems = content_stems(answer)
    return max(expected, key=lambda text: len(stems & content_stems(text)))


def _read_entries(score: Score, key: str) -> list[Mapping[str, object]]:
    """The entries under a key in the details of a score.

    Details come from files and from metrics of the user: anything may stand there.
    """
    stored = table_of(score.details).get(key)
    if not is_list(stored):
        return []
    return [entry for entry in stored if is_mapping(entry)]


def _doubt(sentence: Mapping[str, object]) -> float:
    """How sure the metric is that a sentence has no support; 0 without a usable number."""
    probability = sentence.get("probability")
    if not isinstance(probability, int | float) or not 0 <= probability <= 1:
        return 0.0
    return float(probability)


def _describe_check(check: Mapping[str, object]) -> str:
    return _clip(str(check.get("ask") or check.get("name") or "another criterion"))


def _retrieved_ids(response: Response) -> list[str]:
    if response.retrieved is not None:
        return list(response.retrieved)
    return [passage.id for passage in response.passages if passage.id is not None]


def _clip(text: str, longest: int = _LONGEST_QUOTE) -> str:
    line = " ".join(text.split())
    if len(line) <= longest:
        return line
    return f"{line[: longest - 1].rstrip()}…"


def _quote(text: str, longest: int = _LONGEST_QUOTE) -> str:
    return f'"{_clip(text, longest).rstrip(".")}"'


def _shorten(sentence: str) -> str:
    return _clip(sentence, LONGEST_WHY)
