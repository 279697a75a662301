"""Weights and pass marks fitted to labels: found where they are there, refused where labels are few."""

from __future__ import annotations

import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from answerkey.calibrate.fitted_profile import fitted_toml
from answerkey.calibrate.profile_fit import fit_profile, fit_weights, weighted_quality
from answerkey.errors import InputError
from answerkey.profiles.load import load_profile
from answerkey.types import Case, Response, Score

Cli = Callable[..., Any]
Write = Callable[[str, object], Path]

TABLE = {
    "name": "three",
    "pass": 0.5,
    "criteria": [
        {"metric": "exact_match", "weight": 1},
        {"metric": "token_f1", "weight": 1},
        {"metric": "keyword_recall", "weight": 1},
    ],
}
NAMES = ("exact_match", "token_f1", "keyword_recall")


def made_rows(count: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Shares of three criteria; only the first one tells whether the answer is good."""
    random = np.random.default_rng(seed)
    shares = random.random((count, 3))
    good = shares[:, 0] + 0.1 * random.standard_normal(count) > 0.6
    return shares, good


def pairs_and_scores(shares: np.ndarray, route: str | None = None) -> tuple[list, list]:
    pairs = [(Case(str(n), "q", expected=("a",)), Response("a", route=route)) for n in range(len(shares))]  # fmt: skip
    scores = [{name: Score(float(value)) for name, value in zip(NAMES, row, strict=True)} for row in shares]  # fmt: skip
    return pairs, scores


def test_the_weight_goes_to_the_criterion_that_tells_good_from_bad() -> None:
    shares, good = made_rows(400)
    weights = fit_weights(shares, good, np.ones(3) / 3)
    assert weights.sum() == pytest.approx(1)
    assert weights[0] > 0.8


def test_few_labels_move_the_weights_less_than_many() -> None:
    start = np.ones(3) / 3
    few = fit_weights(*made_rows(50), start)
    many = fit_weights(*made_rows(1000), start)
    assert start[0] < few[0] < many[0]


def test_a_criterion_that_is_not_applicable_leaves_the_others() -> None:
    shares, good = made_rows(400)
    shares[::2, 1] = np.nan
    weights = fit_weights(shares, good, np.ones(3) / 3)
    assert weights[0] > 0.8
    assert weighted_quality(shares[:1], np.array([0.5, 0.3, 0.2]))[0] == pytest.approx(
        (0.5 * shares[0, 0] + 0.2 * shares[0, 2]) / 0.7
    )


def test_the_fit_is_tested_on_rows_left_out() -> None:
    shares, good = made_rows(300)
    pairs, scores = pairs_and_scores(shares)
    fit = fit_profile(load_profile(TABLE), pairs, scores, good)
    assert fit.is_better
    assert (fit.after.kappa or 0) > (fit.before.kappa or 0) + 0.2
    (rules,) = fit.rules
    assert 0.5 < rules.pass_mark < 0.7
    # Labels that have nothing to do with the criteria cannot be fitted.
    by_chance = np.random.default_rng(1).random(300) > 0.5
    assert abs(fit_profile(load_profile(TABLE), pairs, scores, by_chance).after.kappa or 0) < 0.2


@pytest.mark.parametrize(("count", "good_ones"), [(40, 20), (60, 5), (60, 55)])
def test_too_few_labels_are_refused(count: int, good_ones: int) -> None:
    pairs, scores = pairs_and_scores(made_rows(count)[0])
    good = np.arange(count) < good_ones
    with pytest.raises(InputError, match=f"too few labels: {good_ones} good and"):
        fit_profile(load_profile(TABLE), pairs, scores, good)


def test_a_floor_stays_and_a_route_group_is_fitted_on_its_own() -> None:
    table = {
        **TABLE,
        "criteria": [*TABLE["criteria"], {"metric": "politeness", "weight": 1, "floor": 0.5, "required": True}],
        "routes": {"kpi": ["sales"]},
        "on": {"kpi": {"pass": 0.9, "criteria": TABLE["criteria"]}},
    }  # fmt: skip
    shares, good = made_rows(200)
    pairs, scores = pairs_and_scores(shares)
    kpi_pairs, kpi_scores = pairs_and_scores(shares, route="sales")
    for number, row in enumerate(scores):
        row["politeness"] = Score(float(number >= 20))
    for row in kpi_scores:
        row["politeness"] = Score(1.0)
    labels = np.concatenate([good & (np.arange(200) >= 20), good])
    fit = fit_profile(load_profile(table), pairs + kpi_pairs, scores + kpi_scores, labels)
    assert [rules.group for rules in fit.rules] == ["", "kpi"]
    assert [rules.rows for rules in fit.rules] == [200, 200]
    assert fit.rules[1].pass_mark < 0.8
    # The floor fails these cases under any weights.
    assert (fit.after.tnr or 0) > 0.85


def test_the_fitted_profile_is_a_profile(tmp_path: Path) -> None:
    shares, good = made_rows(300)
    pairs, scores = pairs_and_scores(shares)
    fit = fit_profile(load_profile(TABLE), pairs, scores, good)
    table = tomllib.loads(fitted_toml(fit, "rag", "mine", "labels.jsonl"))
    assert table["base"] == "rag"
    assert table["pass"] == fit.rules[0].pass_mark
    assert {line["metric"]: line["weight"] for line in table["criteria"]} == dict(
        fit.rules[0].weights
    )


def test_a_group_of_routes_may_have_any_name() -> None:
    group = 'sales, v1.2 "new"'
    table = {
        **TABLE,
        "routes": {group: ["sales"]},
        "on": {group: {"pass": 0.9, "criteria": TABLE["criteria"]}},
    }
    shares, good = made_rows(300)
    pairs, scores = pairs_and_scores(shares, route="sales")
    fit = fit_profile(load_profile(table), pairs, scores, good)
    rules = next(rules for rules in fit.rules if rules.group == group)
    fitted = tomllib.loads(fitted_toml(fit, "rag", "mine", "labels.jsonl"))
    assert fitted["on"][group]["pass"] == rules.pass_mark
    weights = {line["metric"]: line["weight"] for line in fitted["on"][group]["criteria"]}
    assert weights == dict(rules.weights)


def test_the_command_fits_writes_and_refuses(cli: Cli, write: Write, tmp_path: Path) -> None:
    words = ["alpha", "bravo", "charlie", "delta", "echo", "foxtrot", "golf", "hotel"]
    rows = []
    for n in range(80):
        kept = words[: 1 + n % 8]
        rows.append(
            {
                "id": str(n),
                "question": "Which words?",
                "expected": " ".join(words),
                # The label goes by the words that are there; politeness says nothing about it.
                "answer": " ".join(kept) + (", please" if n % 3 else ""),
                "label": int(len(kept) >= 5),
            }
        )
    data = write("labelled.jsonl", rows)
    profile = write(
        "mine.toml",
        'name = "mine"\npass = 0.9\n[[criteria]]\nmetric = "keyword_recall"\nweight = 1\n'
        '[[criteria]]\nmetric = "politeness"\nweight = 3\n',
    )
    fitted = tmp_path / "fitted.toml"
    ended = cli("calibrate", data, "--profile", profile, "--write", fitted)
    assert ended.code == 0, ended.err
    assert "fitted (on rows left out of the fit)" in ended.out
    assert "too few" not in ended.out
    weights = {line.metric: line.weight for line in load_profile(str(fitted)).rules.lines}
    assert weights["keyword_recall"] > 0.5 > weights["politeness"]
    shown = cli("calibrate", data, "--profile", profile, "--json").json
    assert shown["after"]["accuracy"] > shown["before"]["accuracy"]
    few = cli("calibrate", data, "--profile", profile, "--limit", "30")
    assert few.code == 2
    assert "too few labels: 14 good and 16 bad; 50 are needed" in few.last_line
    assert cli("calibrate", data).code == 2
    assert cli("calibrate", data, "--profile", "rag", "--metric", "token_f1").code == 2
