"""`--dry-run`: checks a suite and estimates its cost, without asking anything."""

from __future__ import annotations

from contextlib import closing

from answerkey.cli.output import done, print_json, say, show
from answerkey.coerce.values import is_number, table_of
from answerkey.errors import EXIT_OK
from answerkey.robustness.run import VariantRun
from answerkey.runs.control import Options
from answerkey.runs.prepare import prepare
from answerkey.runs.suite import Suite
from answerkey.targets.recorded import Recorded
from answerkey.targets.resolve import check_target
from answerkey.text import format_count

_CHARACTERS_PER_TOKEN = 4  # English text; an estimate
_PROMPT_TOKENS = 600  # a judge's instructions and reply, roughly
_PASSAGE_CHARACTERS = 800  # the passages of one case, roughly
_WRITING_TOKENS = 120  # instructions, a question and its variant, roughly
_QUESTIONS_SHOWN = 10


def _estimate_cost(judge: object, tokens: int) -> float | None:
    """The cost of so many prompt tokens; None where the suite names no price."""
    price = table_of(judge).get("price_in")
    if not tokens or not is_number(price):
        return None
    return tokens * price / 1_000_000


def dry_run(suite: Suite, settings: Options, variants: VariantRun | None, *, as_json: bool) -> int:
    """Check everything and print what would be asked and what it might cost; ask and write nothing."""
    check_target(suite.target, suite.folder)
    first: list[dict[str, str]] = []
    characters = 0
    target = suite.target.get("kind", "recorded")
    # The bot is not even imported.
    with closing(prepare(suite, settings.selection, target=Recorded())) as prepared:
        for _, case in prepared.cases():
            if len(first) < _QUESTIONS_SHOWN:
                first.append({"id": case.id, "question": case.question})
            characters += len(case.question) + sum(map(len, case.expected)) + _PASSAGE_CHARACTERS
    names = prepared.scorer.plan.names
    times = prepared.repeats.times
    # One call of the rubric gives all its metrics.
    calls = any(name.startswith("rubric.") for name in names) + sum(
        name.startswith("judge.") for name in names
    )
    # The local judge makes no calls.
    if not prepared.scorer.asks_network:
        calls = 0
    tokens = times * calls * (characters // _CHARACTERS_PER_TOKEN + prepared.count * _PROMPT_TOKENS)
    variant_count = 0 if variants is None else variants.count
    # A variant is as long as its question, roughly.
    variant_tokens = round(tokens * variant_count / prepared.count)
    writing_calls = 0 if variants is None else variants.writing_calls
    writing_tokens = writing_calls * _WRITING_TOKENS
    cost = _estimate_cost(suite.judge, tokens + variant_tokens + writing_tokens)
    for warning in prepared.warnings:
        say(f"warning: {warning}")
    if as_json:
        if prepared.profile:
            profile = prepared.profile.name
        else:
            profile = None
        questions = {
            "cases": prepared.count,
            "target": target,
            "workers": suite.run.workers,
            "first": first,
            "variants": variant_count,
        }
        judged = {
            "judge_calls": calls * prepared.answers,
            "judge_tokens_estimate": tokens,
            "variant_judge_calls": calls * times * variant_count,
            "variant_judge_tokens_estimate": variant_tokens,
            "variant_writing_calls": writing_calls,
            "variant_writing_tokens_estimate": writing_tokens,
            "judge_cost_estimate": cost,
        }
        print_json({**questions, "metrics": list(names), "profile": profile, **judged})
        return EXIT_OK
    if times > 1:
        often = f", {times} times each,"
    else:
        often = ""
    show(
        f"{format_count(prepared.count, 'case')} would be sent{often} to the {target} target, {suite.run.workers} at a time"
    )
    if variants is not None:
        show(f"then their variants: {format_count(variants.count, 'question')}{often.rstrip(',')}")
        for kind, count in variants.kinds().items():
            show(f"  {kind}: {count}")
    show(f"metrics: {', '.join(names)}")
    show(f"judge: {format_count(calls * prepared.answers, 'call')}, about {tokens:,} tokens")
    if variant_count and calls:
        more = format_count(calls * times * variant_count, "call")
        show(f"judge for the variants: {more}, about {variant_tokens:,} tokens")
    if writing_calls:
        more = format_count(writing_calls, "call")
        show(f"model that writes and checks variants: {more}, about {writing_tokens:,} tokens")
    if cost is not None:
        show(f"cost of the judge: about {cost:.2g}; that of the target is not known beforehand")
    for case in first:
        show(f"  {case['id']}: {' '.join(case['question'].split())[:100]}")
    if prepared.count > len(first):
        show(f"  … and {prepared.count - len(first)} more")
    done("dry run, nothing was asked")
    return EXIT_OK
