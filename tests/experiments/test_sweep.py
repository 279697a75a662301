"""`answerkey sweep` as it is used: files, plots, best setting, trace, stages of the suite's own, bad input."""

from __future__ import annotations

import csv
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner
from tests.support.made_documents import WordEmbedder, page_texts, question_rows, write_suite

from answerkey.cli.retrieval import sweep_command as command
from answerkey.errors import AnswerkeyError
from answerkey.experiments.choice import Conclusions, best_setting, draw_conclusions
from answerkey.experiments.plan import METRICS, NAMED, RRF
from answerkey.experiments.sweep import Sweep, prepare_sweep, run_sweep
from answerkey.experiments.sweep_files import describe
from answerkey.experiments.trace import trace
from answerkey.metrics.ranking.rank import score_rankings
from answerkey.runs.suite import load_suite

FULL = "alphas = [0.0, 0.3, 0.5, 0.7, 1.0]\nks = [3, 5, 10]"


@pytest.fixture(autouse=True)
def _no_model(monkeypatch: pytest.MonkeyPatch) -> None:
    def load_words(**_: object) -> WordEmbedder:
        return WordEmbedder()

    monkeypatch.setattr("answerkey.experiments.sweep.load_embedder", load_words)


def made_sweep(folder: Path, **more: object) -> Sweep:
    return run_sweep(prepare_sweep(load_suite(write_suite(folder, **more))))  # type: ignore[arg-type]


def swept(suite: Path, *options: str) -> dict[str, Any]:
    result = CliRunner().invoke(
        command, [str(suite), "--no-plots", "--json", *options], catch_exceptions=False
    )
    return json.loads(result.stdout)


def settings_of(told: dict[str, Any]) -> set[tuple[str, float | None, int]]:
    return {(row["setting"], row["alpha"], row["k"]) for row in told["settings"]}


@pytest.mark.slow
def test_the_command_writes_every_file(tmp_path: Path) -> None:
    no_label: dict[str, Any] = {"id": "nolabel", "question": "=1+1 what is this", "relevant": []}
    rows = [*question_rows(), no_label]
    result = CliRunner().invoke(
        command, [str(write_suite(tmp_path, rows)), "--json"], catch_exceptions=False
    )
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
    assert len(table) == 17 * 31
    assert not any(row["question"].startswith("=") for row in table)
    assert "nan" not in (folder / "evaluation_results.csv").read_text().lower().replace("nanny", "")
    with (folder / "summary_statistics.csv").open(newline="") as file:
        statistics = list(csv.DictReader(file))
    assert {row["query_type"] for row in statistics} == {"all", "history", "price", "safety"}
    assert (told["scored"], told["unlabelled"]) == (30, ["nolabel"])
    assert "warning: 1 of 31 queries" in result.stderr
    sentence = told["best"]["sentence"]
    assert sentence in (folder / "report.txt").read_text()
    assert "## Methods" in (folder / "report.md").read_text()
    charts = json.loads((folder / "charts.json").read_text())
    heading = charts["4_comprehensive_comparison"]["title"]
    assert heading["text"] == "Every α and K"
    assert " ".join(heading["subtitle"]).lower().startswith(f"{sentence.lower()}.")
    assert all(len(chart["title"]["text"]) < 40 for chart in charts.values())


def test_without_alphas_and_ks_the_three_standard_tests_are_run(tmp_path: Path) -> None:
    told = swept(write_suite(tmp_path))
    settings = settings_of(told)
    assert {name for name, _, k in settings if k == 5} >= {*NAMED, RRF}
    assert {alpha for _, alpha, k in settings if k == 5} == {
        None,
        *(step / 10 for step in range(11)),
    }
    (best,) = {alpha for _, alpha, k in settings if k != 5}
    assert {k for _, alpha, k in settings if alpha == best} == {3, 5, 7, 10, 15, 20}
    assert told["select"] == "ndcg@5"
    fixed = settings_of(swept(write_suite(tmp_path / "fixed"), "--alpha", "0.25"))
    assert {alpha for _, alpha, k in fixed if k != 5} == {0.25}


def test_given_alphas_and_ks_are_tried_and_nothing_else(tmp_path: Path) -> None:
    suite = write_suite(tmp_path, more="alphas = [0.0, 0.45]\nks = [2, 4]")
    exact = {
        ("Pure_Sparse_BM25", 0.0, 2),
        ("Pure_Sparse_BM25", 0.0, 4),
        ("Hybrid_0.45", 0.45, 2),
        ("Hybrid_0.45", 0.45, 4),
    }
    told = swept(suite)
    assert settings_of(told) == exact
    assert told["select"] == "ndcg@4"
    assert settings_of(swept(suite, "--rrf")) == exact | {(RRF, None, 2), (RRF, None, 4)}
    assert settings_of(swept(suite, "--named")) == exact | {
        (name, alpha, 5) for name, alpha in NAMED.items()
    }
    assert swept(suite, "--select", "f1")["select"] == "f1@K"
    assert swept(suite, "--select", "recall@3")["best"]["metric"] == "recall@3"


def test_the_metric_that_chooses_has_a_cut_of_its_own(tmp_path: Path) -> None:
    """nDCG@5 of the first 3 places cannot be above that of the first 5, and 10 places are no better than 5."""
    sweep = made_sweep(tmp_path, more=FULL + '\nselect = "ndcg@5"')
    ndcg = sweep.values[..., METRICS.index("ndcg")]
    assert sweep.chosen[:, 1] == pytest.approx(ndcg[:, 1])
    assert sweep.chosen[:, 2] == pytest.approx(ndcg[:, 1])
    assert (sweep.chosen[:, 0] <= sweep.chosen[:, 1] + 1e-12).all()
    assert sweep.ks[best_setting(sweep).winner[1]] <= 5


def test_every_value_is_what_rank_says(tmp_path: Path) -> None:
    sweep = made_sweep(tmp_path, more='chunk_by = "words"\nchunk_size = 6\nchunk_overlap = 2')
    labels = {case.id: dict(case.relevant or {}) for case in sweep.cases}
    for v in (0, 4, 10, 11):
        run = {
            case.id: [sweep.pages[int(p)] for p in sweep.rankings[v, q] if p >= 0]
            for q, case in enumerate(sweep.cases)
        }
        for column, k in enumerate(sweep.ks):
            result = score_rankings(run, labels, [f"{name}@{k}" for name in METRICS])
            expected = np.stack(list(result.columns.values()), axis=1)
            assert sweep.values[v, column] == pytest.approx(expected, abs=1e-12)
    assert sweep.values.max() <= 1.0


def test_chunk_unit_can_leave_the_range_and_is_warned_of(tmp_path: Path) -> None:
    suite = write_suite(
        tmp_path, more='unit = "chunk"\nchunk_by = "words"\nchunk_size = 4\nchunk_overlap = 3'
    )
    result = CliRunner().invoke(command, [str(suite), "--no-plots"], catch_exceptions=False)
    assert "above 1" in result.stderr
    assert "scored 30/30" in result.stdout


def with_chosen(sweep: Sweep, chosen: np.ndarray) -> Conclusions:
    return draw_conclusions(replace(sweep, chosen=chosen))


def test_the_default_is_kept_where_nothing_is_better_and_a_winner_is_called_one(
    tmp_path: Path,
) -> None:
    sweep = made_sweep(tmp_path, more=FULL)
    noise = np.random.default_rng(1).normal(0.5, 0.1, sweep.chosen.shape)
    kept = with_chosen(sweep, noise).best
    assert kept.keep_default
    assert kept.sentence.startswith("keep the default, Balanced_Hybrid (α = 0.5)")
    assert kept.unseen is not None
    assert kept.unseen < kept.value
    noise[3, 1] += 0.4
    clear = with_chosen(sweep, noise).best
    assert clear.winner == (3, 1)
    assert not clear.keep_default
    assert "Dense_Heavy_Hybrid (α = 0.7) at K = 5 is best" in clear.sentence
    assert "on unseen queries" in clear.sentence
    flat = best_setting(replace(sweep, chosen=np.full_like(noise, 0.3)), [(0, 0), (1, 0)])
    assert flat.sentence.startswith("a tie")


def test_each_type_has_its_best_setting_and_routing_is_tested(tmp_path: Path) -> None:
    sweep = made_sweep(tmp_path, more=FULL)
    few = draw_conclusions(sweep)
    assert {choice.type for choice in few.types} == {"history", "price", "safety"}
    assert all("too few" in choice.note for choice in few.types)
    assert few.routing is None
    many = replace(
        sweep,
        cases=tuple(replace(c, type="odd" if n % 2 else "even") for n, c in enumerate(sweep.cases)),
    )
    chosen = np.random.default_rng(2).normal(0.5, 0.02, many.chosen.shape)
    chosen[1, :, ::2] += 0.2
    chosen[3, :, 1::2] += 0.2
    import answerkey.experiments.choice as module

    before, module.FEW_QUERIES = module.FEW_QUERIES, 10
    try:
        routed = with_chosen(many, chosen).routing
    finally:
        module.FEW_QUERIES = before
    assert routed is not None
    assert {kind: many.variants[place[0]].alpha for kind, place in routed.routes.items()} == {
        "even": 0.3,
        "odd": 0.7,
    }
    assert routed.sentence.startswith("a method per question type is better")


def test_types_come_from_the_rules_where_cases_have_none(tmp_path: Path) -> None:
    rows = [
        {"id": "a", "question": "how to do the repair of the engine", "relevant": ["8"]},
        {
            "id": "b",
            "question": "difference between the price of the violin and the comet",
            "relevant": ["15"],
        },
    ]
    assert made_sweep(tmp_path, questions=rows).types == ["procedural", "comparison"]


def test_the_trace_shows_every_sum_text_and_score(tmp_path: Path) -> None:
    suite = str(write_suite(tmp_path))
    shown = CliRunner().invoke(command, [suite, "--trace", "q4"], catch_exceptions=False).stdout
    assert "expected 5 (grade 1)" in shown
    assert "✓ 5" in shown
    assert "✗" in shown
    assert "the safety of the harbour filler" in shown
    assert all(f"{name}@3" in shown for name in METRICS)  # the smallest K that finds everything
    assert not (tmp_path / "results").exists()
    by_text = json.loads(
        CliRunner().invoke(command, [suite, "--trace", "safety of the harbour", "--json"]).stdout
    )
    assert by_text["id"] == "q4"
    traced = json.loads(
        CliRunner()
        .invoke(command, [suite, "--trace", "q4", "--json", "--alpha", "0.4", "--k", "10"])
        .stdout
    )
    assert (traced["alpha"], traced["k"]) == (0.4, 10)
    assert traced["expected"] == {"5": 1}
    hit = next(row for row in traced["retrieved"] if row["relevant"])
    assert hit["page"] == "5"
    assert hit["fused"] == pytest.approx(1.0)
    assert len(hit["text"]) <= 120
    assert traced["milliseconds"] > 0
    assert set(traced["metrics"]) == {f"{name}@10" for name in METRICS}
    with pytest.raises(AnswerkeyError, match="30 questions"):
        CliRunner().invoke(command, [suite, "--trace", "what is"], catch_exceptions=False)


def test_reranker_and_rewriter_are_settings_to_compare(tmp_path: Path) -> None:
    (tmp_path / "made_stages.py").write_text(
        "def rewrite(question):\n    return 'nothing at all'\n"
        "def rerank(question, passages):\n    return [-n for n in range(len(passages))]\n"
    )
    sweep = made_sweep(
        tmp_path, more='reranker = "made_stages:rerank"\nrewriter = "made_stages:rewrite"'
    )
    same, lost = sweep.variants[-2:]
    assert (same.stage, lost.stage) == ("rerank", "rewrite")
    assert sweep.values[-2] == pytest.approx(sweep.values[sweep.topk[0]])
    assert sweep.mean("f1")[-1].max() < sweep.mean("f1")[-2].min()


def test_the_trace_of_a_rewriter_searches_with_the_text_that_was_measured(tmp_path: Path) -> None:
    # A language model writes another text each time; so does this one after the 30 questions.
    (tmp_path / "made_rewriter.py").write_text(
        "texts = ['the price of the violin'] * 30\n"
        "def rewrite(question):\n    return texts.pop() if texts else 'nothing at all'\n"
    )
    sweep = made_sweep(tmp_path, more='rewriter = "made_rewriter:rewrite"')
    row = len(sweep.variants) - 1
    assert sweep.variants[row].stage == "rewrite"
    traced = trace(sweep, "q4", (row, sweep.ks.index(5)))
    query = [case.id for case in sweep.cases].index("q4")
    assert [page.page for page in traced.retrieved] == sweep.ranked_pages(row, query, 5)
    assert "the price of the violin" in traced.retrieved[0].text
    scores = [page.fused or 0 for page in traced.retrieved]
    assert scores == sorted(scores, reverse=True)
    assert scores[0] > 0
    assert "rewritten the price of the violin" in list(traced.lines())
    plain = trace(sweep, "q4", (0, sweep.ks.index(5)))
    assert not any(line.startswith("rewritten") for line in plain.lines())


def test_a_reranker_that_is_not_there_is_an_error_before_the_documents_are_read(
    tmp_path: Path,
) -> None:
    suite = write_suite(tmp_path, more='reranker = "json:nope"')
    (tmp_path / "docs" / "book.txt").unlink()
    with pytest.raises(AnswerkeyError, match='has no function "nope"'):
        prepare_sweep(load_suite(suite))


def test_bm25_alone_needs_no_model(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(**options: object) -> None:
        raise AssertionError(options)

    monkeypatch.setattr("answerkey.experiments.sweep.load_embedder", refuse)
    suite = write_suite(tmp_path)
    suite.write_text(suite.read_text() + '[embedding]\nmodel = "none"\n')
    told = swept(suite)
    assert {(name, alpha) for name, alpha, _ in settings_of(told)} == {("Pure_Sparse_BM25", 0.0)}
    assert told["searched"]["dense"] == "none"
    assert told["searched"]["bm25"]["language"] == "en"
    assert told["searched"]["bm25"]["detected"]
    shown = (
        CliRunner().invoke(command, [str(suite), "--trace", "q4"], catch_exceptions=False).stdout
    )
    assert "✓ 5" in shown
    with pytest.raises(AnswerkeyError, match=r"expected only 0.0"):
        CliRunner().invoke(command, [str(suite), "--alphas", "0,0.5"], catch_exceptions=False)


def test_chunkings_and_models_are_settings(tmp_path: Path) -> None:
    counted: list[int] = []

    class Counting(WordEmbedder):
        def embed(self, texts: Any) -> np.ndarray:
            counted.append(len(texts))
            return super().embed(texts)

    more = 'by = "fixed"\nchunk_sizes = [5, 10]\noverlaps = [0, 2]\nmodels = ["a", "none"]\n' + FULL

    def load_counting(**_: object) -> Counting:
        return Counting()

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("answerkey.experiments.sweep.load_embedder", load_counting)
        prepared = prepare_sweep(load_suite(write_suite(tmp_path, more=more)))
        assert sum(counted) == sum(len(index.chunks) for index in prepared.setups[::2])
        sweep = run_sweep(prepared)
    assert [index.chunking for index in sweep.setups[::2]] == [
        "fixed 5/0",
        "fixed 5/2",
        "fixed 10/0",
        "fixed 10/2",
    ]
    found = draw_conclusions(sweep)
    assert len(found.setups) == 8
    assert " on " in found.best.sentence
    assert len({row for row, _ in sweep.places}) == 4 * (5 + 1)


def test_indexes_of_a_few_chunks_can_be_compared(tmp_path: Path) -> None:
    more = 'by = ["page", "sentence", "fixed"]\nchunk_sizes = [3, 10]\noverlaps = [0]'
    suite = write_suite(tmp_path, [{"id": "a", "question": "pump repair", "relevant": ["1"]}], more)
    (tmp_path / "docs" / "book.txt").write_text(
        "pump repair text here. It is long.\fvalve price text\fmotor history text"
    )
    sweep = run_sweep(prepare_sweep(load_suite(suite)))
    assert len(sweep.setups) == 5
    assert sweep.ranked_pages(0, 0, 20)[0] == "1"
    assert draw_conclusions(sweep).best.value == 1.0


def test_quotes_are_gold_for_every_chunking(tmp_path: Path) -> None:
    """A quote is found wherever the cut goes; a chunk with less than half of it is no hit."""
    rows = [
        {"id": row["id"], "question": row["question"], "quote": page_texts()[n * 2][:60]}
        for n, row in enumerate(question_rows())
    ]
    rows.append(
        {"id": "lost", "question": "what is this", "quote": "words that stand nowhere at all"}
    )
    more = "chunk_sizes = [4, 40]\noverlaps = [0]\nalphas = [0.0, 0.5]\nks = [5]"
    suite = write_suite(tmp_path, rows, more)
    sweep = run_sweep(prepare_sweep(load_suite(suite)))
    assert sweep.labelled.all()
    assert sweep.values.max() <= 1.0
    recall = sweep.mean("recall")[:, 0]
    whole = [
        n for n, v in enumerate(sweep.variants) if sweep.setups[v.setup].chunking == "fixed 40/0"
    ]
    small = [n for n in range(len(sweep.variants)) if n not in whole]
    assert recall[whole].max() == pytest.approx(30 / 31)
    assert recall[small].max() < recall[whole].max()
    assert "words that stand nowhere" in sweep.check.warnings[0]
    shown = (
        CliRunner().invoke(command, [str(suite), "--trace", "q4"], catch_exceptions=False).stdout
    )
    assert "✓ 5" in shown
    assert "1 found / 1 relevant" in shown


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
    no_page: list[str] = []
    rows = [{"id": "a", "question": "x"}, {"id": "b", "question": "y", "relevant": no_page}]
    with pytest.raises(AnswerkeyError, match="none of the 2 cases has a relevant page"):
        made_sweep(tmp_path, questions=rows)


def test_the_made_pages_are_sixty() -> None:
    assert len(page_texts()) == 60
