"""A suite with several targets or prompts: each combination is a suite of its own.

    [[targets]]
    name = "large"
    openai = "groq"

    [[targets]]
    name = "small"
    openai = "ollama"

    [[prompts]]
    name = "short"
    system = "Answer in one sentence."

gives the runs `support-large-short` and `support-small-short` of the suite `support`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from answerkey.config.declare import TomlTable
from answerkey.errors import SettingsError
from answerkey.runs.suite import Suite, folder_name

# The settings that a prompt may set: a chat endpoint has a system message, full-context a template.
_PROMPT_SETTINGS = ("system", "template")


def combine_targets(suite: Suite) -> list[Suite]:
    """One suite per target and prompt; the suite itself where it has one of each."""
    if not suite.targets and not suite.prompts:
        return [suite]
    if suite.target and suite.targets:
        raise SettingsError("the suite has [target] and [[targets]]; keep one of them")
    _check_names("targets", suite.targets)
    _check_names("prompts", suite.prompts)
    targets: Sequence[TomlTable] = suite.targets or (suite.target,)
    prompts: Sequence[TomlTable] = suite.prompts or ({},)
    return [_with_target(suite, target, prompt) for target in targets for prompt in prompts]


def _check_names(table: str, entries: Sequence[TomlTable]) -> None:
    names = [str(entry.get("name", "")) for entry in entries]
    for place, name in enumerate(names, start=1):
        if not name.strip():
            raise SettingsError(f"[[{table}]] number {place} needs a name")
    repeated = sorted({name for name in names if names.count(name) > 1})
    if repeated:
        raise SettingsError(f'[[{table}]]: the name "{repeated[0]}" comes twice; names are unique')


def _with_target(suite: Suite, target: TomlTable, prompt: TomlTable) -> Suite:
    unknown = [key for key in prompt if key not in ("name", *_PROMPT_SETTINGS)]
    if unknown:
        raise SettingsError(
            f'[[prompts]] has no setting "{unknown[0]}"; it has name, {", ".join(_PROMPT_SETTINGS)}'
        )
    names = [str(table["name"]) for table in (target, prompt) if table.get("name")]
    changed = {key: value for key, value in prompt.items() if key != "name"}
    return replace(
        suite,
        # The names go into the folder's name, so that each combination has its own run.
        name=folder_name("-".join([suite.name, *names])),
        target={**target, **changed, "name": ", ".join(names)},
        targets=(),
        prompts=(),
    )
