"""`ak.evaluate` and its relatives: every line of the Python section of the specification."""

from __future__ import annotations

import asyncio
import json
import threading
import tomllib
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

import answerkey as ak
from answerkey.errors import IncompleteError, InputError, SettingsError

ROWS: list[dict[str, Any]] = [
    {"id": "q1", "question": "How long can I return goods?", "expected": "30 days", "answer": "30 days.", "contexts": ["Goods may be returned within 30 days."]},
    {"id": "q2", "question": "What does delivery cost?", "expected": "RM 8", "answer": "It costs RM 80.", "contexts": ["Standard delivery costs RM 8."]},
    {"id": "q3", "question": "When do points expire?", "expected": "After 24 months", "answer": "After 24 months.", "contexts": ["Points expire after 24 months."]},
]  # fmt: skip
METRICS = ["token_f1", "exact_match"]
RUBRIC = '{"accuracy": 5, "completeness": 4, "citation_quality": 3, "coherence": 3, "reasoning": "fine"}'


def quiet(data: Any = ROWS, metrics: Any = METRICS, **options: Any) -> ak.Run:
    return ak.evaluate(data, metrics, progress=False, **options)


def frames() -> dict[str, Callable[[list[dict[str, Any]]], Any]]:
    import datasets
    import pandas
    import polars
    import pyarrow

    return {
        "dicts": lambda rows: rows,
        "tuple": tuple,
        "generator": iter,
        "columns": lambda rows: {name: [row[name] for row in rows] for name in rows[0]},
        "pandas": pandas.DataFrame,
        "polars": polars.DataFrame,
        "lazy polars": lambda rows: polars.DataFrame(rows).lazy(),
        "hugging face": datasets.Dataset.from_list,
        "arrow": pyarrow.Table.from_pylist,
        "namespaces with model_dump": lambda rows: [SimpleNamespace(model_dump=lambda row=row: row) for row in rows],
    }


@pytest.mark.parametrize("kind", frames())
def test_data_by_shape(kind: str) -> None:
    run = quiet(frames()[kind](ROWS))
    assert [outcome.case.id for outcome in run] == ["q1", "q2", "q3"]
    assert run.to_dicts() == quiet().to_dicts()
    assert run["q1"].response.contexts == ("Goods may be returned within 30 days.",)


def test_cases_paths_and_globs(tmp_path: Path) -> None:
    path = tmp_path / "rows.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in ROWS))
    expected = quiet().summary.mean
    assert quiet(path).summary.mean == expected
    assert quiet(str(tmp_path / "*.jsonl")).summary.mean == expected
    assert quiet(ak.load_cases(path)).summary.mean == expected
    assert [case.id for case in ak.load_cases(str(tmp_path / "*.jsonl"))] == ["q1", "q2", "q3"]


def test_a_run_as_an_object(tmp_path: Path) -> None:
    run = quiet(profile="uniform", embedding="none")
    assert run.summary.mean["token_f1"] == pytest.approx(2.4 / 3, abs=0.2)
    assert run.summary.pass_rate is not None
    assert len(run) == 3
    assert run["q2"].case.id == run[1].case.id == "q2"
    assert [outcome.case.id for outcome in run[:2]] == ["q1", "q2"]
    assert {outcome.case.id for outcome in run.failures()} == {o.case.id for o in run if not o.verdict.passed}
    scores = [outcome.verdict.score for outcome in run.failures()]
    assert scores == sorted(scores)
    frame = run.to_pandas()
    assert list(frame["id"]) == ["q1", "q2", "q3"]
    assert list(frame["token_f1"]) == [o.scores["token_f1"].value for o in run]
    assert len(repr(run).splitlines()) == 3
    assert "3 cases" in repr(run)
    page = run.to_html(tmp_path / "report.html")
    assert "q2" in page.read_text(encoding="utf-8")
    with pytest.raises(InputError, match='no case "q22" in this run; did you mean "q2"'):
        run["q22"]


def test_nothing_is_written_before_it_is_asked_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
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
    rows = [{"id": "x", "question": "<script>alert(1)</script>", "answer": "<b>no</b>", "expected": "yes"}]
    page = quiet(rows, profile="uniform", embedding="none")._repr_html_()
    assert "<script>" not in page
    assert "&lt;b&gt;no" in page
    assert "worst cases" in page


class Bot:
    def __call__(self, question: str) -> str:
        return "30 days"


class Chain:
    """A LangChain chain by shape."""

    input_keys = ("query",)

    def invoke(self, asked: dict[str, str]) -> dict[str, Any]:
        document = SimpleNamespace(page_content="Within 30 days.", metadata={"source": "faq.pdf", "page": 3})
        return {"query": asked["query"], "result": "30 days", "source_documents": [document]}


class Runnable:
    """A LangChain runnable by shape, with a chat model at its end."""

    def invoke(self, question: str) -> Any:
        return SimpleNamespace(content="30 days", response_metadata={})


class QueryEngine:
    """A LlamaIndex query engine by shape."""

    def query(self, question: str) -> Any:
        node = SimpleNamespace(node=SimpleNamespace(text="Within 30 days.", metadata={}, node_id="n1"), score=0.9)
        return SimpleNamespace(response="30 days", source_nodes=[node])


async def async_bot(question: str) -> str:
    await asyncio.sleep(0.001)
    return "30 days"


def with_history(question: str, history: Any = ()) -> dict[str, Any]:
    return {"answer": "30 days", "passages": ["Within 30 days."]}


@pytest.mark.parametrize(
    "target",
    [
        lambda question: "30 days", Bot(), async_bot, with_history, Chain(), Runnable(), QueryEngine(),
        lambda question: ak.Response(answer="30 days"),
    ],
    ids=["lambda", "callable object", "async", "history", "chain", "runnable", "query engine", "response"],
)  # fmt: skip
def test_targets_by_shape(target: Any) -> None:
    run = quiet(target=target, workers=2)
    assert [outcome.response.answer for outcome in run] == ["30 days"] * 3
    if isinstance(target, (Chain, QueryEngine)):
        assert run["q1"].response.contexts == ("Within 30 days.",)


def test_a_target_that_raises_is_an_error_of_that_case() -> None:
    def bot(question: str) -> str:
        if "delivery" in question:
            raise ValueError("no idea")
        return "30 days"

    run = quiet(target=bot)
    assert run["q2"].response.error == "raised ValueError: no idea"
    assert run.summary.figures.totals.errors == 1
    assert [outcome.case.id for outcome in run.failures()] == ["q2"]
    assert "1 error" in repr(run)


def length(case: ak.Case, response: ak.Response) -> int:
    return len(response.answer or "")


async def slowly(case: ak.Case, response: ak.Response) -> ak.Score:
    await asyncio.sleep(0.001)
    return ak.Score(0.5, "halfway")


def test_metrics_as_functions() -> None:
    run = quiet(metrics=["token_f1", length, slowly, lambda case, response: response.answer == "30 days."])
    assert run.summary.mean["length"] == pytest.approx((8 + 15 + 16) / 3)
    assert run["q1"].scores["slowly"] == ak.Score(0.5, "halfway")
    assert run["q1"].scores["lambda_3"].value == 1.0
    assert run["q2"].scores["lambda_3"].value == 0.0
    assert quiet(metrics=length).summary.mean == {"length": run.summary.mean["length"]}
    with pytest.raises(SettingsError, match='unknown metric "length"'):
        quiet(metrics=["length"])  # not registered for good


def test_a_metric_that_raises_is_an_error_of_that_score() -> None:
    async def fails(case: ak.Case, response: ak.Response) -> float:
        raise ValueError(case.id)

    run = quiet(metrics=["token_f1", fails, lambda case, response: 1 / 0])
    assert run["q1"].scores["fails"].error == "ValueError: q1"
    assert "ZeroDivisionError" in str(run["q1"].scores["lambda_2"].error)
    assert run["q1"].scores["token_f1"].value == 1.0


async def async_judge(prompt: str) -> str:
    await asyncio.sleep(0.001)
    return RUBRIC


@pytest.mark.parametrize(
    "judge",
    [lambda prompt: RUBRIC, async_judge, SimpleNamespace(invoke=lambda prompt: SimpleNamespace(content=RUBRIC))],
    ids=["lambda", "async", "chat model"],
)
def test_judges_as_functions(judge: Any) -> None:
    run = quiet(metrics=(), profile="rubric", judge=judge)
    assert run.summary.mean["rubric.accuracy"] == 5
    assert run.summary.mean["rubric.citation_quality"] == 3
    relevance = quiet(metrics=["judge.relevance"], judge=lambda prompt: '{"score": 0.25, "reason": "r"}')
    assert relevance[0].scores["judge.relevance"].value == 0.25


def test_the_judge_by_name_and_a_judge_that_raises() -> None:
    assert quiet(metrics=(), profile="rubric", judge="local").summary.mean["rubric.coherence"] is not None

    def broken(prompt: str) -> str:
        raise RuntimeError("out of credit")

    run = quiet(metrics=["judge.relevance"], judge=broken)
    assert "the judge function raised RuntimeError: out of credit" in str(run["q1"].scores["judge.relevance"].error)
    with pytest.raises(SettingsError, match='did you mean "groq"'):
        quiet(metrics=["judge.relevance"], judge="grok")


def test_inside_a_running_loop() -> None:
    async def notebook() -> tuple[ak.Run, ak.Run]:
        loop = asyncio.get_running_loop()
        seen: list[Any] = []

        async def bot(question: str) -> str:
            seen.append(asyncio.get_running_loop())
            return "30 days"

        blocking = quiet(target=async_bot, metrics=[slowly])
        free = await ak.aevaluate(ROWS, [slowly], target=bot, judge=async_judge, progress=False)
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
    b = quiet(rows, metrics=(), profile="uniform", embedding="none", target=lambda q: "I do not know")
    compared = ak.compare(a, b)
    assert compared.verdict == "worse"
    saved = ak.compare(a.save(tmp_path), b)
    assert saved.sentence == compared.sentence
    assert compared.sentence in repr(compared)
    assert compared.sentence.split(":")[0] in compared._repr_html_()
    assert {row["metric"] for row in compared.to_dicts()} >= {"overall", "semantic_relevance"}
    assert compared.to_pandas()["metric"].iloc[0] == "overall"

    ranked = ak.rank({"q1": ["b"], "q2": {"x": 2}}, {"q1": ["a", "b"], "q2": {"x": 0.9}}, ["ndcg@10", "mrr"])
    assert ranked.mean == {"ndcg@10": pytest.approx(0.815, abs=1e-3), "mrr": 0.75}
    assert ranked.to_dicts()[0] == {"query": "q1", "ndcg@10": pytest.approx(0.6309, abs=1e-3), "mrr": 0.5}
    assert "mrr" in repr(ranked)
    assert "<table" in ranked._repr_html_()
    assert len(ranked.to_pandas()) == 2
    (tmp_path / "labels.json").write_text('{"q1": ["b"]}')
    assert ak.rank(tmp_path / "labels.json", {"q1": ["b"]}, ["mrr"]).mean == {"mrr": 1.0}

    assert ak.score("token_f1", answer="30 days", expected="30 days").value == 1.0
    both = ak.score(["exact_match", length], answer="30 days", expected="no")
    assert (both["exact_match"].value, both["length"].value) == (0.0, 7.0)
    assert (
        ak.score("judge.relevance", question="q", answer="a", judge=lambda p: '{"score": 1, "reason": ""}').value == 1
    )


def test_run_suite(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "rows.jsonl").write_text("".join(json.dumps(row) + "\n" for row in ROWS))
    suite = tmp_path / "suite.toml"
    suite.write_text('cases = ["rows.jsonl"]\nmetrics = ["token_f1"]\n[gate]\nrequire = ["mean[token_f1] >= 0.5"]\n')
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
        (ROWS, {"metrics": ()}, "nothing to measure"),
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


def test_missing_cells_of_data_frames() -> None:
    import pandas

    frame = pandas.DataFrame(ROWS)
    frame["note"] = [None, float("nan"), "kept"]
    frame["type"] = pandas.array(["a", pandas.NA, "b"], dtype="string")
    frame.loc[2, "expected"] = float("nan")
    run = quiet(frame)
    assert [o.case.type for o in run] == ["a", None, "b"]
    assert [o.case.note for o in run] == [None, None, "kept"]
    assert run["q3"].scores["token_f1"].value is None
    frame.loc[1, "question"] = float("nan")
    with pytest.raises(InputError, match='data, row 2, column "question": found None'):
        quiet(frame)


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
    assert cli("score", path, *options, "--out", tmp_path / "scored", "--no-charts", "--quiet").code == 0
    (tmp_path / "suite.toml").write_text(
        'cases = ["rows.jsonl"]\nmetrics = ["token_f1"]\nprofile = "rag"\njudge = "local"\n'
    )
    assert cli("run", tmp_path / "suite.toml", "--out", tmp_path / "run", "--no-charts", "--quiet").code == 0
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
    for name in ("evaluate", "aevaluate", "run_suite", "open_run", "load_cases", "compare", "rank", "score", "Run"):
        assert ">>>" in (getattr(ak, name).__doc__ or ""), f"{name} has no example"
    project = tomllib.loads((root.parents[1] / "pyproject.toml").read_text())["project"]
    assert project["version"] == ak.__version__


def _by_name(*, question: str, history: list[object]) -> str:
    return f"{question} {len(history)}"


def _pieces(question: str):
    yield from (question, "!")


async def _async_pieces(question: str):
    for piece in (question, "!"):
        yield piece


def _messages(question: str):
    yield from (SimpleNamespace(content=question), SimpleNamespace(content="!"))


@pytest.mark.parametrize(
    ("bot", "answer"),
    [
        (_by_name, "Who? 0"),
        (_pieces, "Who?!"),
        (_async_pieces, "Who?!"),
        (_messages, "Who?!"),
        (lambda question: 42, "42"),
    ],
)
def test_bots_that_stream_or_take_the_question_by_name(bot: Callable[..., object], answer: str) -> None:
    row = {"question": "Who?", "expected": "Ann"}
    assert quiet([row], "exact_match", target=bot).outcomes[0].response.answer == answer
    inside = asyncio.run(ak.aevaluate([row], "exact_match", target=bot, progress=False))
    assert inside.outcomes[0].response.answer == answer


def test_without_a_profile_nothing_passed_or_failed() -> None:
    run = quiet()
    assert list(run.to_pandas()["passed"]) == [None] * 3
    assert "no failures" not in repr(run)


def test_a_needed_column_under_a_misspelt_name_is_an_error() -> None:
    with pytest.raises(InputError, match='which token_f1 needs; did you mean the column "expcted"'):
        quiet([{"question": "Who?", "answer": "Ann", "expcted": "Ann"}], "token_f1")


def test_answers_that_a_live_target_makes_useless_are_pointed_out(capsys: pytest.CaptureFixture[str]) -> None:
    run = quiet([{"question": "Who?", "answer": "Ann"}], "token_f1", target=str)
    assert run.summary.mean == {"token_f1": None}
    assert 'if "answer" holds the expected answers, rename it to "expected"' in capsys.readouterr().err
