"""Labels of several people: who wins, who differs, and agreement figures equal to the references."""

from __future__ import annotations

from pathlib import Path

import krippendorff
import numpy as np
import pytest
from sklearn.metrics import cohen_kappa_score

from answerkey.calibrate.labels import (
    DECISION,
    CaseLabel,
    RunLabels,
    add_label,
    cohen_kappa,
    krippendorff_alpha,
    read_run_labels,
)
from answerkey.errors import InputError


def test_the_last_label_of_a_person_wins_and_the_majority_decides(tmp_path: Path) -> None:
    for by, label in (("ana", 1.0), ("ben", 0.0), ("ana", 0.0), ("cleo", 1.0)):
        add_label(tmp_path, "q1", label, by=by)
    add_label(tmp_path, "q2", 1.0, by="ana")
    add_label(tmp_path, "q2", None, by="ana")
    labels = read_run_labels(tmp_path)
    assert labels.of_case("q1") == {"ana": 0.0, "ben": 0.0, "cleo": 1.0}
    assert labels.by_majority() == {"q1": 0.0}
    assert labels.disagreements() == ["q1"]
    add_label(tmp_path, "q1", 1.0, by=DECISION)
    assert read_run_labels(tmp_path).by_majority() == {"q1": 1.0}
    assert read_run_labels(tmp_path).disagreements() == []
    assert read_run_labels(tmp_path).people() == ["ana", "ben", "cleo"]


def test_a_label_between_right_and_wrong_is_stored_as_it_is(tmp_path: Path) -> None:
    for case, label in (("a", 0.5), ("b", 0.7), ("c", 1.0), ("d", 0.0)):
        add_label(tmp_path, case, label)
    assert read_run_labels(tmp_path).by_majority() == {"a": 0.5, "b": 0.7, "c": 1.0, "d": 0.0}
    # Whole numbers stay whole: other programs read this file too.
    assert '"label": 1,' in (tmp_path / "labels.jsonl").read_text().splitlines()[2]


def test_a_tie_has_no_label() -> None:
    labels = RunLabels([CaseLabel("q", 1.0, by="a"), CaseLabel("q", 0.0, by="b")])
    assert labels.by_majority() == {}


def test_a_bad_line_is_skipped_or_refused(tmp_path: Path) -> None:
    (tmp_path / "labels.jsonl").write_text(
        '{"id": "a", "label": "yes"}\nnothing\n[]\n{"id": "b", "label": "perhaps"}\n'
    )
    assert read_run_labels(tmp_path).by_majority() == {"a": 1.0}
    with pytest.raises(InputError, match="line 2: expected"):
        read_run_labels(tmp_path, strict=True)
    with pytest.raises(InputError, match="at most"):
        add_label(tmp_path, "a", 1.0, by="x" * 61)


def test_kappa_and_alpha_equal_the_references() -> None:
    random = np.random.default_rng(3)
    for _ in range(60):
        truth = random.integers(0, 2, 30)
        people = [
            np.where(random.random(30) < 0.75, truth, 1 - truth).astype(float) for _ in range(3)
        ]
        pairs = list(zip(people[0].tolist(), people[1].tolist(), strict=True))
        assert cohen_kappa(pairs) == pytest.approx(cohen_kappa_score(people[0], people[1]))
        table = np.array([np.where(random.random(30) < 0.8, labels, np.nan) for labels in people])
        units = [[float(value) for value in column if not np.isnan(value)] for column in table.T]
        expected = krippendorff.alpha(table, level_of_measurement="nominal")
        assert krippendorff_alpha(units) == pytest.approx(expected)


def test_agreement_without_overlap_is_undefined() -> None:
    assert krippendorff_alpha([[1.0], [0.0]]) is None
    assert cohen_kappa([]) is None
    assert RunLabels([CaseLabel("q", 1.0, by="a")]).agreement().pairs == ()
