"""`diagnose` on made faults, one at a time, and on a healthy set."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner
from tests.support.made_documents import WordEmbedder, page_texts, question_rows, write_suite

from answerkey.cli.retrieval import diagnose_command as command
from answerkey.experiments.diagnose import diagnose
from answerkey.experiments.evidence import RetrievalEvidence, evidence_of_suite
from answerkey.experiments.findings import Diagnosis, RetrievalFinding


@pytest.fixture(autouse=True)
def _no_model(monkeypatch: pytest.MonkeyPatch) -> None:
    def load_words(**_: object) -> WordEmbedder:
        return WordEmbedder()

    monkeypatch.setattr("answerkey.experiments.sweep.load_embedder", load_words)


@pytest.fixture
def healthy(tmp_path: Path) -> RetrievalEvidence:
    return evidence_of_suite(write_suite(tmp_path))


def found(diagnosis: Diagnosis, code: str) -> RetrievalFinding:
    assert code in [finding.code for finding in diagnosis.findings], diagnosis.sentence
    return next(finding for finding in diagnosis.findings if finding.code == code)


def test_a_healthy_set_is_called_healthy(healthy: RetrievalEvidence) -> None:
    diagnosis = diagnose(healthy)
    assert diagnosis.findings == ()
    assert diagnosis.healthy
    assert diagnosis.sentence.startswith("healthy")
    assert set(diagnosis.checked) == {
        "labels",
        "rankings",
        "index ids",
        "chunk texts",
        "question words",
    }


@pytest.mark.parametrize("shift", [1, -1, -13, -40])
def test_a_constant_shift_is_found_with_the_score_after_it(
    healthy: RetrievalEvidence, shift: int
) -> None:
    moved = {
        q: {str(int(page) - shift): grade for page, grade in row.items()}
        for q, row in healthy.labels.items()
    }
    diagnosis = diagnose(healthy.with_labels(moved))
    finding = found(diagnosis, "page_shift")
    assert f"page n {'+' if shift > 0 else '−'} {abs(shift)} of the index" in finding.title
    assert finding.score_if_fixed == pytest.approx(healthy.score())
    assert diagnosis.findings[0].code == "page_shift"
    assert (diagnosis.score or 0.0) < (finding.score_if_fixed or 0.0)


def test_a_shift_is_found_in_a_small_set_and_from_ids_alone(healthy: RetrievalEvidence) -> None:
    few = list(healthy.labels)[:8]
    moved = {q: {str(int(page) + 23): 1.0 for page in healthy.labels[q]} for q in few}
    small = RetrievalEvidence(moved, {q: healthy.rankings[q] for q in few})
    assert "page n − 23 of the index" in found(diagnose(small), "page_shift").title
    outside = {q: {str(int(page) + 57): 1.0 for page in row} for q, row in healthy.labels.items()}
    assert (
        found(
            diagnose(RetrievalEvidence(outside, index_ids=healthy.index_ids)), "page_shift"
        ).score_if_fixed
        is None
    )


@pytest.mark.parametrize("deep", [1, 5, 10])
def test_a_shift_of_few_queries_is_told_from_its_neighbours(deep: int) -> None:
    labels = {f"q{n}": {str(n): 1.0} for n in range(10)}
    rankings = {f"q{n}": [str(n + 1 + place) for place in range(deep)] for n in range(10)}
    assert (
        "page n + 1 of the index"
        in found(diagnose(RetrievalEvidence(labels, rankings)), "page_shift").title
    )


@pytest.mark.parametrize("queries", [2, 3, 4])
def test_an_off_by_one_is_found_in_two_queries(queries: int) -> None:
    """So few queries give no significance; that the next page stands first each time is no chance among fifty pages."""
    labels = {f"q{n}": {str(7 * n + 3): 1.0} for n in range(queries)}
    rankings = {f"q{n}": [str(7 * n + 4), str(40 - n), str(45 - n)] for n in range(queries)}
    evidence = RetrievalEvidence(labels, rankings, [str(n) for n in range(1, 51)])
    assert "page n + 1 of the index" in found(diagnose(evidence), "page_shift").title
    right = {f"q{n}": {str(7 * n + 4): 1.0} for n in range(queries)}
    assert diagnose(RetrievalEvidence(right, rankings, evidence.index_ids)).healthy


def test_an_off_by_one_shows_in_labels_outside_the_index(tmp_path: Path) -> None:
    rows = [{"id": "a", "question": "history of the harbour", "relevant": ["book.txt#0"]},
            {"id": "b", "question": "repair of the harbour", "relevant": ["1"]}]  # fmt: skip
    evidence = evidence_of_suite(write_suite(tmp_path, rows))
    assert "page n + 1 of the index" in found(diagnose(evidence), "page_shift").title


def test_quotes_are_labels_too(tmp_path: Path) -> None:
    rows = [{"id": "a", "question": "history of the harbour", "quote": page_texts()[0][:50]}]
    assert evidence_of_suite(write_suite(tmp_path, rows)).labels == {"a": {"1": 1.0}}


def test_chunks_without_an_id_and_stop_words() -> None:
    labels = {f"q{n}": {str(n): 1.0} for n in range(1, 5)}
    rankings = {f"q{n}": [str(n)] for n in range(1, 5)}
    ids, texts = (
        ["1", "2", "3", "4", "", ""],
        ["price of engine", "cost of boat", "size of car", "age of mill", "x", "y"],
    )
    questions = {"q1": "what is the price of the engine", "q2": "how much is the cost for a boat",
                 "q3": "what would be the size of this car", "q4": "and what is the age of your mill"}  # fmt: skip
    diagnosis = diagnose(RetrievalEvidence(labels, rankings, ids, texts, questions))
    assert "2 of 6 (33%) chunks" in found(diagnosis, "chunks_without_id").title
    assert "vocabulary_mismatch" not in [finding.code for finding in diagnosis.findings]


def test_other_forms_of_a_word_and_pairs_of_chinese_characters_are_no_other_vocabulary() -> None:
    english = [
        "The printer is returned with all cables. " * 9,
        "The batteries are charged in an hour. " * 9,
    ]
    asked = {"q1": "returning printers", "q2": "charge a battery"}
    chinese = ["图书馆周一至周五上午九点开放。", "每位读者最多可以借十本书。"]
    for texts, questions in (
        (english, asked),
        (chinese, {"q1": "图书馆几点开门？", "q2": "能借多少本书？"}),
    ):
        labels = {"q1": {"1": 1.0}, "q2": {"2": 1.0}}
        diagnosis = diagnose(
            RetrievalEvidence(labels, {"q1": ["1"], "q2": ["2"]}, ["1", "2"], texts, questions)
        )
        assert "vocabulary_mismatch" not in [finding.code for finding in diagnosis.findings]


def test_nothing_found_is_never_healthy() -> None:
    labels = {f"q{n}": {f"page-{n}a": 1.0} for n in range(3)}
    rankings = {q: ["elsewhere"] for q in labels}
    by_rankings = diagnose(RetrievalEvidence(labels, rankings))
    assert [finding.code for finding in by_rankings.findings] == ["never_retrieved"]
    assert not by_rankings.healthy
    ids = ["elsewhere", *(page for row in labels.values() for page in row)]
    with_index = diagnose(RetrievalEvidence(labels, rankings, ids))
    assert with_index.findings == ()
    assert not with_index.healthy
    assert with_index.sentence.startswith("not one relevant page is found; ndcg@5 is 0.000")


def test_absent_pages_are_named(healthy: RetrievalEvidence) -> None:
    half = {page for n, q in enumerate(healthy.labels) if n % 2 for page in healthy.labels[q]}
    ids = [page for page in healthy.index_ids or () if page not in half]
    rankings = {
        q: [page for page in row if page not in half] for q, row in healthy.rankings.items()
    }
    diagnosis = diagnose(RetrievalEvidence(healthy.labels, rankings, ids))
    finding = found(diagnosis, "missing_pages")
    assert set(finding.items) == half
    assert "15 of 30 (50%)" in finding.title
    assert (finding.score_if_fixed or 0) > (diagnosis.score or 1)


def test_other_faults_each_under_its_name(healthy: RetrievalEvidence) -> None:
    texts, ids = list(healthy.texts or ()), list(healthy.index_ids or ())
    twice = {q: [page for page in row for _ in range(2)] for q, row in healthy.rankings.items()}
    assert (
        "30 of 30 (100%)"
        in found(diagnose(RetrievalEvidence(healthy.labels, twice, ids)), "repeated_pages").title
    )
    copies = diagnose(RetrievalEvidence(healthy.labels, healthy.rankings, ids * 2, texts * 2))
    assert "60 of 120" in found(copies, "duplicate_chunks").title
    empty = diagnose(
        RetrievalEvidence(healthy.labels, healthy.rankings, [*ids, "61"], [*texts, " – \n"])
    )
    assert found(empty, "empty_chunks").items == ("61",)
    huge = diagnose(
        RetrievalEvidence(healthy.labels, healthy.rankings, [*ids, "61"], [*texts, "word " * 5000])
    )
    assert "5,000 words" in found(huge, "enormous_chunks").evidence
    some = {**healthy.labels, "a": {}, "b": {"1": 0.0}}
    assert found(diagnose(healthy.with_labels(some)), "unlabelled").items == ("a", "b")
    foreign = {q: f"quelle est la couleur numéro {q}" for q in healthy.labels}
    assert found(
        diagnose(RetrievalEvidence(healthy.labels, healthy.rankings, ids, texts, foreign)),
        "vocabulary_mismatch",
    ).items
    rest = {q: row for n, (q, row) in enumerate(healthy.rankings.items()) if n % 3}
    assert (
        len(found(diagnose(RetrievalEvidence(healthy.labels, rest, ids)), "missing_queries").items)
        == 10
    )


def test_no_label_at_all_is_not_healthy(healthy: RetrievalEvidence) -> None:
    diagnosis = diagnose(healthy.with_labels({query: {} for query in healthy.labels}))
    assert not diagnosis.healthy
    assert "nothing to measure" in diagnosis.sentence


def test_the_command_on_recorded_rankings_and_ids_alone(tmp_path: Path) -> None:
    (tmp_path / "labels.json").write_text(json.dumps({f"q{n}": [n + 3] for n in range(20)}))
    (tmp_path / "run.json").write_text(
        json.dumps({f"q{n}": [n, n, n + 50, 900 + n] for n in range(20)})
    )
    (tmp_path / "ids.txt").write_text("\n".join(str(n) for n in range(70)))
    files = [
        "--qrels",
        str(tmp_path / "labels.json"),
        "--run",
        str(tmp_path / "run.json"),
        "--index-ids",
        str(tmp_path / "ids.txt"),
    ]
    told = json.loads(
        CliRunner().invoke(command, [*files, "--json"], catch_exceptions=False).stdout
    )
    assert [finding["code"] for finding in told["findings"]] == ["page_shift", "repeated_pages"]
    assert (told["healthy"], told["score"]) == (False, 0.0)
    shown = CliRunner().invoke(command, files, catch_exceptions=False).stdout
    assert "page n − 3 of" in shown
    assert "gain:" in shown
    assert CliRunner().invoke(command, []).exit_code == 2


def test_the_command_on_a_suite(tmp_path: Path) -> None:
    rows = [{**row, "relevant": [str(int(row["relevant"][0]) - 4)]} for row in question_rows()]  # type: ignore[index]
    result = CliRunner().invoke(command, [str(write_suite(tmp_path, rows))], catch_exceptions=False)
    assert "page n + 4 of" in result.stdout
    assert "action:" in result.stdout
    assert len(page_texts()) == 60


def test_the_command_on_a_run(tmp_path: Path) -> None:
    from answerkey.cli.score import score_command as score

    rows = [
        {"id": f"q{n}", "question": f"question {n}", "answer": "an answer", "relevant": [str(n + 7)], "retrieved": [str(n), str(n + 90), str(n)]}
        for n in range(12)
    ]  # fmt: skip
    (tmp_path / "answers.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    options = ["--metrics", "recall@5", "--out", str(tmp_path / "out"), "--no-charts"]
    scored = CliRunner().invoke(score, [str(tmp_path / "answers.jsonl"), *options])
    run = next((tmp_path / "out").rglob("run.json"), None)
    assert run is not None, scored.output
    told = json.loads(
        CliRunner().invoke(command, [str(run.parent), "--json"], catch_exceptions=False).stdout
    )
    assert [finding["code"] for finding in told["findings"]] == ["page_shift", "repeated_pages"]
    assert "page n − 7 of" in told["findings"][0]["title"]
    assert told["checked"] == ["labels", "rankings"]
