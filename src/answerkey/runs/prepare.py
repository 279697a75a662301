"""Before the first question: everything loaded and checked, the cases counted, the fingerprint taken."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from functools import partial
from itertools import islice
from typing import Any

from answerkey.cases import load_cases, read_responses
from answerkey.errors import InputError
from answerkey.profiles import load_profile
from answerkey.profiles.load import profile_table
from answerkey.runs.control import Selection
from answerkey.runs.gates import Seen, check_gates, parse_gates
from answerkey.runs.records import SetDigest, add_case, of_metrics, of_value
from answerkey.runs.score import Tools, make_tools
from answerkey.runs.suite import Suite
from answerkey.targets.resolve import kind_of, make_target
from answerkey.types import Case, Json, Profile, Target

_WITHOUT_ROUTES = ("rag", "faq", "full-context")
_SECRET = ("key", "token", "secret", "password", "authorization", "cookie")


CaseSource = Callable[[], Iterator[tuple[int, Case]]]


@dataclass(frozen=True, slots=True)
class Prepared:
    """`cases` streams the selected cases, each with its position, anew at every call."""

    suite: Suite
    selection: Selection
    profile: Profile | None
    tools: Tools
    target: Target
    cases: CaseSource
    count: int
    fingerprint: dict[str, str]
    warnings: tuple[str, ...] = ()

    def close(self) -> None:
        self.target.close()
        self.tools.close()


def prepare(
    suite: Suite, selection: Selection, cases: CaseSource | None = None, *, new: bool = True
) -> Prepared:
    """Everything that can be wrong with a suite is found here, and nothing has been written yet.

    `cases` stands in for the suite's files. Unless it is `new` the gates are those of an earlier run, and may ask for
    figures that only that one had: they are left to fail.
    """
    source = cases or partial(selected, suite, selection)
    gates = parse_gates(suite.gate)
    profile = None if suite.profile is None else load_profile(suite.profile, suite.folder)
    digest, count = SetDigest(), 0
    seen = Seen(whole=selection.whole, open=_may_report_any_route(suite))
    for _, case in source():
        add_case(digest, case)
        seen.add(case)
        count += 1
    if count == 0:
        raise InputError(
            f"no case of {' '.join(suite.cases)} is selected; check --only, --file and --collection"
        )
    tools = make_tools(suite, profile)
    try:
        warnings = check_gates(gates, seen, tools.plan.names, profile) if new else ()
        target = make_target(suite.target, suite.folder, read_responses, suite.run.timeout)
    except BaseException:
        tools.close()
        raise
    fingerprint = {
        "cases": digest.text(),
        "profile": profile.digest if profile else "none",
        "metrics": of_metrics(tools.plan.names),
        "judge": tools.judge,
        "embedding": tools.embedding,
        "settings": of_value({"target": without_secrets(suite.target), "settings": suite.settings}),
    }
    return Prepared(suite, selection, profile, tools, target, source, count, fingerprint, warnings)


def selected(suite: Suite, selection: Selection) -> Iterator[tuple[int, Case]]:
    wanted = ((n, c) for n, c in enumerate(load_cases(suite.cases, suite.folder)) if selection.wants(c))
    return islice(wanted, selection.limit)


def _may_report_any_route(suite: Suite) -> bool:
    """Whether the target may report a route that cannot be known before it is asked, or its file is read."""
    kind = kind_of(suite.target)
    return "answers" in suite.target if kind == "recorded" else kind not in _WITHOUT_ROUTES


def manifest_of(prepared: Prepared, created: str) -> Json:
    """run.json: what made the run; enough to resume, rescore and read it from its folder alone."""
    suite, profile = prepared.suite, prepared.profile
    return {
        "format": 1,
        "name": suite.name,
        "created": created,
        "suite": str(suite.path.resolve()) if suite.path else None,
        "profile": profile_table(suite.profile, suite.folder)[0] if suite.profile is not None else None,
        "profile_version": profile.version if profile else None,
        "profile_digest": profile.digest if profile else None,
        "fingerprint": prepared.fingerprint,
        "notes": list(prepared.tools.notes),
        "metrics": list(prepared.tools.plan.names),
        "gate": list(suite.gate),
        "settings": {
            "cases": list(suite.cases),
            "target": without_secrets(suite.target) or {"kind": "recorded"},
            "judge": without_secrets(suite.judge),
            "embedding": without_secrets(suite.embedding),
            "run": asdict(suite.run),
            "selection": asdict(prepared.selection),
        },
        "count": prepared.count,
        "partial": "in progress",
        "changes": [],
    }


def without_secrets(value: Any, key: str = "") -> Any:
    """The same settings, with the values of anything that may be a key left out; names of variables stay."""
    if isinstance(value, dict):
        return {name: without_secrets(item, str(name)) for name, item in value.items()}
    if isinstance(value, list):
        return [without_secrets(item, key) for item in value]
    hidden = (
        isinstance(value, str) and any(word in key.lower() for word in _SECRET) and not key.endswith("_env")
    )
    return "(hidden)" if hidden and not value.startswith("${") else value
