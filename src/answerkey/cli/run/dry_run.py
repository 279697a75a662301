"""`--dry-run`: checks a suite and estimates its cost, without asking anything."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import closing
from dataclasses import dataclass

from answerkey.cli.output import done, print_json, say, show
from answerkey.coerce.values import is_number, table_of
from answerkey.errors import EXIT_OK
from answerkey.robustness.run import VariantRun
from answerkey.runs.control import Options
from answerkey.runs.prepare import Prepared, prepare
from answerkey.runs.suite import Suite
from answerkey.targets.recorded import Recorded
from answerkey.targets.resolve import check_target, kind_of
from answerkey.text import format_count

_CHARACTERS_PER_TOKEN = 4  # English text; an estimate
_PROMPT_TOKENS = 600  # a judge's instructions and reply, roughly
_PASSAGE_CHARACTERS = 800  # the passages of one case, roughly
_WRITING_TOKENS = 120  # instructions, a question and its variant, roughly
_QUESTIONS_SHOWN = 10


@dataclass(frozen=True, slots=True)
class _CaseSample:
    """The first questions, and the length of what a judge would read of all cases."""

    first: list[dict[str, str]]
    characters: int


@dataclass(frozen=True, slots=True)
class _Estimate:
    """The calls and tokens of the judge and of the model that writes variants, and their cost."""

    judge_calls: int
    judge_tokens: int
    variant_calls: int
    variant_tokens: int
    writing_calls: int
    writing_tokens: int
    cost: float | None  # None where the suite names no price

    def as_json(self) -> dict[str, object]:
        return {
            "judge_calls": self.judge_calls,
            "judge_tokens_estimate": self.judge_tokens,
            "variant_judge_calls": self.variant_calls,
            "variant_judge_tokens_estimate": self.variant_tokens,
            "variant_writing_calls": self.writing_calls,
            "variant_writing_tokens_estimate": self.writing_tokens,
            "judge_cost_estimate": self.cost,
        }


def dry_run(suite: Suite, settings: Options, variants: VariantRun | None, *, as_json: bool) -> int:
    """Check everything and print what would be asked and what it might cost; ask and write nothing."""
    check_target(suite.target, suite.folder)
    # The bot is not even imported.
    with closing(prepare(suite, settings.selection, target=Recorded())) as prepared:
        sample = _sample_cases(prepared)
    estimate = _estimate(prepared, sample.characters, variants)
    for warning in prepared.warnings:
        say(f"warning: {warning}")
    if as_json:
        print_json(_plan_as_json(prepared, sample, estimate, variants))
        return EXIT_OK
    _show_questions(prepared, variants)
    show(f"metrics: {', '.join(prepared.scorer.plan.names)}")
    _show_estimate(estimate)
    _show_first(sample.first, prepared.count)
    done("dry run, nothing was asked")
    return EXIT_OK


def _sample_cases(prepared: Prepared) -> _CaseSample:
    first: list[dict[str, str]] = []
    characters = 0
    for _, case in prepared.cases():
        if len(first) < _QUESTIONS_SHOWN:
            first.append({"id": case.id, "question": case.question})
        characters += len(case.question) + sum(map(len, case.expected)) + _PASSAGE_CHARACTERS
    return _CaseSample(first, characters)


def _estimate(prepared: Prepared, characters: int, variants: VariantRun | None) -> _Estimate:
    calls = _count_calls_per_answer(prepared)
    times = prepared.repeats.times
    case_tokens = characters // _CHARACTERS_PER_TOKEN + prepared.count * _PROMPT_TOKENS
    judge_tokens = times * calls * case_tokens
    variant_count = 0 if variants is None else variants.count
    # A variant is as long as its question, roughly.
    variant_tokens = round(judge_tokens * variant_count / prepared.count)
    writing_calls = 0 if variants is None else variants.writing_calls
    writing_tokens = writing_calls * _WRITING_TOKENS
    return _Estimate(
        judge_calls=calls * prepared.answers,
        judge_tokens=judge_tokens,
        variant_calls=calls * times * variant_count,
        variant_tokens=variant_tokens,
        writing_calls=writing_calls,
        writing_tokens=writing_tokens,
        cost=_estimate_cost(prepared.suite.judge, judge_tokens + variant_tokens + writing_tokens),
    )


def _count_calls_per_answer(prepared: Prepared) -> int:
    """The calls of the judge for one answer; the local judge makes none."""
    if not prepared.scorer.asks_network:
        return 0
    names = prepared.scorer.plan.names
    # One call of the rubric gives all its metrics.
    rubric_calls = int(any(name.startswith("rubric.") for name in names))
    return rubric_calls + sum(name.startswith("judge.") for name in names)


def _estimate_cost(judge: object, tokens: int) -> float | None:
    """The cost of so many prompt tokens; None where the suite names no price."""
    price = table_of(judge).get("price_in")
    if not tokens or not is_number(price):
        return None
    return tokens * price / 1_000_000


def _plan_as_json(
    prepared: Prepared, sample: _CaseSample, estimate: _Estimate, variants: VariantRun | None
) -> dict[str, object]:
    return {
        "cases": prepared.count,
        "target": kind_of(prepared.suite.target),
        "workers": prepared.suite.run.workers,
        "first": sample.first,
        "variants": 0 if variants is None else variants.count,
        "metrics": list(prepared.scorer.plan.names),
        "profile": prepared.profile.name if prepared.profile else None,
        **estimate.as_json(),
    }


def _show_questions(prepared: Prepared, variants: VariantRun | None) -> None:
    """Print how many questions would be asked, and of which target."""
    suite = prepared.suite
    often = ""
    if prepared.repeats.times > 1:
        often = f", {prepared.repeats.times} times each,"
    show(
        f"{format_count(prepared.count, 'case')} would be sent{often} to the "
        f"{kind_of(suite.target)} target, {suite.run.workers} at a time"
    )
    if variants is None:
        return
    show(f"then their variants: {format_count(variants.count, 'question')}{often.rstrip(',')}")
    for kind, count in variants.kinds().items():
        show(f"  {kind}: {count}")


def _show_estimate(estimate: _Estimate) -> None:
    calls = format_count(estimate.judge_calls, "call")
    show(f"judge: {calls}, about {estimate.judge_tokens:,} tokens")
    if estimate.variant_calls:
        calls = format_count(estimate.variant_calls, "call")
        show(f"judge for the variants: {calls}, about {estimate.variant_tokens:,} tokens")
    if estimate.writing_calls:
        calls = format_count(estimate.writing_calls, "call")
        tokens = f"{estimate.writing_tokens:,}"
        show(f"model that writes and checks variants: {calls}, about {tokens} tokens")
    if estimate.cost is not None:
        cost = f"{estimate.cost:.2g}"
        show(f"cost of the judge: about {cost}; that of the target is not known beforehand")


def _show_first(first: Sequence[dict[str, str]], count: int) -> None:
    for case in first:
        show(f"  {case['id']}: {' '.join(case['question'].split())[:100]}")
    if count > len(first):
        show(f"  … and {count - len(first)} more")
