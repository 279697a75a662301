"""`--dry-run`: what would be asked, and what it might cost; nothing is asked or written."""

from __future__ import annotations

from contextlib import closing

from answerkey.cli.shared import print_json, say, show
from answerkey.errors import EXIT_OK
from answerkey.runs.control import Options
from answerkey.runs.prepare import prepare
from answerkey.runs.suite import Suite
from answerkey.text import counted
from answerkey.types import Json

_CHARACTERS_A_TOKEN = 4  # English text; an estimate, and called one
_PROMPT_TOKENS = 600  # a judge's instructions and reply, about


def dry_run(suite: Suite, options: Options, *, as_json: bool) -> int:
    with closing(prepare(suite, options.selection)) as prepared:
        asked, characters = list[tuple[str, str]](), 0
        for _, case in prepared.cases():
            if len(asked) < 10:
                asked.append((case.id, case.question))
            characters += len(case.question) + sum(len(text) for text in case.expected) + 800
        judged = {name.partition(".")[0] for name in prepared.tools.plan.names if name.startswith("rubric.")}
        calls = len(judged) + sum(name.startswith("judge.") for name in prepared.tools.plan.names)
        judges = calls and not prepared.tools.judge.startswith("local")
        tokens = (
            calls * (characters // _CHARACTERS_A_TOKEN + prepared.count * _PROMPT_TOKENS) if judges else 0
        )
        plan: Json = {
            "cases": prepared.count,
            "target": suite.target.get("kind", "recorded"),
            "workers": suite.run.workers,
            "metrics": list(prepared.tools.plan.names),
            "profile": prepared.profile.name if prepared.profile else None,
            "judge_calls": calls * prepared.count if judges else 0,
            "judge_tokens_estimate": tokens,
            "first": [{"id": key, "question": question} for key, question in asked],
        }
    for warning in prepared.warnings:
        say(f"warning: {warning}")
    if as_json:
        print_json(plan)
        return EXIT_OK
    show(
        f"{counted(plan['cases'], 'case')} would be asked of the {plan['target']} target, {plan['workers']} at once"
    )
    show(f"scored by {', '.join(plan['metrics'])}")
    show(f"judge: {counted(plan['judge_calls'], 'call')}, about {plan['judge_tokens_estimate']:,} tokens")
    for key, question in asked:
        show(f"  {key}: {' '.join(question.split())[:100]}")
    if prepared.count > len(asked):
        show(f"  … and {prepared.count - len(asked)} more")
    return EXIT_OK
