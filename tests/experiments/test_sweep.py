"""`answerkey sweep` as it is used: files, plots, best setting, trace, stages of the suite's own, bad input."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner
from tests.support.made_documents import WordEmbedder, page_texts, question_rows, write_suite

from answerkey.cli.sweep import command
from answerkey.errors import AnswerkeyError
from answerkey.experiments.grid import METRICS
from answerkey.experiments.sweep import Sweep, prepare, run_sweep
from answerkey.experiments.sweep_statistics import best_setting, describe
from answerkey.metrics.ranking.rank import rank
from answerkey.runs.suite import load_suite


@pytest.fixture(autouse=True)
def _no_model(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("answerkey.experiments.sweep.load_embedder", lambda **options: WordEmbedder())


def made_sweep(folder: Path, **more: object) -> Sweep:
    prepared = prepare(load_suite(write_suite(folder, **more)))  # type: ignore[arg-type]
    return run_sweep(prepared.index, prepared.cases, prepared.settings)


@pytest.mark.slow
def test_the_command_writes_every_file(tmp_path: Path) -> None:
    rows = [*question_rows(), {"id": "nolabel", "question": "=1+1 what is this", "relevant": []}]
    result = CliRunner().invoke(command, [str(write_suite(tmp_path, rows)), "--json"], catch_exceptions=False)
    told = json.loads(result.stdout)
    folder = Path(told["folder"])
    assert folder.parent == tmp_path / "results"
    assert folder.name.startswith("made_sweep_")
    assert sorted(path.name for path in (folder / "plots").iterdir()) == [
        "1_retrieval_methods_comparison.png", "2_alpha_sensitivity.png", "3_topk_analysis.png",
        "4_comprehensive_comparison.png", "5_radar_chart.png",
    ]  # fmt: skip
    assert all(path.read_bytes().startswith(b"\x89PNG") for path in (folder / "plots").iterdir())
    with (folder / "evaluation_results.csv").open(newline="") as file:
        table = list(csv.DictReader(file))
    assert len(table) == 12 * 6 * 31
    assert {row["setting"] for row in table if row["alpha"] in {"1", "0.7", "0.5", "0.3", "0"}} == {
        "Pure_Dense_FAISS", "Dense_Heavy_Hybrid", "Balanced_Hybrid", "Sparse_Heavy_Hybrid", "Pure_Sparse_BM25",
    }  # fmt: skip
    assert not any(row["question"].startswith("=") for row in table)
    assert "nan" not in (folder / "evaluation_results.csv").read_text().lower().replace("nanny", "")
    with (folder / "summary_statistics.csv").open(newline="") as file:
        statistics = list(csv.DictReader(file))
    assert {row["query_type"] for row in statistics} == {"all", "history", "price", "safety"}
    assert (told["scored"], told["unlabelled"]) == (30, ["nolabel"])
    assert "warning: 1 of 31 queries" in result.stderr


def test_every_value_is_what_rank_says(tmp_path: Path) -> None:
    sweep = made_sweep(tmp_path, more='chunk_by = "words"\nchunk_size = 6\nchunk_overlap = 2')
    labels = {case.id: dict(case.relevant or {}) for case in sweep.cases}
    for v in (0, 4, 10, 11):
        run = {
            case.id: [sweep.pages[p] for p in sweep.rankings[v, q].tolist() if p >= 0]
            for q, case in enumerate(sweep.cases)
        }
        for column, k in enumerate(sweep.ks):
            result = rank(run, labels, [f"{name}@{k}" for name in METRICS])
            expected = np.stack(list(result.columns.values()), axis=1)
            assert sweep.values[v, column] == pytest.approx(expected, abs=1e-12)
    assert sweep.values.max() <= 1.0


@pytest.mark.slow
def test_chunk_unit_can_leave_the_range_and_is_warned_of(tmp_path: Path) -> None:
    suite = write_suite(tmp_path, more='unit = "chunk"\nchunk_by = "words"\nchunk_size = 4\nchunk_overlap = 3')
    result = CliRunner().invoke(command, [str(suite), "--no-plots"], catch_exceptions=False)
    assert "above 1" in result.stderr
    assert "scored 30/30" in result.stdout


def test_a_tie_is_called_a_tie_and_a_winner_a_winner(tmp_path: Path) -> None:
    sweep = made_sweep(tmp_path)
    copy = sweep.values.copy()
    copy[:] = 0.3
    tied = best_setting(Sweep(**{**sweep.__dict__, "values": copy}))
    assert tied.sentence.startswith("a tie")
    copy[3, 1] = 0.9
    clear = best_setting(Sweep(**{**sweep.__dict__, "values": copy}))
    assert clear.winner == (3, 1)
    assert "is best" in clear.sentence


def test_the_trace_shows_every_sum(tmp_path: Path) -> None:
    suite = str(write_suite(tmp_path))
    shown = CliRunner().invoke(command, [suite, "--trace", "q4"], catch_exceptions=False).stdout
    assert "expected 5 (grade 1)" in shown
    assert "✓ 5" in shown
    assert "✗" in shown
    assert all(f"{name}@5" in shown for name in METRICS)
    assert not (tmp_path / "results").exists()
    by_text = CliRunner().invoke(command, [suite, "--trace", "safety of the harbour"], catch_exceptions=False).stdout
    assert by_text == shown
    traced = json.loads(CliRunner().invoke(command, [suite, "--trace", "q4", "--json"]).stdout)
    assert traced["expected"] == {"5": 1}
    assert {"page": "5", "relevant": True} in traced["retrieved"]
    assert set(traced["metrics"]) == {f"{name}@5" for name in METRICS}
    with pytest.raises(AnswerkeyError, match="30 questions"):
        CliRunner().invoke(command, [suite, "--trace", "what is"], catch_exceptions=False)


def test_reranker_and_rewriter_are_settings_to_compare(tmp_path: Path) -> None:
    (tmp_path / "made_stages.py").write_text(
        "def rewrite(question):\n    return 'nothing at all'\n"
        "def rerank(question, passages):\n    return [-n for n in range(len(passages))]\n"
    )
    sweep = made_sweep(tmp_path, more='reranker = "made_stages:rerank"\nrewriter = "made_stages:rewrite"')
    same, lost = sweep.variants[-2:]
    assert (same.stage, lost.stage) == ("rerank", "rewrite")
    assert sweep.values[-2] == pytest.approx(sweep.values[sweep.best_alpha()])
    assert sweep.mean()[-1].max() < sweep.mean()[-2].min()


def test_statistics_are_those_of_pandas() -> None:
    import pandas

    table = np.random.default_rng(5).random((40, 3))
    theirs = pandas.DataFrame(table).describe().T.to_numpy()
    ours = describe(table)
    assert ours[:, :8] == pytest.approx(theirs)
    assert (ours[:, 8] < ours[:, 1]).all()
    assert (ours[:, 9] > ours[:, 1]).all()


@pytest.mark.parametrize(
    ("options", "says"),
    [
        (["--alphas", "0.5,1.5"], "alphas = [0.5, 1.5]: expected a list of numbers from 0 to 1"),
        (["--ks", "0,5"], "ks = [0, 5]: expected a list of whole numbers of 1 or more"),
        (["--ks", "5,x"], "expected comma-separated numbers"),
        (["--trace", "q99"], "no query"),
    ],
)
def test_bad_options_are_one_clear_line(tmp_path: Path, options: list[str], says: str) -> None:
    result = CliRunner().invoke(command, [str(write_suite(tmp_path)), *options])
    told = str(result.exception) if isinstance(result.exception, AnswerkeyError) else result.stderr
    assert says in told


def test_no_label_at_all(tmp_path: Path) -> None:
    with pytest.raises(AnswerkeyError, match="none of the 2 cases has a relevant page"):
        made_sweep(tmp_path, questions=[{"id": "a", "question": "x"}, {"id": "b", "question": "y", "relevant": []}])


def test_the_made_pages_are_sixty() -> None:
    assert len(page_texts()) == 60
