"""Human labels of a run: read, added, and compared between people."""

from __future__ import annotations

import json
import math
import os
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import combinations
from pathlib import Path
from typing import Any

from answerkey.coerce.tables import read_table_rows
from answerkey.errors import InputError, StorageError
from answerkey.runs.store import read_outcomes
from answerkey.types import Case

LABELS_FILE = "labels.jsonl"
DECISION = "decision"  # the name under which a disagreement is settled
LONGEST_NOTE = 5000
LONGEST_NAME = 60
_WORDS = {
    **dict.fromkeys(
        ("yes", "true", "pass", "passed", "good", "correct", "right", "supported"), 1.0
    ),
    **dict.fromkeys(
        ("no", "false", "fail", "failed", "bad", "incorrect", "wrong", "unsupported"), 0.0
    ),
}


@dataclass(frozen=True, slots=True)
class CaseLabel:
    """The label of one person for one case; `label` is None where it was withdrawn."""

    id: str
    label: float | None
    note: str = ""
    by: str = ""
    at: str = ""


@dataclass(frozen=True, slots=True)
class PairAgreement:
    """Cohen's κ of two people over the cases that both labelled; None where it is undefined."""

    a: str
    b: str
    cases: int
    kappa: float | None


@dataclass(frozen=True, slots=True)
class LabelAgreement:
    """How far the people agree: Krippendorff's α over all of them, and each pair of them."""

    alpha: float | None
    pairs: tuple[PairAgreement, ...]


class RunLabels:
    """The labels of a run, by case and person.

    >>> labels = RunLabels([CaseLabel("q1", 1.0, by="ana"), CaseLabel("q1", 0.0, by="ben")])
    >>> labels.disagreements()
    ['q1']
    """

    def __init__(self, labels: Iterable[CaseLabel] = ()) -> None:
        self.by_case: dict[str, dict[str, CaseLabel]] = {}
        for label in labels:
            # Lines are only appended, so the last label of a person counts.
            self.by_case.setdefault(label.id, {})[label.by] = label

    def of(self, case: str, by: str = "") -> CaseLabel:
        """The label of one person; an empty one where there is none."""
        return self.by_case.get(case, {}).get(by) or CaseLabel(case, None, by=by)

    def of_case(self, case: str) -> dict[str, float]:
        """The labels of a case that were not withdrawn, by person."""
        entries = self.by_case.get(case, {})
        return {by: entry.label for by, entry in entries.items() if entry.label is not None}

    def by_majority(self) -> dict[str, float]:
        """One label per case: the decision if there is one, else that of the majority.

        A case without a majority is left out.
        """
        majority: dict[str, float] = {}
        for case in self.by_case:
            labels = self.of_case(case)
            counts = Counter(labels.values()).most_common(2)
            if DECISION in labels:
                majority[case] = labels[DECISION]
            elif len(counts) == 1 or (counts and counts[0][1] > counts[1][1]):
                majority[case] = counts[0][0]
        return majority

    def people(self) -> list[str]:
        """Everybody who labelled a case, decisions apart."""
        return sorted({by for case in self.by_case for by in self.of_case(case)} - {DECISION})

    def disagreements(self) -> list[str]:
        """The cases on which people differ and nothing is decided."""
        labels_by_case = {case: self.of_case(case) for case in self.by_case}
        return [
            case
            for case, labels in labels_by_case.items()
            if DECISION not in labels and len(set(labels.values())) > 1
        ]

    def agreement(self) -> LabelAgreement:
        """The agreement between the people, decisions apart."""
        table = [
            {by: label for by, label in self.of_case(case).items() if by != DECISION}
            for case in self.by_case
        ]
        pairs: list[PairAgreement] = []
        for a, b in combinations(self.people(), 2):
            both = [(labels[a], labels[b]) for labels in table if a in labels and b in labels]
            pairs.append(PairAgreement(a, b, len(both), cohen_kappa(both)))
        alpha = krippendorff_alpha([list(labels.values()) for labels in table])
        return LabelAgreement(alpha, tuple(pairs))


def cohen_kappa(pairs: Sequence[tuple[float, float]]) -> float | None:
    """Agreement of two people beyond chance, over the cases that both labelled; None where it is undefined.

    >>> cohen_kappa([(1, 1), (0, 0), (1, 0), (0, 0)])
    0.5
    """
    n = len(pairs)
    if not n:
        return None
    first = Counter(a for a, _ in pairs)
    second = Counter(b for _, b in pairs)
    by_chance = sum(first[label] * second[label] for label in first) / n**2
    if by_chance == 1:
        return None
    return (sum(a == b for a, b in pairs) / n - by_chance) / (1 - by_chance)


def krippendorff_alpha(units: Iterable[Sequence[float]]) -> float | None:
    """Agreement of any number of people on nominal labels; each unit holds the labels one case got. None if undefined.

    >>> krippendorff_alpha([[1, 1], [0, 0], [1, 0], [0, 0, 0]])
    0.5555555555555556
    """
    totals: Counter[float] = Counter()
    observed = 0.0
    for labels in units:
        count = len(labels)
        # A single label can neither agree nor disagree.
        if count < 2:
            continue
        here = Counter(labels)
        totals.update(here)
        observed += sum(times * (count - times) for times in here.values()) / (count - 1)
    n = sum(totals.values())
    expected = sum(times * (n - times) for times in totals.values())
    if not expected:
        return None
    return 1 - (n - 1) * observed / expected


def read_run_labels(run: Path, *, strict: bool = False) -> RunLabels:
    """The labels of a run; none if there is no file.

    A line that is not a label is skipped; with `strict` it is an error.
    """
    path = run / LABELS_FILE
    if not path.is_file():
        return RunLabels()
    try:
        # A damaged line must not hide the others.
        lines = path.read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return RunLabels()
    labels: list[CaseLabel] = []
    for number, line in enumerate(lines, start=1):
        if not line.strip():
            continue
        try:
            labels.append(_read_label_line(line))
        except InputError as error:
            # The viewer shows what can be read; only a calculation insists on every line.
            if strict:
                raise InputError(f"{path}, line {number}: {error}") from None
    return RunLabels(labels)


def _read_label_line(line: str) -> CaseLabel:
    try:
        row = json.loads(line)
        case = str(row["id"])
        return CaseLabel(
            id=case,
            label=as_label(row["label"], case),
            note=str(row.get("note") or ""),
            by=str(row.get("by") or ""),
            at=str(row.get("at") or ""),
        )
    except (ValueError, KeyError, TypeError, AttributeError):
        raise InputError('expected {"id": …, "label": …, "note": …}') from None


def as_label(value: Any, case: str) -> float | None:
    """0, 1 or any number; yes, no and similar words; None where there is no label."""
    if value is None or (isinstance(value, str) and not value.strip()):
        return None
    if isinstance(value, str) and value.strip().lower() in _WORDS:
        return _WORDS[value.strip().lower()]
    try:
        label = float(value)
    except (TypeError, ValueError):
        label = math.nan
    if not math.isfinite(label):
        raise InputError(
            f'case "{case}": the label is {value!r}, expected 0, 1, another number, or yes and no'
        )
    return label


def column_label(case: Case) -> float | None:
    """The label that a case has in its column `label`: 1 (right) or 0 (wrong); None for anything else."""
    try:
        value = as_label(case.extra.get("label"), case.id)
    except InputError:
        return None
    if value not in (0.0, 1.0):
        return None
    return value


def all_labels(run: Path, file: Path | None = None) -> dict[str, float]:
    """One label per case: from a file with columns id and label, else from the run's labels, else from its cases."""
    labels: dict[str, float] = {}
    for outcome in read_outcomes(run):
        label = column_label(outcome.case)
        if label is not None:
            labels[outcome.case.id] = label
    labels |= read_run_labels(run).by_majority()
    if file is not None:
        labels |= _read_label_table(file)
    return labels


def _read_label_table(file: Path) -> dict[str, float]:
    """The labels of a file with columns id and label; empty cells are left out."""
    labels: dict[str, float] = {}
    for row, place in read_table_rows(file, file.name):
        if "id" not in row or "label" not in row:
            columns = ", ".join(map(str, row))
            raise InputError(f"{place}: expected the columns id and label, found {columns}")
        case = str(row["id"])
        label = as_label(row["label"], case)
        if label is not None:
            labels[case] = label
    return labels


def add_label(run: Path, case: str, label: float | None, note: str = "", by: str = "") -> None:
    """Append one label with one durable write; plain ASCII, so that no reader splits the line."""
    for name, text, longest in (("note", note, LONGEST_NOTE), ("name", by, LONGEST_NAME)):
        if len(text) > longest:
            raise InputError(f"{name}: {len(text):,} characters, at most {longest:,}")
    at = datetime.now(UTC).isoformat(timespec="seconds")
    number = label
    # 1 and 0 as documented, not 1.0 and 0.0; a label between them stays as it is.
    if label is not None and label == int(label):
        number = int(label)
    record = {"id": case, "label": number, "note": note, "at": at}
    if by:
        record["by"] = by
    line = json.dumps(record) + "\n"
    try:
        with (run / LABELS_FILE).open("ab", buffering=0) as file:
            file.write(line.encode("ascii"))
            os.fsync(file.fileno())
    except OSError as error:
        raise StorageError(
            f"{run / LABELS_FILE}: cannot be written: {error.strerror or error}"
        ) from None
