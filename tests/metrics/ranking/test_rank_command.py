"""`answerkey rank` over every kind of file."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from answerkey.cli.rank import rank_command as command
from answerkey.errors import AnswerkeyError
from answerkey.retrieval.rankings import read_relevance_labels

LABELS = {
    "labels.json": '{"q1": [34, "35"], "q2": {"7": 2, " 8": 1}, "q3": []}',
    "labels.csv": 'query_id,relevant\nq1,"[34, ""35""]"\nq2,"{\'7\': 2, \' 8\': 1}"\nq3,\n',
    "qrels": "q1 0 34 1\nq1 0 35 1\nq2 0 7 2\nq2 0 8 1\nq3 0 1 0\n",
    "test.tsv": "query-id\tcorpus-id\tscore\nq1\t34\t1\nq1\t35\t1\nq2\t7\t2\nq2\t8\t1\nq3\t1\t0\n",
}
RUNS = {
    "run.json": '{"q1": [34, "78", " 35", "102", "45"], "q4": ["1"]}',
    "scored.json": '{"q1": {"34": 5, "78": 4, "35": 3, "102": 2, "45": 1}, "q4": {"1": 0}}',
    "run.csv": "query_id,retrieved\r\nq1,\"['34', 78, '35', 102, 45]\"\r\nq4,1\r\n",
    "run.trec": "q1 Q0 45 9 1 x\nq1 Q0 34 9 5 x\nq1 Q0 78 9 4 x\nq1 Q0 35 9 3 x\nq1 Q0 102 9 2 x\nq4 Q0 1 1 1 x\n",
}


def run_command(folder: Path, labels: str, run: str, *options: str) -> dict[str, Any]:
    arguments = ["--qrels", str(folder / labels), "--run", str(folder / run), "--json", *options]
    result = CliRunner().invoke(command, arguments, catch_exceptions=False)
    return json.loads(result.stdout)


@pytest.mark.parametrize("labels", LABELS)
@pytest.mark.parametrize("run", RUNS)
def test_every_kind_of_file_gives_the_same(tmp_path: Path, labels: str, run: str) -> None:
    (tmp_path / labels).write_bytes(b"\xef\xbb\xbf" + LABELS[labels].encode())
    (tmp_path / run).write_text(RUNS[run])
    told = run_command(tmp_path, labels, run, "--metrics", "ndcg@5,recall@5")
    assert list(told) == ["mean", "sd", "queries", "unlabelled", "missing"]
    assert told["queries"]["q1"] == pytest.approx({"ndcg@5": 0.919720789, "recall@5": 1.0})
    assert told["mean"] == pytest.approx({"ndcg@5": 0.919720789 / 2, "recall@5": 0.5})
    assert told["sd"]["recall@5"] == pytest.approx(2**-0.5)
    assert (told["unlabelled"], told["missing"]) == (["q3", "q4"], ["q2"])


def test_repeats_are_collapsed_or_counted_and_warned_of(tmp_path: Path) -> None:
    (tmp_path / "l.json").write_text('{"q": ["1"]}')
    (tmp_path / "r.json").write_text('{"q": ["1", "1", "2"]}')
    arguments = [
        "--qrels",
        str(tmp_path / "l.json"),
        "--run",
        str(tmp_path / "r.json"),
        "--metrics",
        "recall@3,ndcg@3",
    ]
    page = CliRunner().invoke(command, [*arguments, "--json"])
    chunk = CliRunner().invoke(command, [*arguments, "--json", "--unit", "chunk"])
    assert json.loads(page.stdout)["mean"]["recall@3"] == 1.0
    assert json.loads(chunk.stdout)["mean"] == pytest.approx(
        {"recall@3": 1.0, "ndcg@3": 1.6309}, abs=1e-4
    )
    assert "above 1" in chunk.stderr
    assert "above 1" not in page.stderr
    assert "scored 1/1" in CliRunner().invoke(command, arguments).stdout


@pytest.mark.parametrize(
    ("name", "text", "says"),
    [
        ("r.json", "[1, 2]", "expected an object"),
        ("r.json", "{", "not valid JSON"),
        ("r.json", '{"q": [true]}', "expected an id"),
        ("r.json", '{"q": {"a": NaN}}', "NaN is not allowed"),
        ("r.json", '{"q": true}', "expected an id"),
        ("r.json", "{}", "no query found"),
        ("r.csv", "query_id,retrived\nq,[1]\n", 'did you mean "retrived"'),
        ("r.csv", "query_id,retrieved\nq,[1]\nq,[2]\n", "comes twice"),
        (
            "r.csv",
            "query_id,retrieved\nq,[__import__('os')]\n",
            "line 2, column .retrieved.: found",
        ),
        ("r.csv", "query_id,retrieved\nq,\"{'alpha','beta'}\"\n", "a set has no order"),
        (
            "r.csv",
            "query_id,retrieved\nq,\"[{'alpha','beta'}]\"\n",
            "an object of type set, expected an id",
        ),
        ("r.json", f'{{"q": [1{"0" * 5000}]}}', "a whole number of 5001 digits"),
        ("r.json", f'{{"q": {{"a": 1{"0" * 400}}}}}', "a whole number of 401 digits"),
        ("r.trec", "q1 34 1\n", "3 columns"),
        ("r.trec", "q1 Q0 34 1 high x\n", "expected a number"),
        ("r.trec", "\n", "no ranking found"),
    ],
)
def test_bad_files_are_one_clear_line(tmp_path: Path, name: str, text: str, says: str) -> None:
    (tmp_path / "l.json").write_text('{"q": ["1"]}')
    (tmp_path / name).write_text(text)
    with pytest.raises(AnswerkeyError, match=says) as caught:
        run_command(tmp_path, "l.json", name)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("l.json", '{"q": {"1": 1e400}}'),
        ("l.json", f'{{"q": {{"1": 1{"0" * 400}}}}}'),
        ("l.json", '{"q": {"1": -1e101}}'),
        ("l.trec", "q 0 1 1e400\n"),
        ("l.csv", 'query_id,relevant\nq,"{""1"": 1e400}"\n'),
    ],
)
def test_a_grade_past_all_sense_is_refused(tmp_path: Path, name: str, text: str) -> None:
    (tmp_path / "r.json").write_text('{"q": ["1"]}')
    (tmp_path / name).write_text(text)
    with pytest.raises(AnswerkeyError, match=r"expected a (finite )?number|too large|digits"):
        run_command(tmp_path, name, "r.json")


def test_labels_in_a_set_are_read_in_one_order(tmp_path: Path) -> None:
    labels = tmp_path / "l.csv"
    labels.write_text("query_id,relevant\nq,\"{'b', 'c', 'a'}\"\n")
    assert list(read_relevance_labels(labels)["q"]) == ["a", "b", "c"]


def test_labels_that_occur_in_no_ranking_are_warned_of_with_the_right_form(tmp_path: Path) -> None:
    (tmp_path / "labels.json").write_text(
        json.dumps({f"q{n}": [f"manual.pdf page {n}"] for n in range(1, 4)})
    )
    (tmp_path / "run.json").write_text(
        json.dumps({f"q{n}": [f"manual.pdf#{n}", "guide.pdf#1"] for n in range(1, 4)})
    )
    files = [
        "--qrels",
        str(tmp_path / "labels.json"),
        "--run",
        str(tmp_path / "run.json"),
        "--json",
    ]
    result = CliRunner().invoke(command, files, catch_exceptions=False)
    assert 'for "manual.pdf page 1" write "manual.pdf#1"' in result.stderr
    assert json.loads(result.stdout)["mean"]["mrr"] == 0.0
