"""`answerkey calibrate` on files, on runs, and on the public labelled data."""

from __future__ import annotations

import json
import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.support.loopback import Bot

from answerkey.profiles.load import with_floor


def labelled_rows(n: int = 60) -> list[dict[str, Any]]:
    random = np.random.default_rng(3)
    rows: list[dict[str, Any]] = []
    for i in range(n):
        right = random.random() < 0.5
        words = ["alpha", "beta", "gamma", "delta"]
        kept = words[: random.integers(2, 5)] if right else words[: random.integers(0, 4)]
        rows.append(
            {
                "id": f"r{i}",
                "question": "which letters?",
                "expected": " ".join(words),
                "answer": " ".join([*kept, "and", "more"]),
                "label": int(right),
                "human": "yes" if right else "no",
                "group": f"g{i // 3}",
            }
        )
    return rows


def test_a_labelled_file(cli: Callable[..., Any], write: Callable[..., Path], tmp_path: Path):
    path = write("labelled.jsonl", labelled_rows())
    plot = tmp_path / "reliability.png"
    shown = cli(
        "calibrate",
        path,
        "--metric",
        "keyword_recall",
        "--positive",
        "good",
        "--plot",
        plot,
        "--json",
    )
    assert shown.code == 0, shown.err
    data = shown.json
    assert (data["n"], data["groups"]) == (60, 20)
    assert data["auroc"] > 0.75
    assert data["label_means"] == "good"
    assert plot.read_bytes().startswith(b"\x89PNG")
    by_words = cli(
        "calibrate", path, "--metric", "keyword_recall", "--label", "human", "--json"
    ).json
    assert by_words["auroc"] == data["auroc"]
    several = cli(
        "calibrate", path, "--metric", "keyword_recall", "--metric", "token_f1", "--json"
    ).json
    assert set(several["metrics"]) == {"keyword_recall", "token_f1"}
    text = cli("calibrate", path, "--metric", "keyword_recall").out
    assert "answer length alone" in text
    assert "always label 1" in text


def test_a_pinned_direction_is_not_turned_round(
    cli: Callable[..., Any], write: Callable[..., Path]
):
    path = write("labelled.jsonl", labelled_rows())
    data = cli("calibrate", path, "--metric", "keyword_recall", "--positive", "bad", "--json").json
    assert data["auroc"] < 0.25
    assert any("wrong way" in note for note in data["notes"])


def test_rows_without_a_question_are_claims_and_welcome(
    cli: Callable[..., Any], write: Callable[..., Path]
):
    path = write("claims.jsonl", [{**row, "question": None} for row in labelled_rows()])
    assert cli("calibrate", path, "--metric", "keyword_recall", "--json").json["n"] == 60


@pytest.mark.parametrize(
    ("change", "options", "told"),
    [
        ({"label": "maybe"}, (), "expected 0, 1"),
        ({"label": None}, (), "no row has a label"),
        ({}, ("--label", "humann"), 'did you mean "human"'),
        ({}, ("--metric", "keyword_recal"), "keyword_recall"),
    ],
)
def test_bad_labels_are_one_line(
    cli: Callable[..., Any],
    write: Callable[..., Path],
    change: dict[str, Any],
    options: tuple[str, ...],
    told: str,
):
    path = write("labelled.jsonl", [{**row, **change} for row in labelled_rows(5)])
    shown = cli("calibrate", path, "--metric", "keyword_recall", *options)
    assert shown.code == 2
    assert told in shown.err


def test_a_run_with_labels_beside_it(
    cli: Callable[..., Any],
    write: Callable[..., Path],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
):
    monkeypatch.chdir(tmp_path)
    cases = labelled_rows()
    path = write(
        "cases.jsonl",
        [{k: v for k, v in row.items() if k not in {"label", "human"}} for row in cases],
    )
    assert cli("score", path, "--metrics", "keyword_recall", "--no-charts", "--quiet").code == 0
    run = next(Path("results").iterdir())
    unlabelled = cli("calibrate", run, "--metric", "keyword_recall")
    assert unlabelled.code == 2
    assert "labels.jsonl" in unlabelled.err
    labels = [{"id": row["id"], "label": row["label"], "note": ""} for row in cases[:50]]
    (run / "labels.jsonl").write_text("".join(json.dumps(row) + "\n" for row in labels))
    shown = cli("calibrate", run, "--metric", "keyword_recall", "--json")
    assert shown.json["n"] == 50
    assert "10 rows have no label" in shown.err
    fresh = cli("calibrate", run, "--metric", "token_f1", "--json").json
    assert fresh["n"] == 50


def test_the_threshold_goes_into_a_profile(cli: Callable[..., Any], write: Callable[..., Path]):
    path = write("labelled.jsonl", labelled_rows())
    toml = '# ours\npass = 0.5\n[[criteria]]\nmetric = "keyword_recall"\nfloor = 0.1 # old\nweight = 2\n[[criteria]]\nmetric = "token_f1"\n'
    profile = write("mine.toml", toml)
    shown = cli(
        "calibrate",
        path,
        "--metric",
        "keyword_recall",
        "--positive",
        "good",
        "--write-threshold",
        profile,
        "--json",
    )
    assert shown.code == 0, shown.err
    table = tomllib.loads(profile.read_text())
    assert table["criteria"][0]["floor"] == pytest.approx(shown.json["best_threshold"], rel=1e-3)
    assert profile.read_text().startswith("# ours\n")
    assert "# old" in profile.read_text()
    assert table["criteria"][1] == {"metric": "token_f1"}
    missing = cli("calibrate", path, "--metric", "rouge_l", "--write-threshold", profile)
    assert missing.code == 2
    assert "no criterion" in missing.err


@pytest.mark.network
def test_a_judge_is_asked_anew_for_every_repeat(
    cli: Callable[..., Any], write: Callable[..., Path]
):
    turns = iter(range(1000))

    def reply(_: Any) -> Any:
        verdict = {"score": round(0.4 + 0.1 * (next(turns) % 3), 1), "reason": "by turns"}
        return {
            "model": "m",
            "choices": [{"message": {"content": json.dumps(verdict)}, "finish_reason": "stop"}],
        }

    path = write("labelled.jsonl", labelled_rows(8))
    judged = ("--metric", "judge.relevance", "--judge-model", "m", "--json")
    with Bot(reply) as judge:
        data = cli("calibrate", path, *judged, "--judge", f"{judge.url}/v1", "--repeats", "4").json
        assert len(judge.requests) >= 4 * len({row["answer"] for row in labelled_rows(8)})
    assert data["noise"]["repeats"] == 4
    assert data["noise"]["sd"] > 0.02


def test_a_floor_is_set_in_every_ruler_and_nowhere_else():
    text = '[[criteria]]\nmetric = "a"\n\n[on.kpi]\npass = 1\n[[on.kpi.criteria]]\nmetric = "a"\n[[on.kpi.criteria]]\nmetric = "ab"\n'
    table = tomllib.loads(with_floor(text, "a", 0.25) or "")
    assert table["criteria"] == [{"metric": "a", "floor": 0.25}]
    assert table["on"]["kpi"]["criteria"] == [{"metric": "a", "floor": 0.25}, {"metric": "ab"}]
    assert with_floor(text, "c", 0.25) is None


@pytest.mark.slow
def test_what_is_known_of_the_plain_metrics_on_public_labels(
    cli: Callable[..., Any], shared_data: Path
):
    """Cosine per sentence finds unsupported answers a little better than chance and worse than their length does."""
    path = shared_data / "ragtruth_qa" / "dev.jsonl"
    shown = cli(
        "calibrate", path, "--metric", "answer_hallucination", "--positive", "bad", "--json"
    )
    assert shown.code == 0, shown.err
    data = shown.json
    with path.open(encoding="utf-8") as file:
        assert data["n"] == sum(1 for _ in file)
    length = data["baselines"]["length_only"]
    for figures, known in ((data, 0.62), (length, 0.70)):
        low, high = figures["auroc_ci95"]
        assert low <= known <= high
        assert figures["auroc"] == pytest.approx(known, abs=0.06)
    assert length["metric_minus_length_ci95"][1] < 0
    assert any("length" in note for note in data["notes"])


@pytest.mark.slow
def test_shared_words_beat_cosine_for_correctness(cli: Callable[..., Any], shared_data: Path):
    path = shared_data / "evouna" / "dev.jsonl"
    metrics = ("--metric", "keyword_recall", "--metric", "answer_correctness")
    data = cli("calibrate", path, *metrics, "--positive", "good", "--limit", "1000", "--json").json[
        "metrics"
    ]
    assert data["keyword_recall"]["auroc"] > data["answer_correctness"]["auroc_ci95"][1]
