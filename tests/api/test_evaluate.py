"""`ak.evaluate` and its relatives: every line of the Python section of the specification."""

from __future__ import annotations

import asyncio
import json
import threading
import tomllib
from pathlib import Path
from typing import Any

import pytest
from tests.support.evaluated import METRICS, ROWS, async_bot, length, quiet, slowly

import answerkey as ak
from answerkey.errors import IncompleteError, InputError


def test_a_run_as_an_object(tmp_path: Path) -> None:
    run = quiet(profile="uniform", embedding="none")
    assert run.summary.mean["token_f1"] == pytest.approx(2.4 / 3, abs=0.2)
    assert run.summary.pass_rate is not None
    assert len(run) == 3
    assert run["q2"].case.id == run[1].case.id == "q2"
    assert [outcome.case.id for outcome in run[:2]] == ["q1", "q2"]
    assert {outcome.case.id for outcome in run.failures()} == {
        o.case.id for o in run if not o.verdict.passed
    }
    scores = [outcome.verdict.score for outcome in run.failures()]
    assert scores == sorted(scores)
    frame = run.to_pandas()
    assert list(frame["id"]) == ["q1", "q2", "q3"]
    assert list(frame["token_f1"]) == [o.scores["token_f1"].value for o in run]
    assert len(repr(run).splitlines()) == 5
    assert "3 cases" in repr(run)
    page = run.to_html(tmp_path / "report.html")
    assert "q2" in page.read_text(encoding="utf-8")
    with pytest.raises(InputError, match='no case "q22" in this run; did you mean "q2"'):
        run["q22"]


def test_nothing_is_written_before_it_is_asked_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    run = quiet()
    assert list(tmp_path.iterdir()) == []
    folder = run.save("results")
    again = ak.open_run(folder)
    assert again.to_dicts() == run.to_dicts()
    assert again.summary.mean == run.summary.mean
    assert (folder / "report.html").is_file()
    assert again.save(tmp_path / "copy").name == folder.name
    written = quiet(out=tmp_path / "out")
    assert written.folder is not None
    assert (written.folder / "summary.json").is_file()
    assert written.to_dicts() == run.to_dicts()


def test_the_html_of_a_run_is_inert() -> None:
    rows = [
        {
            "id": "x",
            "question": "<script>alert(1)</script>",
            "answer": "<b>no</b>",
            "expected": "yes",
        }
    ]
    page = quiet(rows, profile="uniform", embedding="none")._repr_html_()
    assert "<script>" not in page
    assert "&lt;b&gt;no" in page
    assert "worst cases" in page


def test_inside_a_running_loop() -> None:
    async def notebook() -> tuple[ak.Run, ak.Run]:
        loop = asyncio.get_running_loop()
        seen: list[Any] = []

        async def bot(question: str) -> str:
            seen.append(asyncio.get_running_loop())
            return "30 days"

        blocking = quiet(target=async_bot, metrics=[slowly])
        free = await ak.aevaluate(ROWS, [slowly], target=bot, progress=False)
        assert set(seen) == {loop}, "async code of aevaluate runs on the caller's loop"
        return blocking, free

    blocking, free = asyncio.run(notebook())
    assert blocking.to_dicts()[0]["scores"] == free.to_dicts()[0]["scores"]


def test_from_several_threads() -> None:
    found: list[float | None] = []

    def work(number: int) -> None:
        run = quiet(metrics=[lambda case, response: number], target=lambda question: str(number))
        found.append(run.summary.mean["lambda_1"])

    threads = [threading.Thread(target=work, args=(n,)) for n in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(found) == [0, 1, 2, 3, 4, 5]  # type: ignore[type-var]


def test_compare_rank_and_score(tmp_path: Path) -> None:
    rows = [{**ROWS[n % 3], "id": f"c{n}"} for n in range(12)]
    a = quiet(rows, metrics=(), profile="uniform", embedding="none")
    b = quiet(
        rows, metrics=(), profile="uniform", embedding="none", target=lambda q: "I do not know"
    )
    compared = ak.compare(a, b)
    assert compared.verdict == "worse"
    saved = ak.compare(a.save(tmp_path), b)
    assert saved.sentence == compared.sentence
    assert compared.sentence in repr(compared)
    assert compared.sentence.split(":")[0] in compared._repr_html_()
    assert {row["metric"] for row in compared.to_dicts()} >= {"overall", "semantic_relevance"}
    assert compared.to_pandas()["metric"].iloc[0] == "overall"

    ranked = ak.rank(
        {"q1": ["b"], "q2": {"x": 2}}, {"q1": ["a", "b"], "q2": {"x": 0.9}}, ["ndcg@10", "mrr"]
    )
    assert ranked.mean == {"ndcg@10": pytest.approx(0.815, abs=1e-3), "mrr": 0.75}
    assert ranked.to_dicts()[0] == {
        "query": "q1",
        "ndcg@10": pytest.approx(0.6309, abs=1e-3),
        "mrr": 0.5,
    }
    assert "mrr" in repr(ranked)
    assert "<table" in ranked._repr_html_()
    assert len(ranked.to_pandas()) == 2
    (tmp_path / "labels.json").write_text('{"q1": ["b"]}')
    assert ak.rank(tmp_path / "labels.json", {"q1": ["b"]}, ["mrr"]).mean == {"mrr": 1.0}

    assert ak.score("token_f1", answer="30 days", expected="30 days").value == 1.0
    both = ak.score(["exact_match", length], answer="30 days", expected="no")
    assert (both["exact_match"].value, both["length"].value) == (0.0, 7.0)
    assert (
        ak.score(
            "judge.relevance",
            question="q",
            answer="a",
            judge=lambda p: '{"score": 1, "reason": ""}',
        ).value
        == 1
    )


def test_run_suite(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "rows.jsonl").write_text("".join(json.dumps(row) + "\n" for row in ROWS))
    suite = tmp_path / "suite.toml"
    suite.write_text(
        'cases = ["rows.jsonl"]\nmetrics = ["token_f1"]\n[gate]\nrequire = ["mean[token_f1] >= 0.5"]\n'
    )
    run = ak.run_suite(suite, limit=2, progress=False)
    assert len(run) == 2
    assert [path.name for path in tmp_path.iterdir() if path.is_dir()] == []
    assert run.summary.gates[0].passed
    assert run.passed
    written = ak.run_suite(suite, out=tmp_path / "out", settings={"run.workers": 2}, progress=False)
    assert written.folder is not None
    assert written.manifest.settings.run.workers == 2


@pytest.mark.parametrize(
    ("data", "options", "words"),
    [
        ([], {}, "data: no case found"),
        ([{"question": "x"}], {}, 'no column "answer"'),
        ([{"qestion": "x", "answer": "y"}], {}, 'row 1: no column "question" among qestion, answer; did you mean "qestion"?'),
        ([ROWS[0], {"question": "", "answer": "y"}], {}, 'data, row 2, column "question"'),
        ([ROWS[0], 3], {}, "data, row 2: found int, expected a dict or a Case"),
        ([{"question": "q", "answer": ["a"]}], {}, 'data, row 1, column "answer"'),
        ([ROWS[0], ROWS[0]], {}, 'the id "q1" is used twice'),
        ({"question": ["a", "b"], "answer": ["c"]}, {}, "columns of different lengths"),
        (object(), {}, "data: found object, expected a list of dicts"),
        ("no_such_file.csv", {}, "no such file, folder or glob"),
        (ROWS, {"metrics": ["token_f2"]}, 'unknown metric "token_f2"; did you mean "token_f1"?'),
        (ROWS, {"metrics": [3]}, "metrics: found int, expected a name or a function"),
        (ROWS, {"profile": "ragg"}, 'did you mean "rag"?'),
        (ROWS, {"target": 3}, "target: found int, expected a function of the question"),
        (ROWS, {"metrics": (), "profile": "rubric"}, "needs a judge"),
        (ROWS, {"workers": 0}, "workers"),
    ],
)  # fmt: skip
def test_mistakes_are_answerkey_errors(data: Any, options: dict[str, Any], words: str) -> None:
    with pytest.raises(ak.AnswerkeyError) as raised:
        quiet(data, **{"metrics": METRICS, **options})
    assert words in str(raised.value)


def test_an_unreachable_target_stops_and_keeps_what_was_done() -> None:
    rows = [{"id": str(n), "question": f"question {n}"} for n in range(40)]

    def bot(question: str) -> str:
        raise ConnectionError("refused")

    with pytest.raises(IncompleteError, match="refused") as raised:
        quiet(rows, metrics=["answer_length"], target=bot)
    assert isinstance(raised.value.run, ak.Run)
    assert 0 < len(raised.value.run) < 40


def test_the_same_scores_as_the_command_line(tmp_path: Path, cli: Any) -> None:
    path = tmp_path / "rows.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in ROWS))
    options = ["--metrics", "token_f1", "--profile", "rag", "--judge", "local"]
    assert (
        cli("score", path, *options, "--out", tmp_path / "scored", "--no-charts", "--quiet").code
        == 0
    )
    (tmp_path / "suite.toml").write_text(
        'cases = ["rows.jsonl"]\nmetrics = ["token_f1"]\nprofile = "rag"\njudge = "local"\n'
    )
    assert (
        cli(
            "run", tmp_path / "suite.toml", "--out", tmp_path / "run", "--no-charts", "--quiet"
        ).code
        == 0
    )
    given = quiet(ROWS, metrics=["token_f1"], profile="rag", judge="local").to_dicts()
    for folder in ("scored", "run"):
        (found,) = (tmp_path / folder).iterdir()
        lines = [json.loads(line) for line in (found / "results.jsonl").read_text().splitlines()]
        for line, mine in zip(lines, given, strict=True):
            assert line["verdict"] == mine["verdict"]
            assert line["scores"] == mine["scores"]


def test_everything_public_is_typed_documented_and_importable() -> None:
    root = Path(ak.__file__).parent
    assert (root / "py.typed").is_file()
    for name in ak.__all__:
        thing = getattr(ak, name)
        if callable(thing):
            assert thing.__doc__, name
    for name in (
        "evaluate",
        "aevaluate",
        "run_suite",
        "open_run",
        "load_cases",
        "compare",
        "rank",
        "score",
        "Run",
    ):
        assert ">>>" in (getattr(ak, name).__doc__ or ""), f"{name} has no example"
    project = tomllib.loads((root.parents[1] / "pyproject.toml").read_text())["project"]
    assert project["version"] == ak.__version__


def test_without_a_profile_nothing_passed_or_failed() -> None:
    run = quiet()
    assert list(run.to_pandas()["passed"]) == [None] * 3
    assert "no failures" not in repr(run)


def test_a_needed_column_under_a_misspelt_name_is_an_error() -> None:
    with pytest.raises(InputError, match='which token_f1 needs; did you mean the column "expcted"'):
        quiet([{"question": "Who?", "answer": "Ann", "expcted": "Ann"}], "token_f1")


def test_answers_that_a_live_target_makes_useless_are_pointed_out(
    capsys: pytest.CaptureFixture[str],
) -> None:
    run = quiet([{"question": "Who?", "answer": "Ann"}], "token_f1", target=str)
    assert run.summary.mean == {"token_f1": None}
    assert (
        'if "answer" holds the expected answers, rename it to "expected"' in capsys.readouterr().err
    )
