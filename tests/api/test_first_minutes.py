"""The first minutes of a new user in Python: from a data frame to the bad answers."""

from __future__ import annotations

import logging
import math
import sys
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

import answerkey as ak
from answerkey.errors import IncompleteError, InputError, SettingsError

FRAME = pd.DataFrame(
    {
        "topic": ["leave", "lunch", "sick"],
        "q": ["How many days of leave do I get?", "When is lunch?", "Who must I call when ill?"],
        "gold": ["25 days", "At noon", "Your manager"],
        "answer": ["You get 28 days.", "Lunch is at noon.", "Call Ana Silva."],
        "owner": [7, 8, 9],
    },
    index=[10, 20, 30],
)
WHY = "Says 28 days, expected 25 days."


def test_a_data_frame_needs_nothing_else(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING, logger="answerkey"):
        run = ak.evaluate(FRAME, progress=False)
    said = [record.getMessage() for record in caplog.records if "profile" in record.getMessage()]
    assert said == [
        "scored with the profile rag, because there are expected answers or passages (no profile was named)"
    ]
    assert run.profile is not None
    assert run.profile.name == "rag"
    assert [outcome.verdict.why for outcome in run.failures()][:1] == [WHY]


def test_to_pandas_gives_the_rows_back() -> None:
    table = ak.evaluate(FRAME, progress=False).to_pandas()
    assert list(table.columns[:11]) == [
        *FRAME.columns,
        "id",
        "passed",
        "why",
        "kind",
        "cause",
        "score",
    ]
    assert list(table.index) == [10, 20, 30]
    pd.testing.assert_frame_equal(table[list(FRAME.columns)], FRAME)
    assert list(table["passed"]) == [False, True, False]
    assert table["why"].iloc[0] == WHY
    assert table["kind"].iloc[0] == "wrong figure"
    assert {"answer_agreement", "groundedness"} <= set(table.columns)


@pytest.mark.parametrize("jobs", [None, 1])  # both paths: scored directly, and by the engine
def test_results_stand_beside_their_rows_when_a_case_is_left_out(
    jobs: int | None, tmp_path: Path
) -> None:
    frame = FRAME.assign(manual=[False, True, False])
    run = ak.evaluate(frame, jobs=jobs, progress=False)
    table = run.to_pandas()
    pd.testing.assert_frame_equal(table[list(frame.columns)], frame)
    assert table["id"].fillna("").tolist() == ["data#1", "", "data#3"]
    assert table["why"].iloc[0] == WHY
    assert table["why"].iloc[2] == run["data#3"].verdict.why
    results = table.loc[20].drop(list(frame.columns))
    assert results.isna().all()
    on_disk = pd.read_csv(run.save(tmp_path) / "results.csv")
    assert on_disk["gold"].tolist() == ["25 days", "Your manager"]
    assert on_disk["why"].tolist() == table["why"].dropna().tolist()


def test_to_pandas_with_a_limit_has_only_the_rows_that_were_read() -> None:
    frame = FRAME.assign(manual=[True, False, False])
    table = ak.evaluate(frame, limit=2, progress=False).to_pandas()
    assert list(table.index) == [10, 20]
    assert table["id"].fillna("").tolist() == ["", "data#2"]


def test_a_row_per_message_gives_a_table_of_cases() -> None:
    frame = pd.DataFrame(
        {
            "session": ["a", "a", "a", "a"],
            "role": ["user", "assistant", "user", "assistant"],
            "content": ["When is lunch?", "At noon.", "And dinner?", "At seven."],
        }
    )
    table = ak.evaluate(frame, ["answer_length"], progress=False).to_pandas()
    assert table["question"].tolist() == ["When is lunch?", "And dinner?"]
    assert "content" not in table.columns


def test_the_table_on_disk_has_the_same_columns(tmp_path: Path) -> None:
    run = ak.evaluate(FRAME, progress=False)
    folder = run.save(tmp_path)
    table = pd.read_csv(folder / "results.csv")
    again = ak.open_run(tmp_path).to_pandas()
    assert list(table.columns) == list(again.columns)
    assert set(table.columns) == set(run.to_pandas().columns)
    assert list(table["gold"]) == list(FRAME["gold"])
    assert list(table["owner"]) == [7, 8, 9]
    assert table["why"].iloc[0] == WHY


def test_a_column_of_the_user_with_the_name_of_a_result_stays() -> None:
    table = ak.evaluate(FRAME.assign(score=[1, 2, 3]), progress=False).to_pandas()
    assert list(table["score"]) == [1, 2, 3]
    assert table["answerkey.score"].notna().all()


def test_an_empty_cell_and_a_missing_value_are_the_same(tmp_path: Path) -> None:
    frame = FRAME.copy()
    frame.loc[10, "answer"] = None
    frame.loc[20, "gold"] = math.nan
    frame.to_csv(tmp_path / "cases.csv", index=False)
    from_frame = ak.evaluate(frame, progress=False)
    from_file = ak.evaluate(tmp_path / "cases.csv", progress=False)
    for a, b in zip(from_frame, from_file, strict=True):
        assert (a.verdict.status, a.verdict.why) == (b.verdict.status, b.verdict.why)
        assert {n: s.value for n, s in a.scores.items()} == {
            n: s.value for n, s in b.scores.items()
        }


@pytest.mark.parametrize(
    ("row", "profile"),
    [
        ({"question": "q", "answer": "a", "expected": "a"}, "rag"),
        ({"question": "q", "answer": "a", "contexts": ["a"]}, "rag"),
        ({"question": "q", "retrieved": ["1", "2"], "relevant": ["2"]}, "retrieval"),
        (
            {"question": "q", "answer": "a", "criteria": [{"type": "contains", "value": "a"}]},
            "criteria",
        ),
    ],
)
def test_the_profile_follows_from_the_data(row: dict[str, Any], profile: str) -> None:
    run = ak.evaluate([row], progress=False)
    assert run.profile is not None
    assert run.profile.name == profile


def test_without_a_profile_nothing_passes_or_fails() -> None:
    rows = [
        {"id": "right", "question": "Capital?", "expected": "Paris", "answer": "Paris"},
        {"id": "wrong", "question": "Capital?", "expected": "Paris", "answer": "Berlin"},
    ]
    run = ak.evaluate(rows, metrics=["answer_agreement"], progress=False)
    assert run.passed is None
    assert run.worst(1)[0].case.id == "wrong"
    assert "run.worst(10)" in repr(run)
    with pytest.raises(SettingsError, match="no profile"):
        run.failures()
    assert run.to_pandas()["passed"].isna().all()


def test_numbers_beside_metrics_are_a_profile() -> None:
    run = ak.evaluate(FRAME, metrics={"answer_agreement": 0.5}, progress=False)
    assert [outcome.verdict.passed for outcome in run] == [False, True, False]
    with pytest.raises(SettingsError, match="profile of their own"):
        ak.evaluate(FRAME, metrics={"token_f1": 0.5}, profile="rag", progress=False)


@pytest.mark.parametrize(
    ("name", "ours"),
    [
        ("faithfulness", "groundedness"),
        ("factual_correctness", "answer_agreement"),
        ("answer_relevancy", "answer_relevance"),
        ("context_recall", "context_fact_recall"),
        ("AnswerRelevancyMetric", "answer_relevance"),
        ("context-faithfulness", "groundedness"),
    ],
)
def test_names_of_other_tools_run_the_offline_equivalent(
    name: str, ours: str, caplog: pytest.LogCaptureFixture
) -> None:
    rows = [
        {"question": "Open?", "answer": "Yes.", "expected": "Yes.", "contexts": ["We are open."]}
    ]
    with caplog.at_level(logging.WARNING, logger="answerkey"):
        run = ak.evaluate(rows, metrics=[name], progress=False)
    assert list(run[0].scores) == [ours]
    assert f'"{name}" is a metric of' in caplog.text


@pytest.mark.parametrize("judge", ["opnai", "gpt4", {"preset": "nope"}])
def test_a_wrong_name_of_a_judge_is_refused(judge: object) -> None:
    for options in ({"profile": "rag"}, {"metrics": ["token_f1"]}):
        with pytest.raises(ak.AnswerkeyError, match=r"opnai|gpt4|nope"):
            ak.evaluate(FRAME, judge=judge, progress=False, **options)


def test_a_judge_that_nothing_asks_is_refused() -> None:
    with pytest.raises(SettingsError, match="no metric of this run asks a judge"):
        ak.evaluate(FRAME, metrics=["token_f1"], judge=lambda prompt: "5", progress=False)


def test_rag_with_a_judge_lets_the_judge_decide() -> None:
    asked: list[str] = []

    def judge(prompt: str) -> str:
        asked.append(prompt)
        return '{"accuracy": 5, "completeness": 5, "citation_quality": 5, "coherence": 3, "reasoning": "fine", "score": 1, "reason": "fine"}'

    run = ak.evaluate(FRAME, profile="rag", judge=judge, progress=False)
    assert asked
    assert run.profile is not None
    assert run.profile.name == "rag-judge"
    assert all(outcome.verdict.passed for outcome in run)
    assert run[0].scores["answer_agreement"].value is not None
    disagreements = {each.id: each.what for each in run.summary.disagreements}
    assert disagreements["data#1"] == "the judge is satisfied but the answer does not agree"


def test_a_judge_that_raises_is_an_error_of_the_case() -> None:
    run = ak.evaluate(FRAME, profile="rag", judge=lambda prompt: 1 / 0, progress=False)
    assert run.passed is False
    assert all(outcome.verdict.status == "ERROR" for outcome in run)


def test_ten_equal_errors_stop_a_run() -> None:
    rows = [{"id": f"c{n}", "question": f"q{n}"} for n in range(30)]

    def bot(question: str) -> str:
        raise KeyError("answer")

    with pytest.raises(IncompleteError, match="10 times in a row") as raised:
        ak.evaluate(rows, metrics=["answer_length"], target=bot, workers=1, progress=False)
    assert isinstance(raised.value.run, ak.Run)

    def broken(case: ak.Case, response: ak.Response) -> float:
        raise ValueError("boom")

    recorded = [{"question": f"q{n}", "answer": "a"} for n in range(30)]
    with pytest.raises(IncompleteError, match="boom"):
        ak.evaluate(recorded, metrics=[broken], progress=False)


def test_cards_plots_and_tables_for_a_notebook(tmp_path: Path) -> None:
    run = ak.evaluate(FRAME.assign(q=["<b>q</b>", "When is lunch?", "Who?"]), progress=False)
    card = run[0]._repr_html_()
    assert "FAILED" in card
    assert "&lt;b&gt;q" in card
    assert "background:#fde0dc" in card, "the wrong figure is marked"
    plot = run.plot()
    assert "failures by kind" in plot._repr_html_()
    assert plot.save(tmp_path / "run.svg").read_text(encoding="utf-8").startswith("<svg")
    assert "answer_agreement" in run.summary._repr_html_()
    assert "pass rate" in repr(run.summary)


def test_compare_takes_frames() -> None:
    better = FRAME.assign(answer=["25 days", "Lunch is at noon.", "Your manager"])
    assert ak.compare(FRAME, better).sentence


def test_data_without_answers_name_the_way_out() -> None:
    with pytest.raises(InputError, match=r"target=my_function"):
        ak.evaluate(FRAME.drop(columns="answer"), progress=False)


def test_load_cases_takes_lists(tmp_path: Path) -> None:
    for name in ("a", "b"):
        (tmp_path / f"{name}.csv").write_text(f"question,expected\n{name}?,yes\n", encoding="utf-8")
    paths = [tmp_path / "a.csv", tmp_path / "b.csv"]
    assert [case.question for case in ak.load_cases(paths)] == ["a?", "b?"]


def test_only_public_names_are_listed() -> None:
    assert set(dir(ak)) == set(ak.__all__)
    assert "annotations" not in dir(ak)


def test_the_common_path_is_short() -> None:
    rows = [{"question": "2 + 2?", "answer": "4", "expected": "4"}]
    ak.evaluate(rows, ["exact_match"])  # what is imported and cached once is no part of the path
    functions: set[tuple[str, str]] = set()

    def note(frame: Any, event: str, argument: object) -> None:
        code = frame.f_code
        place = code.co_filename.replace("\\", "/").partition("/src/answerkey/")[2]
        if event == "call" and place and code.co_name[0] != "<":
            functions.add((place, code.co_qualname))

    sys.setprofile(note)
    try:
        ak.evaluate(rows, ["exact_match"])
    finally:
        sys.setprofile(None)
    assert 30 < len(functions) <= 80, sorted(functions)
    assert len({module for module, _ in functions}) <= 20


def test_the_line_of_the_users_code_is_shown_once(caplog: pytest.LogCaptureFixture) -> None:
    def bot(question: str) -> str:
        return str(1 / 0)

    rows = [{"question": f"q{n}"} for n in range(3)]
    with caplog.at_level(logging.WARNING, logger="answerkey"):
        ak.evaluate(rows, metrics=["answer_length"], target=bot, progress=False)
    shown = [r.getMessage() for r in caplog.records if r.name == "answerkey.user_code"]
    assert len(shown) == 1
    assert shown[0].startswith("the bot raised ZeroDivisionError: division by zero\n")
    assert "test_first_minutes.py, line " in shown[0]
    assert "return str(1 / 0)" in shown[0]
