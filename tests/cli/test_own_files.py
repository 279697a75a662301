"""Files as people have them, through the command line: one test per way in which they used to be misread or refused."""

from __future__ import annotations

import logging
from pathlib import Path
from typing import Any

import pytest
from tests.support.own_files import Cli, Write, bot, results, score


def test_the_page_number_wins_over_the_0_based_page(cli: Cli, write: Write, tmp_path: Path) -> None:
    chunk = {"page_content": "t", "metadata": {"page_number": "34", "page": 33}}
    path = write(
        "a.jsonl", [{"question": "q", "contexts": [chunk], "relevant": ["34"], "answer": "a"}]
    )
    (line,) = score(cli, tmp_path, path, "--metrics", "recall@5")
    assert line["scores"]["recall@5"]["value"] == 1.0


def test_documents_as_objects_and_under_other_names_are_read_live(
    cli: Cli, write: Write, tmp_path: Path
) -> None:
    write("cases.jsonl", [{"id": "a", "question": "How long?"}, {"id": "b", "question": "Which?"}])
    suite = bot(
        tmp_path,
        "class Document:\n"
        "    def __init__(self, text): self.page_content, self.metadata = text, {'page': 3}\n"
        "def answer(q):\n"
        "    found = Document('You have 30 days.') if q == 'How long?' else {'document': 'The red one.', 'source': 'm.pdf'}\n"
        "    return {'answer': 'It is 30 days.', 'source_documents': [found]}\n",
    )
    assert cli("run", suite, "--no-charts", "--quiet").code == 0
    contexts = [line["contexts"] for line in results(tmp_path / "results")]
    assert contexts == [["You have 30 days."], ["The red one."]]


def test_an_object_without_text_is_an_error_that_names_its_type(
    cli: Cli, write: Write, tmp_path: Path
) -> None:
    write("cases.jsonl", [{"id": "a", "question": "How long?"}])
    suite = bot(tmp_path, "def answer(q): return {'answer': 'x', 'contexts': [range(3)]}\n")
    cli("run", suite, "--no-charts", "--quiet")
    (line,) = results(tmp_path / "results")
    assert "a passage of type range" in line["error"]


def test_a_carried_column_changes_no_verdict(
    cli: Cli, write: Write, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    row = {"id": "a", "question": "q", "expected": "yes it is", "answer": "yes it is"}
    with caplog.at_level(logging.WARNING):
        (line,) = score(
            cli,
            tmp_path,
            write("a.csv", "id,question,expected,answer,min_score\na,q,yes it is,yes it is,0.99\n"),
            "--profile",
            "uniform",
            "--model",
            "none",
        )
    (plain,) = score(
        cli, tmp_path / "plain", write("b.jsonl", [row]), "--profile", "uniform", "--model", "none"
    )
    assert line["verdict"] == plain["verdict"]
    assert 'a.csv: kept, but not used by any metric: "min_score"' in caplog.text.replace(
        f"{tmp_path}/", ""
    )


def test_places_without_an_id_are_never_merged(cli: Cli, write: Write) -> None:
    path = write(
        "r.csv",
        "query_id,retrieved_pages,relevant_pages\nq,\"['N/A', 'N/A', None, '7']\",\"['7']\"\n",
    )
    shown = cli("rank", "--run", path, "--metrics", "mrr,precision@5", "--json")
    assert shown.json["mean"] == {"mrr": 0.25, "precision@5": 0.2}
    assert shown.json["places_without_id"] == 3
    assert "3 of 4 retrieved places have no id" in cli("rank", "--run", path).out
    assert "3 of 4 (75%) retrieved places have no page or id" in cli("diagnose", "--run", path).out


def test_sources_keep_document_and_url(cli: Cli, write: Write, tmp_path: Path) -> None:
    source = {"doc": "psoc.pdf", "page": 0, "url": "https://x.org/p"}
    (line,) = score(
        cli,
        tmp_path,
        write("a.jsonl", [{"question": "q", "answer": "a", "sources": [source]}]),
        "--metrics",
        "exact_match",
    )
    assert line["sources"] == ["psoc.pdf#0 (https://x.org/p)"]


def test_duplicate_keys_are_reported(
    cli: Cli, write: Write, caplog: pytest.LogCaptureFixture
) -> None:
    path = write("a.jsonl", '{"question": "q", "expected": "a", "expected": "b"}\n')
    assert cli("cases", path, "--json").json[0]["expected"] == "b"
    assert 'line 1: the key "expected" is given twice; the last value is used' in caplog.text


def test_duplicate_questions_are_reported(
    cli: Cli, write: Write, caplog: pytest.LogCaptureFixture
) -> None:
    cli("cases", write("a.csv", "id,question\n1,same\n2,other\n3,same\n"))
    assert "1 case repeats an earlier question: 3 (same as 1). Remove it" in caplog.text


def test_both_routes_and_harmless_columns(cli: Cli, write: Write) -> None:
    header = "query,expected_route,preferred_route,response_type,response_time_sec,num_relevant_docs,actual_route_after,x_question"
    shown = cli("cases", write("a.csv", f"{header}\nq,a,b,text,1.5,3,c,d\n"), "--json")
    assert shown.code == 0
    assert shown.json[0]["expected_route"] == "b"


SHAPES: dict[str, Any] = {
    "categories": {"sales": [{"query": "a"}], "hr": [{"query": "b"}]},
    "results": {
        "timestamp": "x",
        "results": [{"query": "a", "type": "sales"}, {"query": "b", "type": "hr"}],
    },
    "by id": {"S1": {"query": "a", "type": "sales"}, "S2": {"query": "b", "type": "hr"}},
}


def test_numbered_turns_are_in_the_order_of_their_numbers(cli: Cli, write: Write) -> None:
    turns = [{"turn": 2, "user": "And in June?"}, {"turn": 1, "user": "Sales of May?"}]
    first, second = cli("cases", write("c.json", {"conversation": turns}), "--json").json
    assert (first["question"], second["history"][0]["user"]) == ("Sales of May?", "Sales of May?")


@pytest.mark.parametrize("shape", SHAPES)
def test_shapes_of_json(shape: str, cli: Cli, write: Write) -> None:
    shown = cli("cases", write("a.json", SHAPES[shape]), "--json")
    assert [(case["question"], case["type"]) for case in shown.json] == [
        ("a", "sales"),
        ("b", "hr"),
    ]


@pytest.mark.parametrize(
    "row",
    [
        {"id": "t", "query": "Sales in May?", "sequence": ["And June?"]},
        {"id": "t", "sequence": [{"query": "Sales in May?"}, {"query": "And June?"}]},
        {"id": "t", "messages": [{"role": "system", "content": "x"}, {"role": "user", "content": "Sales in May?"}, {"role": "assistant", "content": "RM 3"}, {"role": "user", "content": "And June?"}]},
        {"id": "t", "conversation": [{"turn": 1, "user": "Sales in May?", "expected_intent": "kpi"}, {"turn": 2, "user": "And June?"}]},
    ],
)  # fmt: skip
def test_conversations(row: dict[str, Any], cli: Cli, write: Write) -> None:
    shown = cli("cases", write("a.json", [row]), "--json")
    assert [case["question"] for case in shown.json] == ["Sales in May?", "And June?"]
    assert [case["id"] for case in shown.json] == ["t#T1", "t#T2"]
    assert [turn["user"] for turn in shown.json[1]["history"]] == ["Sales in May?"]


@pytest.mark.parametrize(
    ("name", "truth"),
    [
        ("truth.json", [{"id": "a", "ground_truth": "yes"}]),
        ("truth.json", {"a": "yes"}),
        ("truth.csv", "id,reference\na,yes\n"),
        ("truth.json", {"a": {"expected": "yes"}}),
    ],
)
def test_ground_truth_in_a_second_file(name: str, truth: Any, cli: Cli, write: Write) -> None:
    questions = write("questions.json", [{"id": "a", "query": "q"}, {"id": "b", "query": "r"}])
    shown = cli("cases", questions, write(name, truth), "--json")
    assert [(case["question"], case["expected"]) for case in shown.json] == [
        ("q", "yes"),
        ("r", None),
    ]
    wrong = cli("cases", questions, write("wrong.json", [{"id": "c", "expected": "x"}]))
    assert wrong.code == 2
    assert 'item 1, column "id": 1 ids have no case with a question, such as "c"' in wrong.err


def test_the_faq_bot_takes_question_and_expected_answer(
    cli: Cli, write: Write, tmp_path: Path
) -> None:
    faq = write(
        "faq.csv", "question,expected_answer\nHow can I reset my password?,Use the reset option.\n"
    )
    suite = write(
        "suite.toml",
        f'cases = ["{faq.name}"]\nmetrics = ["exact_match"]\n[target]\nkind = "faq"\nfaq = "faq.csv"\n',
    )
    assert cli("run", suite, "--no-charts", "--quiet").code == 0
    assert results(tmp_path / "results")[0]["scores"]["exact_match"]["value"] == 1.0


def test_rank_gives_one_result_per_configuration(cli: Cli, write: Write) -> None:
    path = write(
        "r.csv",
        "config_name,query_id,retrieved_pages,expected_pages\n"
        "dense,1,\"['3', '4']\",['4']\ndense,2,\"['9']\",['9']\nsparse,1,\"['4', '3']\",['4']\nsparse,2,\"['8']\",['9']\n",
    )
    shown = cli("rank", "--run", path, "--metrics", "mrr,recall@2", "--json").json
    assert {name: told["mean"] for name, told in shown["configurations"].items()} == {
        "dense": {"mrr": 0.75, "recall@2": 1.0},
        "sparse": {"mrr": 0.5, "recall@2": 0.5},
    }
    assert shown["comparison"]["best"] == "dense"
    assert shown["comparison"]["difference_from_best"]["sparse"]["mrr"]["diff"] == -0.25
    assert "best by mrr: dense" in cli("rank", "--run", path, "--metrics", "mrr").out


@pytest.mark.parametrize(
    "label",
    [
        "34",
        "manual.pdf#34",
        "manual.pdf:34",
        "manual#34",
        {"doc": "manual.pdf", "page": 34},
        {"doc": "manual.pdf", "pages": [34]},
    ],
)
def test_labels_name_the_page_of_a_document(
    label: Any, cli: Cli, write: Write, tmp_path: Path
) -> None:
    chunk = {"text": "t", "source": "docs/manual.pdf", "page": 34}
    row = {"question": "q", "contexts": [chunk], "relevant": [label], "answer": "a"}
    (line,) = score(cli, tmp_path, write("a.jsonl", [row]), "--metrics", "recall@5")
    assert line["scores"]["recall@5"]["value"] == 1.0


def test_a_bare_page_matches_no_page_of_several_documents(
    cli: Cli, write: Write, tmp_path: Path
) -> None:
    chunks = [{"text": "t", "source": name, "page": 34} for name in ("a.pdf", "b.pdf")]
    (line,) = score(
        cli,
        tmp_path,
        write(
            "a.jsonl", [{"question": "q", "contexts": chunks, "relevant": ["34"], "answer": "a"}]
        ),
        "--metrics",
        "recall@5",
    )
    assert line["scores"]["recall@5"]["value"] == 0.0


def test_a_null_answer_is_an_error(cli: Cli, write: Write, tmp_path: Path) -> None:
    rows = [
        {"id": "a", "question": "q", "answer": None, "route": "x"},
        {"id": "b", "question": "r", "answer": ""},
    ]
    lines = score(cli, tmp_path, write("a.jsonl", rows), "--metrics", "exact_match")
    assert [line["error"] for line in lines] == ['no answer recorded: case "a"', None]


@pytest.mark.parametrize(
    ("answer", "suspected"),
    [
        ("Error: 500 Internal Server Error", True), ("502 Bad Gateway", True), ("HTTP 503 Service Unavailable", True),
        ("ValueError: cannot convert", True), ("Traceback (most recent call last):\n  File", True), ("<!DOCTYPE html><html>", True),
        ('{"error": "quota"}', True), ("Error: Cannot specify ',' with 's'.", True),
        ("N/A", True), ("N/A is short for not available.", False), ("Errors are listed in chapter 5.", False), ("404 people came.", False), ("The 500 status code means a server error.", False),
    ],
)  # fmt: skip
def test_an_answer_that_is_an_error_text_is_flagged(
    answer: str, suspected: bool, cli: Cli, write: Write, tmp_path: Path
) -> None:
    row = {"id": "a", "question": "q", "answer": answer, "expected": "500"}
    (line,) = score(cli, tmp_path, write("a.jsonl", [row]), "--metrics", "exact_match")
    assert ("suspected_error" in line["extra"]) is suspected


def test_a_quote_that_never_closes_and_a_bad_byte_name_their_line(cli: Cli, write: Write) -> None:
    shown = cli("cases", write("a.csv", 'id,question\n1,fine\n2,"begins here\n3,swallowed\n'))
    assert (shown.code, "a.csv, line 3: a quoted cell begins here" in shown.err) == (2, True)
    shown = cli(
        "cases", write("b.csv", "id,question\n1,café\n2,na".encode() + b"\xff" + "ïve\n".encode())
    )
    assert (shown.code, "b.csv, line 3: a byte is not valid UTF-8" in shown.err) == (2, True)


def test_western_text_is_read_and_announced(
    cli: Cli, write: Write, caplog: pytest.LogCaptureFixture
) -> None:
    shown = cli(
        "cases", write("w.csv", "id,question\n1,Où est le café ?\n".encode("cp1252")), "--json"
    )
    assert shown.json[0]["question"] == "Où est le café ?"
    assert "w.csv is not UTF-8; it is read as cp1252" in caplog.text


UNREADABLE: dict[str, tuple[Any, list[str]]] = {
    "a.csv": ("id,qestion\n1,hello\n", ["line 2", '"question"', '"qestion"', "rename the column"]),
    "b.csv": ("id,question,history\n1,hi,notalist\n", ["line 2", '"history"', "'notalist'", "for example [{"]),
    "c.json": ([{"question": ""}], ["item 1", '"question"', "''", "fill it in"]),
    "d.md": ("### Q1: a?\n**A2:** b\n", ["line 2", "found A2", "expected A1", "the number of its question"]),
    "e.yaml": ("conversation: 5\n", ["item 1", '"conversation"', "found 5", 'for example [{"user"']),
    "f.jsonl": ([{"question": "q", "contexts": [{"mood": 1}]}], ["line 1", '"contexts"', "the keys mood", "under one of text, content"]),
    "g.csv": ("id,question\n1,a,b\n", ["line 2", "3 cells", "quote cells"]),
    "h.jsonl": ([{"question": "q", "response_time": "soon"}], ["line 1", '"response_time"', "'soon'", "for example 1.5"]),
    "i.csv": ("id,question,answer_criteria\n1,q,{bad\n", ["line 2", '"answer_criteria"', "'{bad'", "must_contain"]),
    "j.csv": ('id,question,relevant\n1,q,"{3"\n', ["line 2", '"relevant"', "'{3'", "for example [\"34\""]),
    "k.xlsx": (b"PK", ["a spreadsheet", "pandas.read_excel"]),
    "l.txt": ("Some text.", ["a document", 'kind = "rag"']),
    "m.json": ("[1, 2]", ["item 1", "found int", "an object such as"]),
}  # fmt: skip


@pytest.mark.parametrize("name", UNREADABLE)
def test_what_cannot_be_read_names_the_place_and_a_fix(name: str, cli: Cli, write: Write) -> None:
    content, told = UNREADABLE[name]
    shown = cli("cases", write(name, content))
    assert shown.code == 2
    last = shown.err.splitlines()[-1]
    assert [part for part in (name, *told) if part not in last] == []
