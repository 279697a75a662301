"""One case, asked and scored outside any run: for looking into a failure."""

from __future__ import annotations

from contextlib import closing
from dataclasses import replace

from answerkey.runs.execute import verdict_of
from answerkey.runs.options import Selection
from answerkey.runs.prepare import prepare, selected
from answerkey.runs.suite import Suite
from answerkey.targets.recorded import Recorded
from answerkey.types import Case, Outcome, Question


def ask_once(suite: Suite, case: Case) -> Outcome:
    with closing(prepare(suite, Selection(), lambda: iter([(0, case)]), new=False)) as prepared:
        target = prepared.target
        if isinstance(target, Recorded):
            found = next(
                (c for _, c in selected(suite, Selection()) if c.id == case.id), replace(case, recorded=None)
            )
            response = target.lookup(found)
        else:
            response = target.ask(Question(case.id, case.question, case.history))
        scores = prepared.tools.plan.score([(case, response)])[0]
        return Outcome(case, response, scores, verdict_of(prepared.profile, case, response, scores))
