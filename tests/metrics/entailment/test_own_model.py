"""Metrics with a model of the user's choice: the packaged one under another name, and tiny ones of other families."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from tests.support.tiny_models import export_packaged, make_classes

import answerkey as ak
from answerkey.entailment.load import load_pair_model
from answerkey.entailment.packaged import load_model
from answerkey.metrics.registry import all_metrics

METRICS = ("groundedness", "entailment", "answer_agreement", "fact_f1", "citation_support")
FACTS = Path(__file__).parents[2] / "entailment" / "reference_outputs.json"
ROW = {
    "question": "When did the museum open?",
    "expected": "It opened in 1932.",
    "contexts": ["The museum opened in 1932 and is closed on Mondays.", "A tour takes an hour."],
}
ANSWERS = (
    "It opened in 1932 [1].",
    "The museum opened in 1951 [1]. A tour takes two hours [2].",
    "The museum is closed on Mondays [1]. It has a café.",
)


def made_pairs() -> list[tuple[str, str]]:
    """500 pairs of different lengths, from the texts stored with the tests."""
    stored = [row["pair"] for row in json.loads(FACTS.read_text(encoding="utf-8"))["rows"]]
    premises = [premise for premise, _ in stored]
    statements = [statement for _, statement in stored]
    return [
        (f"{premises[n % 20]} {premises[(n * 7) % 20]}", statements[(n * 3 + n // 20) % 20])
        for n in range(500)
    ]


@pytest.mark.slow
def test_the_packaged_model_under_another_name_is_equal(tmp_path: Path) -> None:
    foreign = load_pair_model(str(export_packaged(tmp_path / "m")), cache=False)
    packaged = load_model()
    assert foreign is not None
    assert packaged is not None
    assert foreign.is_fitted
    pairs = made_pairs()
    assert len(set(pairs)) > 350
    np.testing.assert_allclose(foreign.logits(pairs), packaged.logits(pairs), atol=1e-5)
    every = every_metric()
    assert set(every) >= {*METRICS, "rubric.accuracy", "judge.faithfulness"}
    rows = [ROW | {"answer": answer} for answer in ANSWERS]
    own, usual = (
        ak.evaluate(rows, every, entailment=model, judge="local", progress=False)
        for model in (str(tmp_path / "m"), "packaged")
    )
    scored: set[str] = set()
    for mine, theirs in zip(own, usual, strict=True):
        for name in every:
            value = theirs.scores[name].value
            if value is None:
                assert mine.scores[name].value is None, name
                continue
            scored.add(name)
            assert mine.scores[name].value == pytest.approx(value, abs=1e-5), name
            assert mine.scores[name].reason == theirs.scores[name].reason, name
    assert scored >= {*METRICS, "rubric.accuracy", "judge.faithfulness"}


def every_metric() -> list[str]:
    """Every metric that the entailment model takes part in: directly, or through the local judge."""
    return [
        each.name
        for each in all_metrics()
        if {"pair_model", "judge"} & set(each.keywords()) and "NAME" not in each.name
    ]


TINY = {
    "question": "museum?",
    "contexts": ["the museum opened in 1932", "a tour takes an hour"],
    "expected": "yes the museum opened in 1932",
}


@pytest.fixture
def tiny(tmp_path: Path) -> str:
    return str(make_classes(tmp_path / "tiny", ("neutral", "contradicted", "supported")))


def test_metrics_use_the_chosen_model_and_say_so(tiny: str) -> None:
    rows = [TINY | {"answer": text} for text in ("yes the museum [1].", "no the museum [1].")]
    good, bad = ak.evaluate(rows, METRICS, entailment=tiny, progress=False)
    for name in ("groundedness", "entailment", "citation_support"):
        assert (good.scores[name].value or 0) > 0.9, name
        assert (bad.scores[name].value or 0) < 0.1, name
    for name in ("groundedness", "entailment", "answer_agreement", "fact_f1"):
        assert f"by the model {tiny}" in good.scores[name].reason, name
    assert "not calibrated" in good.scores["groundedness"].reason
    (sentence,) = bad.scores["groundedness"].details["sentences"]
    assert sentence["contradicted"]
    assert sentence["flag"]


def test_answers_that_claim_nothing_and_missing_passages(tiny: str) -> None:
    rows = [
        TINY | {"answer": "I do not know."},
        TINY | {"answer": "yes the museum.", "contexts": []},
        TINY | {"answer": ""},
    ]
    declined, bare, empty = (
        outcome.scores["groundedness"]
        for outcome in ak.evaluate(rows, ["groundedness"], entailment=tiny, progress=False)
    )
    assert declined.value is None
    assert bare.value == 0.0
    assert empty.value is None
    assert empty.error is None


def test_a_model_is_part_of_the_setup_of_a_run(
    cli: Callable, write: Callable[[str, object], Path], tiny: str, tmp_path: Path
) -> None:
    rows = write("a.jsonl", [TINY | {"id": str(n), "answer": "yes the museum."} for n in range(4)])
    for name, options in (("a", ()), ("b", ("--entailment", tiny))):
        shown = cli(
            "score", rows, "--metrics", "groundedness", "--out", tmp_path / name, "--no-charts",
            *options,
        )  # fmt: skip
        assert shown.code == 0, shown.err
    a, b = (next((tmp_path / name).glob("*/run.json")).parent for name in "ab")
    assert "entailment" not in json.loads((a / "run.json").read_text())["fingerprint"]
    assert tiny in json.loads((b / "run.json").read_text())["fingerprint"]["entailment"]
    assert "entailment model: changed" in cli("compare", a, b).out
    shown = cli("rescore", b, "--metrics", "groundedness,token_f1")
    assert shown.code == 0, shown.err
    newest = max((tmp_path / "b").glob("*/run.json"), key=lambda path: path.stat().st_mtime)
    assert tiny in json.loads(newest.read_text())["fingerprint"]["entailment"]


def test_a_run_folder_that_names_a_function_is_refused(
    cli: Callable, write: Callable[[str, object], Path], tmp_path: Path
) -> None:
    write("pairs_of_mine.py", "def ask(pairs):\n    return [0.5 for _ in pairs]\n")
    write("a.jsonl", [TINY | {"id": "1", "answer": "yes."}])
    suite = write(
        "suite.toml",
        'cases = "a.jsonl"\nmetrics = ["groundedness"]\n'
        'entailment = "python:pairs_of_mine:ask"\n[target]\nkind = "recorded"\n',
    )
    assert cli("run", suite, "--no-charts").code == 0
    run = next((tmp_path / "results").glob("*/run.json")).parent
    shown = cli("rescore", run, "--metrics", "groundedness")
    assert shown.code == 2
    assert "names Python code (entailment model python:pairs_of_mine:ask)" in shown.err
    assert cli("rescore", run, "--metrics", "groundedness", "--allow-code").code == 0


SAYS_NO = "def never(pairs):\n    return [[0.01, 0.04, 0.95] for _ in pairs]\n"
SAYS_YES = "def always(pairs):\n    return [[0.98, 0.01, 0.01] for _ in pairs]\n"


@pytest.fixture
def own_models(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "fixed_models.py").write_text(SAYS_NO + SAYS_YES)
    monkeypatch.syspath_prepend(str(tmp_path))


@pytest.mark.usefixtures("own_models")
def test_the_local_judge_uses_the_chosen_model() -> None:
    rows = [
        {
            "question": "When did the museum open?",
            "contexts": ["The museum opened in 1932 and is closed on Mondays."],
            "answer": "The museum opened in 1932.",
        }
    ]
    names = ["judge.faithfulness", "rubric.accuracy"]
    runs = [
        ak.evaluate(
            rows, names, judge="local", progress=False, entailment=f"python:fixed_models:{name}"
        )
        for name in ("always", "never")
    ]
    high, low = (run.outcomes[0].scores["judge.faithfulness"].value or 0 for run in runs)
    assert high > 0.9 > 0.1 > low
    high, low = (run.outcomes[0].scores["rubric.accuracy"].value or 0 for run in runs)
    assert high > 4.5 > 0.5 > low
    first, second = (run.manifest.fingerprint["judge"] for run in runs)
    assert first != second


@pytest.mark.usefixtures("own_models")
def test_the_audit_uses_the_chosen_model(
    cli: Callable, write: Callable[[str, object], Path]
) -> None:
    case = {
        "id": "opening",
        "question": "When did the town museum open?",
        "expected": "It opened in 1932.",
        "relevant": ["museum"],
    }
    documents = [
        {"id": "museum", "text": "The town museum opened in 1932 and is closed on Mondays."},
        {"id": "tour", "text": "A guided tour of the old harbour takes an hour."},
    ]
    kinds = {
        name: [
            finding.kind.value
            for finding in ak.audit(
                [case], documents=documents, entailment=f"python:fixed_models:{name}"
            ).findings
        ]
        for name in ("always", "never")
    }
    assert kinds["always"] == []
    assert kinds["never"]
    cases = write("cases.jsonl", [case])
    shown = cli(
        "audit", cases, "--documents", write("docs.json", documents), "--entailment",
        "python:fixed_models:never", "--gate",
    )  # fmt: skip
    assert shown.code == 1, shown.err
