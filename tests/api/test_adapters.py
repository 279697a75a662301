"""Data, targets, metrics and judges in every shape that `ak.evaluate` takes."""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from tests.support.evaluated import ROWS, RUBRIC, async_bot, async_judge, length, quiet, slowly

import answerkey as ak
from answerkey.errors import InputError, SettingsError


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
        "namespaces with model_dump": lambda rows: [
            SimpleNamespace(model_dump=lambda row=row: row) for row in rows
        ],
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


class Bot:
    def __call__(self, question: str) -> str:
        return "30 days"


class Chain:
    """A LangChain chain by shape."""

    input_keys = ("query",)

    def invoke(self, asked: dict[str, str]) -> dict[str, Any]:
        document = SimpleNamespace(
            page_content="Within 30 days.", metadata={"source": "faq.pdf", "page": 3}
        )
        return {"query": asked["query"], "result": "30 days", "source_documents": [document]}


class Runnable:
    """A LangChain runnable by shape, with a chat model at its end."""

    def invoke(self, question: str) -> Any:
        return SimpleNamespace(content="30 days", response_metadata={})


class QueryEngine:
    """A LlamaIndex query engine by shape."""

    def query(self, question: str) -> Any:
        node = SimpleNamespace(
            node=SimpleNamespace(text="Within 30 days.", metadata={}, node_id="n1"), score=0.9
        )
        return SimpleNamespace(response="30 days", source_nodes=[node])


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
    assert [outcome.case.id for outcome in run.worst(1)] == ["q2"]
    assert "1 error" in repr(run)


def test_metrics_as_functions() -> None:
    run = quiet(
        metrics=["token_f1", length, slowly, lambda case, response: response.answer == "30 days."]
    )
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


@pytest.mark.parametrize(
    "judge",
    [
        lambda prompt: RUBRIC,
        async_judge,
        SimpleNamespace(invoke=lambda prompt: SimpleNamespace(content=RUBRIC)),
    ],
    ids=["lambda", "async", "chat model"],
)
def test_judges_as_functions(judge: Any) -> None:
    run = quiet(metrics=(), profile="rubric", judge=judge)
    assert run.summary.mean["rubric.accuracy"] == 5
    assert run.summary.mean["rubric.citation_quality"] == 3
    relevance = quiet(
        metrics=["judge.relevance"], judge=lambda prompt: '{"score": 0.25, "reason": "r"}'
    )
    assert relevance[0].scores["judge.relevance"].value == 0.25


def test_the_judge_by_name_and_a_judge_that_raises() -> None:
    assert (
        quiet(metrics=(), profile="rubric", judge="local").summary.mean["rubric.coherence"]
        is not None
    )

    def broken(prompt: str) -> str:
        raise RuntimeError("out of credit")

    run = quiet(metrics=["judge.relevance"], judge=broken)
    assert "the judge function raised RuntimeError: out of credit" in str(
        run["q1"].scores["judge.relevance"].error
    )
    with pytest.raises(SettingsError, match='did you mean "groq"'):
        quiet(metrics=["judge.relevance"], judge="grok")


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
def test_bots_that_stream_or_take_the_question_by_name(
    bot: Callable[..., object], answer: str
) -> None:
    row = {"question": "Who?", "expected": "Ann"}
    assert quiet([row], "exact_match", target=bot).outcomes[0].response.answer == answer
    inside = asyncio.run(ak.aevaluate([row], "exact_match", target=bot, progress=False))
    assert inside.outcomes[0].response.answer == answer


FLAKY_BOT = """
calls = []
def answer(question):
    calls.append(question)
    raise ConnectionError("down")
"""


@pytest.mark.parametrize(("own", "calls"), [({}, 3), ({"retries": 1}, 2)])
def test_retries_hold_for_a_target_of_settings(
    own: dict[str, Any], calls: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "flaky_bot.py").write_text(FLAKY_BOT, encoding="utf-8")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, "flaky_bot", raising=False)
    target = {"call": "flaky_bot:answer", "retry_wait": 0.001, **own}
    quiet([{"question": "When?", "expected": "Noon"}], target=target, retries=2)
    assert len(sys.modules["flaky_bot"].calls) == calls
