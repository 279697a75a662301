"""Ask the variants of a run's questions, in a second run inside its folder.

The headline figures of the run stay those of the original questions: variants never enter them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from answerkey.errors import SettingsError
from answerkey.files import json_line, json_text, read_as, write_file
from answerkey.llm.chat import Chat
from answerkey.metrics.judge.judged_metrics import load_judge
from answerkey.metrics.plan import make_plan
from answerkey.robustness.gates import (
    VariantGate,
    answer_variant_gates,
    parse_variant_gates,
    split_gates,
)
from answerkey.robustness.measure import VariantFigures, measure_variants
from answerkey.robustness.record import VARIANTS_FILE, VariantsRecord
from answerkey.runs.control import Finished, Options, Selection, Stop, Watch
from answerkey.runs.execute import run_in_memory, run_prepared
from answerkey.runs.prepare import Prepared, prepare, select_cases
from answerkey.runs.records import to_json
from answerkey.runs.resume import AlreadyFinished
from answerkey.runs.store import is_run, read_manifest, read_outcomes
from answerkey.runs.suite import Suite
from answerkey.runs.summary import GateResult
from answerkey.targets.resolve import kind_of
from answerkey.types import Case, Outcome, Response, Score, Target
from answerkey.variants.expand import CONVERSATION, KIND, Expansion, VariantPlan, expand_cases
from answerkey.variants.planted import PLANTED_KINDS
from answerkey.variants.reworded import is_reworded

WRITTEN_FILE = "variant_questions.jsonl"
_FOLDER = "variants"
_CONSISTENCY = "answer_agreement"
# Targets whose passages go through answerkey, so that one can be put among them.
_PLANTING_TARGETS = ("rag",)


@dataclass(frozen=True, slots=True)
class VariantReport:
    """The figures of all kinds, the gates on them, and the cases that have no variant of a kind."""

    figures: dict[str, VariantFigures]
    gates: Sequence[GateResult]
    impossible: dict[str, int]
    conversation_turns: int
    finished: Finished

    @property
    def record(self) -> VariantsRecord:
        return VariantsRecord(
            run=str(self.finished.folder),
            partial=str(self.finished.partial),
            kinds={kind: figures.to_record() for kind, figures in self.figures.items()},
            without_variant=self.impossible,
            conversation_turns_left_out=self.conversation_turns,
            gates=tuple(self.gates),
        )


@dataclass(frozen=True, slots=True)
class VariantRun:
    """The variants of a suite's selected cases, ready to be asked."""

    suite: Suite
    gates: Sequence[VariantGate]
    expansion: Expansion
    conversation_turns: int

    @classmethod
    def of_suite(
        cls, suite: Suite, selection: Selection, *, is_dry: bool = False
    ) -> VariantRun | None:
        """The variants that the suite asks for, checked before the first question; None for none.

        Turns of a conversation are left out: a changed turn would change the turns that follow it.
        """
        cases = (case for _, case in select_cases(suite, selection))
        return cls.of_cases(suite, cases, is_dry=is_dry)

    @classmethod
    def of_cases(
        cls, suite: Suite, cases: Iterable[Case], *, judge: object = None, is_dry: bool = False
    ) -> VariantRun | None:
        """The same for cases that are in memory; `judge` replaces the suite's judge."""
        settings = suite.variants
        gate_texts = split_gates(suite.gate)[1]
        gates = parse_variant_gates(gate_texts, settings.kinds)
        if not settings.kinds:
            return None
        _check_target(suite)
        single: list[Case] = []
        turns = 0
        for case in cases:
            if CONVERSATION in case.extra:
                turns += 1
            else:
                single.append(case)
        chat = None
        if any(map(is_reworded, settings.kinds)) and not is_dry:
            chat = _find_chat(judge or suite.judge, suite.folder)
        plan = VariantPlan(
            settings.kinds,
            settings.per_case,
            settings.seed,
            settings.language,
            suite.folder,
            chat,
            is_dry,
        )
        # Before the first question: a model that cannot write variants is noticed before it costs.
        expansion = expand_cases(single, plan)
        if not expansion.children:
            raise SettingsError("--variants: no selected case has a variant of these kinds")
        return cls(suite, gates, expansion, turns)

    @property
    def suite_of_originals(self) -> Suite:
        """The suite of the run itself: its gates are not those on variants."""
        return replace(self.suite, gate=split_gates(self.suite.gate)[0])

    @property
    def count(self) -> int:
        return len(self.expansion.children)

    @property
    def writing_calls(self) -> int:
        """Calls of the model that writes variants: one to write each, one to check its meaning."""
        written = sum(count for kind, count in self.kinds().items() if is_reworded(kind))
        return 2 * written

    def kinds(self) -> Counter[str]:
        return Counter(str(child.extra[KIND]) for child in self.expansion.children)

    def run(
        self,
        run_folder: Path,
        watch: Watch,
        stop: Stop,
        target: Target | None = None,
        judge: Any = None,
    ) -> VariantReport:
        """Ask the variants, or continue asking them, and compare with the answers of the run."""
        # Without a path, `--resume` of the suite never mistakes the variants for a run of its own.
        suite = replace(self.suite, name=f"{self.suite.name}-variants", gate=(), path=None)
        folder = run_folder / _FOLDER
        self._keep_written_questions(run_folder)
        prepared = prepare(
            suite.writing_to(folder), Selection(), self._read_children, target=target, judge=judge
        )
        with closing(prepared):
            finished = _run_in_folder(prepared, folder, watch, stop)
        originals = read_outcomes(run_folder)
        report = self._report(originals, read_outcomes(finished.folder), finished)
        write_file(run_folder / VARIANTS_FILE, f"{json_text(report.record.to_json())}\n")
        return report

    def _keep_written_questions(self, run_folder: Path) -> None:
        """Store the questions that a model wrote, or use those that are stored.

        A model may write others when the run is resumed, and these would be other cases.
        """
        if not any(map(is_reworded, self.suite.variants.kinds)):
            return
        path = run_folder / WRITTEN_FILE
        if path.is_file():
            lines = path.read_bytes().splitlines()
            self.expansion.children[:] = [read_as(line, Case) for line in lines if line]
            return
        lines = [json_line(to_json(child)).decode() for child in self.expansion.children]
        write_file(path, "\n".join([*lines, ""]))

    def run_in_memory(
        self,
        originals: Iterable[Outcome],
        target: Target | None,
        judge: Any,
        watch: Watch,
        stop: Stop,
    ) -> VariantReport:
        """Ask the variants and compare, without a folder."""
        suite = replace(self.suite, name=f"{self.suite.name}-variants", gate=())
        prepared = prepare(suite, cases=self._read_children, target=target, judge=judge)
        with closing(prepared):
            store, finished = run_in_memory(prepared, watch, stop)
            return self._report(originals, store.outcomes(), finished)

    def _report(
        self, originals: Iterable[Outcome], children: Iterable[Outcome], finished: Finished
    ) -> VariantReport:
        figures = measure_variants(originals, children, score_agreement)
        return VariantReport(
            figures=figures,
            gates=answer_variant_gates(self.gates, figures),
            impossible=dict(self.expansion.impossible),
            conversation_turns=self.conversation_turns,
            finished=finished,
        )

    def _read_children(self) -> Iterator[tuple[int, Case]]:
        return enumerate(self.expansion.children)


def _run_in_folder(prepared: Prepared, folder: Path, watch: Watch, stop: Stop) -> Finished:
    # A run of variants that was begun is continued, also when the originals are finished.
    options = Options(resume=_find_started_run(folder))
    try:
        return run_prepared(prepared, options, watch, stop)
    except AlreadyFinished as already:
        return Finished(already.folder)


def _check_target(suite: Suite) -> None:
    kind = kind_of(suite.target)
    if kind == "recorded":
        raise SettingsError(
            "--variants needs a bot that can be asked, but the suite has recorded answers only; "
            "add a [target]"
        )
    planted = [each for each in suite.variants.kinds if each in PLANTED_KINDS]
    if planted and kind not in _PLANTING_TARGETS:
        raise SettingsError(
            f'the variant "{planted[0]}" puts a passage into the prompt, which answerkey can do for '
            f'bots of its own only: [target] kind = "rag"; this one is "{kind}"'
        )


def _find_chat(judge: object, folder: Path) -> Chat | None:
    """The language model of the judge; None for a judge without one."""
    if judge is None:
        return None
    if hasattr(judge, "rubric"):
        made = judge
    else:
        made = load_judge(judge, None, folder)
    return getattr(made, "chat", None)


def _find_started_run(folder: Path) -> Path | None:
    """The run of variants that was started in this folder, if any."""
    if not folder.is_dir():
        return None
    runs = [path for path in folder.iterdir() if is_run(path)]
    return max(runs, key=lambda run: read_manifest(run).created, default=None)


def score_agreement(pairs: Sequence[tuple[Case, Response]]) -> list[Score]:
    plan = make_plan([_CONSISTENCY], {})
    return [scores[_CONSISTENCY] for scores in plan.score(pairs)]
