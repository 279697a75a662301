"""The data types of the package, all frozen (docs/glossary.md).

Case ─► Target ─► Response ─► Score ─► Verdict ─► Outcome ─► Run
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from importlib import import_module
from typing import Annotated, Any, Literal, Protocol

import msgspec

Json = dict[str, Any]
ErrorKind = Literal["", "infrastructure", "content"]

# The largest score, grade or time: its square must be a float, too.
LARGEST = 1e100
# The limits are checked where stored outcomes are read.
Number = Annotated[float, msgspec.Meta(ge=-LARGEST, le=LARGEST)]


class Status(StrEnum):
    """The verdict of a case in one word.

    SCORED: measured without a profile, so nothing passes or fails.
    UNSCORED: no metric that can find a wrong answer was applicable.
    """

    PERFECT = "PERFECT"
    ACCEPTABLE = "ACCEPTABLE"
    PASSED = "PASSED"
    FAILED = "FAILED"
    ERROR = "ERROR"
    SCORED = "SCORED"
    UNSCORED = "UNSCORED"


class Evidence(StrEnum):
    """Whether a good value of a metric shows that an answer is right.

    LABELLED: only where the case says what is expected.
    """

    ALWAYS = "always"
    LABELLED = "labelled"
    NEVER = "never"


class Kind(StrEnum):
    """How an answer fails, in words for reports (docs/how-to/failures.md)."""

    WRONG_FIGURE = "wrong figure"
    WRONG_NAME = "wrong name"
    CONTRADICTS = "contradicts"
    INCOMPLETE = "incomplete"
    UNSUPPORTED = "unsupported"
    REFUSED = "refused"
    SHOULD_REFUSE = "should refuse"
    OFF_TOPIC = "off topic"
    NO_ANSWER = "no answer"
    WRONG_ROUTE = "wrong route"
    BAD_FORMAT = "bad format"
    WRONG_TOOL = "wrong tool"
    WRONG_ARGUMENT = "wrong argument"
    FORBIDDEN_TOOL = "forbidden tool"
    LEAK = "leak"
    ASKED_AGAIN = "asked again"
    OTHER = "other"


class Cause(StrEnum):
    """The cause of a failure, as far as passages and labels show it."""

    NOT_RETRIEVED = "not retrieved"
    NOT_IN_DOCUMENTS = "not in documents"
    NOT_USED = "not used"
    INVENTED = "invented"
    WRONG_LABEL = "wrong label"
    UNCLEAR = "unclear"


@dataclass(frozen=True, slots=True)
class ToolCall:
    """One call of a tool: its name, its arguments, and its result or its error.

    `calls` are the calls that a sub-agent made when this call handed work to it. Calls of one
    `step` were made in parallel. Arguments that are a plain text have the name "input".
    """

    name: str
    arguments: Mapping[str, object] = field(default_factory=dict[str, object])
    result: object = None
    error: str | None = None
    seconds: Number | None = None
    calls: tuple[ToolCall, ...] = ()
    step: int | None = None


@dataclass(frozen=True, slots=True)
class ExpectedCall:
    """A call that a case expects. The name "*" stands for any tool.

    `arguments` is None where any arguments are right. A value "*" matches any value of that
    argument; an argument "*" allows arguments that are not named.
    """

    name: str
    arguments: Mapping[str, object] | None = None


@dataclass(frozen=True, slots=True)
class ExpectedCalls:
    """One right list of calls, in order; empty where no tool should be called."""

    calls: tuple[ExpectedCall, ...] = ()


@dataclass(frozen=True, slots=True)
class Turn:
    """One exchange of a conversation, with the tools that were called for the answer."""

    user: str
    answer: str = ""
    # Arguments are a dict, which has no hash.
    tools: tuple[ToolCall, ...] = field(default=(), hash=False)


@dataclass(frozen=True, slots=True)
class AnswerCriteria:
    """The requirements of a case on a good answer, besides the expected text."""

    must_contain: tuple[str, ...] = ()
    must_contain_any: tuple[str, ...] = ()
    must_not_contain: tuple[str, ...] = ()
    acceptable_if_includes: tuple[str, ...] = ()
    min_semantic_similarity: Number | None = None
    numerical_range: tuple[Number, Number] | None = None
    expected_value: Number | None = None
    regex: str | None = None
    clarification_expected: bool = False
    out_of_scope: bool = False


@dataclass(frozen=True, slots=True)
class Requirement:
    """One criterion in words, of a suite or of a case; `kind` is "pass", "0-5", or a check without a judge.

    `value` are the texts that a check such as `contains` compares with. A requirement with a `threshold` is met from
    that share of its scale upwards; `negated` turns the result of a check around.
    """

    ask: str
    name: str = ""
    kind: str = "pass"
    value: tuple[str, ...] = ()
    threshold: Number | None = None
    weight: Number = 1.0
    negated: bool = False

    @property
    def judged(self) -> bool:
        return self.kind in ("pass", "0-5")

    @property
    def highest(self) -> float:
        return 5.0 if self.kind == "0-5" else 1.0


@dataclass(frozen=True, slots=True)
class Passage:
    """One piece of text that the target retrieved; `page` and `id` are text, stripped."""

    text: str = ""
    id: str | None = None
    score: Number | None = None
    page: str | None = None
    document: str | None = None


@dataclass(frozen=True, slots=True)
class Response:
    """The reply of the target. `answer` is None where there is no answer at all; `error` says why.

    `error_kind` is "infrastructure" (nobody answered) or "content" (an unusable answer); `error_name` is the same for
    the same cause, whatever the details. `retrieved` is the ranking of page or document ids, best first, where the
    target reports one. Unknown tokens, cost and seconds are None, never 0. `tools` are the calls in
    the order in which they were made; None where the target does not report calls. `turns` is the
    whole conversation, where the response is one.
    """

    answer: str | None = None
    passages: tuple[Passage, ...] = ()
    route: str | None = None
    sources: tuple[str, ...] = ()
    retrieved: tuple[str, ...] | None = None
    seconds: Number | None = None
    prompt_tokens: int | None = None
    completion_tokens: int | None = None
    cost: Number | None = None
    error: str | None = None
    extra: Mapping[str, object] = field(default_factory=dict[str, object])
    error_kind: ErrorKind = ""
    error_name: str = ""
    tools: tuple[ToolCall, ...] | None = None
    turns: tuple[Turn, ...] = ()

    @property
    def contexts(self) -> tuple[str, ...]:
        return tuple(passage.text for passage in self.passages)


@dataclass(frozen=True, slots=True)
class Case:
    """One question, and what is known about a good answer to it. Any of `expected` is right.

    `criteria` are the checks of the column `answer_criteria`, `requirements` those of the column `criteria`.
    `criteria_threshold` is the share of the requirements from which the metric `criteria` is 1: all of them without it.
    `min_score` is the case's own pass mark on the overall score, on top of the profile's.
    Any of `expected_tools` is a right list of calls; `forbidden` are sources that this user must not see.
    `written` are the names that columns have in the user's data, where they are not ours.
    """

    id: str
    question: str
    expected: tuple[str, ...] = ()
    type: str | None = None
    expected_route: str | None = None
    acceptable_routes: tuple[str, ...] = ()
    relevant: Mapping[str, Number] | None = None
    criteria: AnswerCriteria = AnswerCriteria()
    requirements: tuple[Requirement, ...] = ()
    criteria_threshold: float | None = None
    history: tuple[Turn, ...] = ()
    priority: str | None = None
    note: str | None = None
    tags: tuple[str, ...] = ()
    source_file: str | None = None
    question_num: int | None = None
    recorded: Response | None = None
    min_score: Number | None = None
    extra: Mapping[str, object] = field(default_factory=dict[str, object])
    expected_tools: tuple[ExpectedCalls, ...] | None = None
    forbidden_tools: tuple[str, ...] = ()
    max_calls: int | None = None
    forbidden: tuple[Passage, ...] = ()
    written: Mapping[str, str] = field(default_factory=dict[str, str], compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Question:
    """All that a target is shown of a case: the expected answer can't leak.

    `planted` is a passage that a bot over documents puts among those it retrieves, to see whether
    it follows an instruction or is distracted by a fact (docs/how-to/variants.md). `files` are the
    paths or addresses of images and other files that belong to the question.
    """

    id: str
    text: str
    history: tuple[Turn, ...] = ()
    planted: Passage | None = None
    files: tuple[str, ...] = ()

    @property
    def image(self) -> str | None:
        """The first file, for bots that take one image."""
        return self.files[0] if self.files else None


class Target(Protocol):
    """The system under test. `ask` may be called from several threads at once."""

    def ask(self, question: Question) -> Response: ...

    def close(self) -> None: ...


class Score(msgspec.Struct, frozen=True, omit_defaults=True):
    """A value; or "not applicable" (no value, no error); or an error with its reason.

    `msgspec.structs.replace(score, value=1.0)` makes a changed copy.
    """

    # A struct, not a dataclass: there are more scores than anything else in a run, and a struct
    # is made in a tenth of the time.

    value: Number | None = None
    reason: str = ""
    error: str | None = None
    details: Mapping[str, Any] = {}

    @staticmethod
    def not_applicable(reason: str) -> Score:
        return Score(reason=reason)

    @staticmethod
    def failed(error: str, **details: object) -> Score:
        return Score(error=error or "unknown error", details=details)

    @property
    def applies(self) -> bool:
        return self.value is not None or self.error is not None


Pair = tuple[Case, Response]
Better = Literal["higher", "lower", "neither"]


@dataclass(frozen=True, slots=True)
class ProfileLine:
    """One line of a profile: a metric, its weight, and the floor below which its reading is shown.

    For a metric where lower is better the floor is a ceiling. Below the floor of a `required`
    criterion the case fails, whatever the rest; without a floor it fails where the metric is not
    applicable.
    """

    metric: str
    weight: float = 1.0
    maximum: float = 1.0
    floor: float | None = None
    required: bool = False
    better: Better = "higher"
    reading: str = ""
    evidence: Evidence = Evidence.ALWAYS


@dataclass(frozen=True, slots=True)
class Band:
    """`name` and its status from `at` upwards, on the profile's scale; some need the preferred route too."""

    name: str
    at: float
    status: str
    needs_route: bool = False


@dataclass(frozen=True, slots=True)
class ScoringRules:
    """The criteria, the pass mark and the bands (highest first) that count on one group of routes."""

    lines: tuple[ProfileLine, ...]
    pass_mark: float
    bands: tuple[Band, ...]


@dataclass(frozen=True, slots=True)
class Profile:
    """The scoring rules of a run: one set for most routes, others for the groups of routes that need their own."""

    name: str
    version: int
    rules: ScoringRules
    group_rules: Mapping[str, ScoringRules] = field(default_factory=dict[str, ScoringRules])
    routes: Mapping[str, tuple[str, ...]] = field(default_factory=dict[str, tuple[str, ...]])
    scale: float = 1.0
    route_weight: float = 0.0
    informational: tuple[str, ...] = ()
    settings: Mapping[str, Mapping[str, object]] = field(
        default_factory=dict[str, Mapping[str, object]]
    )
    words: Mapping[str, tuple[str, ...]] = field(default_factory=dict[str, tuple[str, ...]])
    summary: str = ""
    digest: str = ""

    def rules_for(self, route: str | None) -> ScoringRules:
        for group, names in self.routes.items():
            if route in names and group in self.group_rules:
                return self.group_rules[group]
        return self.rules

    @property
    def all_rules(self) -> tuple[ScoringRules, ...]:
        return (self.rules, *self.group_rules.values())

    @property
    def lines(self) -> list[ProfileLine]:
        """The lines of all routes."""
        return [criterion for rules in self.all_rules for criterion in rules.lines]

    @property
    def metrics(self) -> tuple[str, ...]:
        """Every metric the profile needs, on any route, with the informational ones."""
        route = ["route_score"] if self.route_weight else []
        return tuple(dict.fromkeys([*(c.metric for c in self.lines), *route, *self.informational]))


@dataclass(frozen=True, slots=True)
class Part:
    """How much one criterion contributed to the verdict: value / maximum · weight / sum of weights."""

    metric: str
    value: Number
    maximum: Number
    weight: Number
    points: Number


@dataclass(frozen=True, slots=True)
class Verdict:
    """The result of a profile for one case.

    `score` is None exactly when the status is ERROR, SCORED or UNSCORED. `why` is one sentence
    for every case that did not pass. `kind` and `cause` are those of a failed answer (`Kind`,
    `Cause`); both are empty for a case that passed or was not decided.
    """

    status: str
    score: Number | None = None
    quality: Number | None = None
    route_score: Number | None = None
    band: str = ""
    justification: str = ""
    shortfalls: tuple[str, ...] = ()
    parts: tuple[Part, ...] = ()
    passed: bool = False
    why: str = ""
    kind: str = ""
    cause: str = ""


@dataclass(frozen=True, slots=True)
class Outcome:
    """One case of a run: what was asked, answered, measured and decided.

    With repeats, `attempts` has an outcome per answer; scores are their means, the verdict is by the number that passed.
    """

    case: Case
    response: Response
    scores: Mapping[str, Score]
    verdict: Verdict
    attempts: tuple[Outcome, ...] = ()

    def __repr__(self) -> str:
        """One line for notebooks and assertion messages: the id, the verdict, and why or what was answered.

        >>> Outcome(Case("q1", "Open?"), Response("Yes."), {}, Verdict("FAILED", 0.2, shortfalls=("recall 0.2 < 0.5",)))
        <Outcome q1: FAILED 0.20, recall 0.2 < 0.5>
        """
        if self.verdict.score is None:
            score = ""
        else:
            score = f" {self.verdict.score:.2f}"
        why = (
            self.verdict.why
            or "; ".join(self.verdict.shortfalls)
            or self.response.error
            or repr((self.response.answer or "")[:60])
        )
        return f"<Outcome {self.case.id}: {self.verdict.status}{score}, {why}>"

    def _repr_html_(self) -> str:
        """The case as a card in a notebook."""
        # The card is drawn in a package above this one, and only when a notebook asks for it.
        return import_module("answerkey.reports.card").case_card(self)
