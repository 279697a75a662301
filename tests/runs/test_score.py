"""Answers in a file, to a run folder: files, figures, exit codes, and the same answers under another ruler."""

import csv
import json
import shlex
import threading
import xml.etree.ElementTree as ElementTree

import pytest
from tests.support.recorded import PROFILE, ROWS

from answerkey.llm.scripted import ScriptedChat
from answerkey.metrics.judge.model_judge import ModelJudge
from answerkey.runs.execute import run_in_memory
from answerkey.runs.prepare import prepare
from answerkey.runs.store import read_manifest, read_outcomes
from answerkey.runs.suite import suite_of
from answerkey.types import Response


def test_every_report_is_there_and_says_the_same(scored):
    shown, run = scored()
    assert shown.code == 0, shown.err
    assert shown.last_line.startswith("DONE: ")
    assert shown.out.splitlines()[-1] == shown.last_line, (
        "kept in a file, the report ends the same way"
    )
    names = {path.name for path in run.iterdir()}
    assert {
        "results.jsonl",
        "results.csv",
        "summary.json",
        "report.txt",
        "failures.txt",
        "report.md",
        "junit.xml",
        "run.json",
    } <= names
    lines = [json.loads(line) for line in (run / "results.jsonl").read_text().splitlines()]
    assert [line["id"] for line in lines] == ["good", "bad", "none"]
    assert lines[0]["scores"]["exact_match"] == {"value": 1.0, "reason": "", "error": None}
    assert lines[2]["scores"]["exact_match"] == {
        "value": None,
        "reason": "no expected answer in the case",
        "error": None,
    }
    assert lines[0]["verdict"]["status"] == "PASSED"
    assert lines[2]["verdict"]["status"] == "UNSCORED"
    summary = json.loads((run / "summary.json").read_text())
    assert summary["average_scores"]["exact_match"]["mean"] == 0.5
    assert (
        summary["average_scores"]["exact_match"]["n"],
        summary["average_scores"]["exact_match"]["of"],
    ) == (2, 3)
    assert summary["average_scores"]["exact_match"]["not_applicable"] == 1
    assert summary["totals"] | {"statuses": 0} == {
        "cases": 3,
        "scored": 2,
        "passed": 1,
        "failed": 1,
        "errors": 0,
        "unscored": 1,
        "statuses": 0,
    }
    assert summary["route_confusion"] == {"docs": {"docs": 1, "sales_kpi": 1}}
    assert summary["route_accuracy"] == 0.5
    assert summary["response_time"]["average"] == 2.0
    assert summary["by_type"]["books"]["pass_rate"] == 0.5
    assert set(summary["fingerprint"]) == {
        "cases",
        "profile",
        "metrics",
        "metric_settings",
        "judge",
        "embedding",
        "settings",
        "answers",
    }
    assert "scored 2/3" in (run / "report.txt").read_text()


def test_a_route_left_out_is_a_wrong_route_unless_the_bot_never_gives_one(scored):
    silent = [{key: value for key, value in row.items() if key != "route"} for row in ROWS[:2]]
    _, run = scored(rows=[ROWS[0], silent[1]])
    summary = json.loads((run / "summary.json").read_text())
    assert (summary["route_accuracy"], summary["route_accuracy_n"]) == (0.5, 2)
    assert summary["route_confusion"] == {"docs": {"docs": 1, "(none)": 1}}


def test_of_a_bot_that_never_gives_its_route_no_accuracy_is_told(scored):
    _, run = scored(
        rows=[{key: value for key, value in row.items() if key != "route"} for row in ROWS]
    )
    summary = json.loads((run / "summary.json").read_text())
    assert (summary["route_accuracy"], summary["route_accuracy_n"], summary["route_confusion"]) == (
        None,
        0,
        {},
    )


def test_hostile_text_is_inert_in_every_report(scored):
    _, run = scored()
    with (run / "results.csv").open(newline="") as file:
        cells = [cell for row in csv.reader(file) for cell in row]
    assert not [cell for cell in cells if cell[:1] in "=+-@" and cell]
    suite = ElementTree.parse(run / "junit.xml").getroot()
    assert (suite.get("tests"), suite.get("failures"), suite.get("errors")) == ("3", "1", "0")
    assert "<script>" in suite.find("testcase/failure").text
    assert "<script>" not in (run / "report.md").read_text()


def test_control_characters_do_not_reach_files_people_read(scored):
    _, run = scored(rows=[{**ROWS[1], "answer": "\x1b[2J\u202e wrong \x00"[:-2]}])
    for name in ("failures.txt", "report.txt", "report.md"):
        assert "\x1b" not in (run / name).read_text()
    ElementTree.parse(run / "junit.xml")


def test_a_missing_answer_is_an_error_and_exit_code_3(scored):
    shown, run = scored(rows=[*ROWS, {"id": "gone", "question": "Not answered?", "expected": "x"}])
    assert shown.code == 3
    assert shown.last_line.startswith("INCOMPLETE: ")
    summary = json.loads((run / "summary.json").read_text())
    assert summary["totals"]["errors"] == 1
    assert summary["pass_rate"] == 1 / 3  # one of the four is unscored; an error is not a pass


def test_errors_are_told_by_kind_with_one_example(cli, write, tmp_path, monkeypatch):
    rows = [ROWS[0], *({"id": f"gone{n}", "question": "Not answered?"} for n in range(30))]
    shown = cli(
        "score", write("a.jsonl", rows), "--metrics", "exact_match", "--out", tmp_path, "--json"
    )
    assert shown.json["errors"] == {
        'No response: no answer recorded: case "gone0", and similar': 30
    }
    one = cli(
        "score", write("a.jsonl", rows[:2]), "--metrics", "exact_match", "--out", tmp_path, "--json"
    )
    assert one.json["errors"] == {'No response: no answer recorded: case "gone0"': 1}
    assert one.last_line.startswith(
        "INCOMPLETE: 1 of 2 cases ended in an error; most frequent cause"
    )


def test_every_metric_that_broke_is_named(cli, write, tmp_path):
    text = "from answerkey import metric\n"
    for name in ("first_bad", "second_bad"):
        text += f"@metric('{name}', needs=('answer',), empty='0')\ndef {name}(case, response):\n    'Breaks.'\n    return 1 / 0\n"
    write("bad_metrics.py", text)
    write("a.jsonl", [{"question": "q", "answer": "a"}])
    listed = 'modules = ["bad_metrics"]\nmetrics = ["first_bad", "second_bad"]\n'
    weighed = "[profile]\nname = 'x'\npass = 0.5\ncriteria = [{ metric = 'first_bad' }, { metric = 'second_bad' }]\n"
    for more in ("", weighed):
        shown = cli(
            "run", write("suite.toml", f'cases = ["a.jsonl"]\n{listed}{more}'), "--json", "--quiet"
        )
        (told,) = shown.json["errors"]
        assert "first_bad, second_bad: ZeroDivisionError" in told


def test_one_is_not_many(cli, write, tmp_path):
    path = write("a.jsonl", [ROWS[0]])
    assert cli("cases", path).err == "DONE: 1 valid case\n"
    shown = cli(
        "score", path, "--metrics", "exact_match", "--out", tmp_path, "--gate", "errors == 0"
    )
    assert shown.last_line.startswith("PASS: 1 gate passed; ")


def test_the_printed_command_works_as_it_stands(cli, write, tmp_path):
    rows = [ROWS[0], {"id": "gone", "question": "Not answered?", "expected": "x"}]
    path = write("my answers.jsonl", rows)
    shown = cli(
        "score", path, "--metrics", "exact_match", "--out", tmp_path / "my out", "--no-charts"
    )
    told = next(line for line in shown.err.splitlines() if line.startswith("to continue: "))
    write("my answers.jsonl", [ROWS[0]])
    again = cli(*shlex.split(told.removeprefix("to continue: answerkey ")))
    assert again.code == 0, again.err
    assert len(list((tmp_path / "my out").iterdir())) == 2


def test_rescore_changes_the_ruler_and_never_the_answers(scored, cli, write, tmp_path):
    _, run = scored()
    strict = write("strict.toml", PROFILE.replace("0.5", "1.0").replace("words", "strict"))
    shown = cli("rescore", run, "--profile", strict, "--out", tmp_path / "again")
    assert shown.code == 0, shown.err
    (again,) = (tmp_path / "again").iterdir()
    old, new = read_manifest(run), read_manifest(again)
    assert old.fingerprint["answers"] == new.fingerprint["answers"]
    assert old.fingerprint["cases"] == new.fingerprint["cases"]
    assert old.fingerprint["profile"] != new.fingerprint["profile"]
    assert [o.response for o in read_outcomes(run)] == [o.response for o in read_outcomes(again)]


def test_metrics_alone_give_scores_and_no_verdict(cli, write, tmp_path):
    shown = cli(
        "score",
        write("a.jsonl", ROWS),
        "--metrics",
        "token_f1,ndcg@5",
        "--out",
        tmp_path / "o",
        "--json",
    )
    assert shown.code == 0, shown.err
    assert shown.json["totals"]["statuses"] == {"SCORED": 3}
    assert shown.json["pass_rate"] is None
    run = next((tmp_path / "o").iterdir())
    told = cli("summary", run).out
    assert told.startswith("score: 3 cases, 0 errors\n"), "no profile, nothing to say of scored"
    assert "scored 2/3 (1 not applicable)" in told


@pytest.mark.parametrize(
    ("more", "told"),
    [
        (["--metrics", "exact_macth"], 'did you mean "exact_match"'),
        (["--metrics", "recall"], 'as in "recall@5"'),
        (["--metrics", "recall@x"], 'did you mean "recall@5"'),
        (["--metrics", "recall@0"], "must be 1 or more"),
        (["--profile", "route-awre"], 'did you mean "route-aware"'),
        (["--metrics", "rubric.accuracy"], "needs a judge"),
        (
            ["--metrics", "exact_match", "--module", "no_such_module"],
            "no module no_such_module next to the suite",
        ),
    ],
)
def test_wrong_settings_are_one_line_and_no_run(cli, write, tmp_path, more, told):
    shown = cli("score", write("a.jsonl", ROWS), "--out", tmp_path / "o", *more)
    assert shown.code == 2
    assert told in shown.err
    assert len(shown.err.strip().splitlines()) == 1
    assert not (tmp_path / "o").exists()


def test_a_users_own_metric_comes_in_by_the_same_door(cli, write, tmp_path, monkeypatch):
    write(
        "my_metrics.py",
        "from answerkey import metric\n@metric('shouting', needs=('answer',), empty='0')\ndef shouting(case, response):\n    'Is it loud?'\n    return response.answer.isupper()\n",
    )
    write("a.jsonl", [{"question": "q", "answer": "LOUD"}])
    suite = write(
        "suite.toml", 'cases = ["a.jsonl"]\nmodules = ["my_metrics"]\nmetrics = ["shouting"]\n'
    )
    shown = cli("run", suite, "--json", "--quiet")
    assert shown.code == 0, shown.err
    assert shown.json["average_scores"]["shouting"]["mean"] == 1.0


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("cases = 3\n", "expected a list of strings or text"),
        ('cases = ["a.jsonl"]\nmetric = ["x"]\n', 'did you mean "metrics"'),
        (
            'cases = ["a.jsonl"]\nmetrics = ["token_f1"]\n[run]\nworkrs = 3\n',
            'did you mean "workers"',
        ),
        (
            'cases = ["a.jsonl"]\nmetrics = ["token_f1"]\n[run]\nworkers = 0\n',
            "expected a whole number of 1 or more",
        ),
        ("cases = [\n", "not valid TOML"),
        ("", "names no cases"),
        ('cases = ["b.jsonl"]\nmetrics = ["token_f1"]\n', "no such file"),
    ],
)
def test_a_wrong_suite_is_one_line(cli, write, text, told):
    write("a.jsonl", ROWS)
    shown = cli("run", write("suite.toml", text))
    assert shown.code == 2
    assert told in shown.err
    assert len(shown.err.strip().splitlines()) == 1


def test_response_keeps_unknown_apart_from_zero():
    assert Response(answer="x").cost is None
    assert Response(answer="x").seconds is None


def test_a_damaged_model_is_done_without_where_the_profile_allows(
    cli, write, tmp_path, monkeypatch
):
    from answerkey.embed import load, minilm
    from answerkey.errors import StorageError

    def damaged(*_, **__):
        raise StorageError("the embedding model is damaged")

    load._load.cache_clear()
    monkeypatch.setattr(minilm.MiniLM, "embed", damaged)
    path = write("a.jsonl", ROWS[:2])
    shown = cli("score", path, "--profile", "route-aware", "--out", tmp_path / "o", "--no-charts")
    assert shown.code == 0, shown.err
    assert "note: without embeddings (the embedding model is damaged)" in shown.out
    shown = cli(
        "score", path, "--metrics", "answer_correctness", "--out", tmp_path / "p", "--no-charts"
    )
    assert shown.code == 3
    assert "the embedding model is damaged" in shown.err
    load._load.cache_clear()


def test_reports_print_a_reading_only_beside_a_metric_that_decides(cli, write, tmp_path):
    row = {
        "id": "1",
        "question": "What is the refund window?",
        "expected": "30 days",
        "answer": "30 days",
    }
    path = write("rag.jsonl", [{**row, "contexts": ["Cats sleep a lot."]}])
    for profile in (("--profile", "rag"), ("--metrics", "context_relevance,answer_correctness")):
        shown = cli("score", path, *profile, "--out", tmp_path / "none")
        assert "off-topic retrieval" not in shown.out
    shown = cli("score", path, "--profile", "rag-cosine", "--out", tmp_path / "out")
    assert ", scored 1/1: off-topic retrieval" in shown.out
    assert "likely factual issues" not in shown.out
    run = max((tmp_path / "out").glob("score_*"))
    assert "off-topic retrieval" in (run / "report.txt").read_text()
    assert ": off-topic retrieval |" in (run / "report.md").read_text()
    assert ">off-topic retrieval<" in (run / "report.html").read_text()
    averages = json.loads((run / "summary.json").read_text())["average_scores"]
    assert averages["context_relevance"]["reading"] == "off-topic retrieval"
    assert averages["answer_correctness"]["reading"] == ""


def test_the_judge_is_asked_about_later_chunks_while_an_early_call_takes_long(write) -> None:
    later = threading.Event()

    def reply(messages):
        text = messages[-1]["content"]
        if "question 5?" in text:
            later.set()
        if "question 0?" in text and not later.wait(20):
            raise AssertionError("the first call was waited for")
        return '{"reason": "r", "score": 0.75}'

    rows = [
        {"id": str(n), "question": f"question {n}?", "expected": "x", "answer": "y"}
        for n in range(12)
    ]
    path = write("cases.jsonl", rows)
    suite = suite_of(
        {"cases": [path.name], "metrics": ["judge.relevance", "exact_match"]}, path.parent
    )
    judge = ModelJudge(ScriptedChat(reply), concurrency=2)
    store, _ = run_in_memory(prepare(suite, judge=judge))
    outcomes = list(store.outcomes())
    assert [outcome.case.id for outcome in outcomes] == [str(n) for n in range(12)]
    assert all(outcome.scores["judge.relevance"].value == 0.75 for outcome in outcomes)
    assert list(outcomes[0].scores) == ["judge.relevance", "exact_match"]
