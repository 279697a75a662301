"""JSON, JSONL, CSV, Parquet: aliases, lists in cells, encodings; and bad input as a user meets it."""

import json
import math
from datetime import date
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from answerkey.cases import read_cases, read_responses
from answerkey.cli.cases import cases_command as command
from answerkey.errors import InputError

ROW = {
    "id": "a1",
    "user_input": "How many?",
    "ground_truth": ["34", "thirty-four"],
    "actual_output": "34 of them",
    "retrieval_context": ["one", "two"],
    "expected_pages": [34, " 35"],
    "category": "count",
    "preferred_route": "docs",
    "acceptable_routes": ["rag", "visual"],
    "actual_route": "docs",
    "retrieved_pages": ["34", 340],
    "response_time": 1.5,
    "answer_criteria": {"must_contain": ["34"], "numerical_range": [30, 40]},
}


def check_row(case):
    assert case.id == "a1"
    assert case.question == "How many?"
    assert case.expected == ("34", "thirty-four")
    assert case.relevant == {"34": 1.0, "35": 1.0}
    assert (case.type, case.expected_route, case.acceptable_routes) == (
        "count",
        "docs",
        ("rag", "visual"),
    )
    assert case.criteria.must_contain == ("34",)
    assert case.criteria.numerical_range == (30.0, 40.0)
    assert case.recorded.answer == "34 of them"
    assert case.recorded.contexts == ("one", "two")
    assert case.recorded.retrieved == ("34", "340")
    assert (case.recorded.route, case.recorded.seconds) == ("docs", 1.5)


@pytest.mark.parametrize("name", ["a.json", "a.jsonl", "a.csv", "a.parquet"])
def test_one_row_in_every_format_is_the_same_case(name, write, tmp_path):
    if name.endswith(".csv"):
        cells = [
            value
            if isinstance(value, str)
            else repr(value)
            if isinstance(value, list)
            else json.dumps(value)
            for value in ROW.values()
        ]
        quoted = ",".join('"' + str(cell).replace('"', '""') + '"' for cell in cells)
        path = write(name, ",".join(ROW) + "\n" + quoted + "\n")
    elif name.endswith(".parquet"):
        path = tmp_path / name
        plain = {**ROW, "answer_criteria": json.dumps(ROW["answer_criteria"])}
        plain |= {
            key: [str(v) for v in plain[key]] for key in ("expected_pages", "retrieved_pages")
        }
        pq.write_table(pa.Table.from_pylist([plain]), path)
    else:
        path = write(name, [ROW])
    (case,) = read_cases([path])
    check_row(case)


@pytest.mark.parametrize(
    "raw",
    [
        "﻿question,expected\r\nWhat’s é?,é\r\n".encode(),
        "question,expected\nWhat’s é?,é\n".encode("cp1252"),
        "question,expected\nWhat’s é?,é\n".encode("utf-16"),
        "question;expected\nWhat’s é?;é\n".encode(),
    ],
)
def test_marks_line_ends_and_encodings(raw, write):
    (case,) = read_cases([write("a.csv", raw)])
    assert (case.question, case.expected) == ("What’s é?", ("é",))


@pytest.mark.parametrize("raw", [b"\xef\xbb\xbfquestion,expected\nx,x\nCaf\xe9?,x\n", "question,expected\né,x\n".encode() + b"Caf\xe9?,x\n",
                                 b"question,expected\nx,x\nCaf\xe9?,x\n" + "ü,x\n".encode(), b"question,expected\nx,x\nCaf\x81?,x\n"])  # fmt: skip
def test_a_bad_byte_in_a_utf8_file_names_its_line(raw, write):
    with pytest.raises(InputError, match=r"a.csv, line 3: a byte is not valid UTF-8"):
        list(read_cases([write("a.csv", raw)]))


def test_cp1252_is_announced(write, caplog):
    path = write("western.csv", "question,expected\nWhat’s é?,é\n".encode("cp1252"))
    for _ in range(2):
        list(read_cases([path]))
    assert [record.getMessage() for record in caplog.records] == [
        "western.csv is not UTF-8; it is read as cp1252 (Western European)"
    ]


@pytest.mark.parametrize(
    "text", ["[1] See page 3.", "[Figure 3: the valve", "[sic]", "[0, 1)", "[", "[a](b)"]
)
def test_a_text_may_begin_with_a_bracket(text, write):
    (case,) = read_cases([write("a.csv", f'question,expected,contexts\na,"{text}","{text}"\n')])
    assert case.expected == (text,)
    assert case.recorded.contexts == (text,)


BAD = {
    "empty.jsonl": ("", "the file is empty"),
    "blank.jsonl": ("\n\n", "no case found"),
    "nul.csv": (b"question\nwhat\0?\n", "NUL"),
    "list.jsonl": ('{"question": ["a"]}\n', 'line 1, column "question": found'),
    "turns.jsonl": (
        '{"question": "a", "history": 5}\n',
        'column "history": found 5, expected a list of earlier turns',
    ),
    "regex.jsonl": (
        '{"question": "a", "answer_criteria": {"regex": "("}}\n',
        "expected a regular expression",
    ),
    "nan.jsonl": ('{"question": "a", "response_time": NaN}\n', "line 1: not valid JSON: NaN"),
    "broken.jsonl": ('{"question": "a"}\n{"question": \n', "line 2: not valid JSON"),
    "twice.jsonl": (
        '{"id": 1, "question": "a"}\n{"id": "1", "question": "b"}\n',
        ', line 2, column "id": the id "1" is used twice',
    ),
    "twice.csv": (
        'id,question\n1,"a\nb"\n1,b\n',
        ', line 4, column "id": the id "1" is used twice',
    ),
    "twice.json": (
        '[{"id": 1, "question": "a"}, {"id": 1, "question": "b"}]',
        ', item 2, column "id"',
    ),
    "numbers.csv": (
        'question,contexts\na,"[1, 2"\n',
        "line 2, column \"contexts\": found '[1, 2', expected a JSON list",
    ),
    "texts.csv": ("question,contexts\na,\"['x', 'y\"\n", 'line 2, column "contexts": found'),
    "expected.csv": ('question,expected\na,"[""x"", ""y"\n', 'line 2, column "expected": found'),
    "near.csv": (
        "qestion,expected\na,b\n",
        'no column "question" among qestion, expected; did you mean "qestion"?',
    ),
    "noquestion.jsonl": ('{"question": "  "}\n', "expected a question"),
    "cells.csv": ("question,expected\na,b,c\n", "line 2: found 3 cells, expected 2"),
    "criteria.jsonl": (
        '{"question": "a", "answer_criteria": {"must_contains": ["x"]}}\n',
        'did you mean "must_contain"',
    ),
    "range.jsonl": (
        '{"question": "a", "answer_criteria": {"numerical_range": [3, 1]}}\n',
        "two numbers",
    ),
    "text.json": ('"hello"', "expected a list of cases"),
    "number.jsonl": ("3\n", "expected an object"),
    "cases.docx": ("x", "unknown kind of case file"),
    "quote.csv": (
        'question,expected\na,b\nc,"d\ne,f\n',
        "line 3: a quoted cell begins here and does not end",
    ),
    "deep.jsonl": (
        '{"question": "a", "x": ' + "[" * 600 + "]" * 600 + "}",
        "line 1: not valid JSON: nested more than 100",
    ),
    "deep.json": ("[" * 100_000, "not valid JSON: nested more than 100"),
    "deep.yaml": ("[" * 3000 + "]" * 3000, "not valid YAML"),
    "deep.csv": ("question,contexts\na," + "[" * 9000, "column"),
    "huge.jsonl": (
        '{"question": "a", "response_time": 1e400}',
        "line 1: not valid JSON: the number 1e400 is too large",
    ),
    "digits.jsonl": ('{"question": "a", "x": 1' + "0" * 400 + "}", "a whole number of 401 digits"),
    "huge.csv": ("question,response_time\na,1e400\n", "expected a number"),
    "bomb.yaml": (
        "a: &a [x,x,x,x,x,x,x,x,x,x]\n"
        + "".join(
            f"{n}: &{n} [{','.join(['*' + p] * 10)}]\n"
            for p, n in zip("abcdefg", "bcdefgh", strict=True)
        ),
        "more than 1,000,000 values",
    ),
    "columns.csv": (
        "question," + ",".join(f"c{n}" for n in range(20_000)) + "\n",
        "20,001 columns, expected at most 10,000",
    ),
    "question.md": ("Q1" + "0" * 6000 + ": a\nA1: b\n", "question.md"),
    "python.yaml": ("conversation: !!python/object/apply:os.system [ls]\n", "not valid YAML"),
    "damaged.parquet": (b"PAR1 nothing", "not a readable Parquet file"),
}


@pytest.mark.parametrize("name", BAD)
def test_bad_input_is_one_line_and_exit_code_2(name, write, cli, tmp_path):
    content, told = BAD[name]
    shown = cli(
        "score", write(name, content), "--metrics", "exact_match", "--out", tmp_path / "results"
    )
    assert shown.code == 2
    assert told in shown.err
    assert len(shown.err.strip().splitlines()) == 1
    assert not (tmp_path / "results").exists(), "a run was begun on bad input"


def test_a_missing_file_suggests_the_near_one(write, cli):
    path = write("answers.jsonl", [{"question": "a"}])
    shown = cli("cases", path.with_name("answer.jsonl"))
    assert shown.code == 2
    assert 'did you mean "answers.jsonl"' in shown.err


def test_beir_folder_and_trec_qrels(write, caplog):
    write("beir/corpus.jsonl", [{"_id": "d1", "text": "x"}])
    folder = write(
        "beir/queries.jsonl",
        [{"_id": "q1", "text": "What?"}, {"_id": "q2", "text": "Not labelled"}],
    ).parent
    write("beir/qrels/test.tsv", "query-id\tcorpus-id\tscore\nq1\td1\t2\nq1\td2\t0\n")
    for _ in range(2):
        (case,) = read_cases([folder])
    assert (case.id, case.question, case.relevant) == ("q1", "What?", {"d1": 2.0, "d2": 0.0})
    told = "beir/queries.jsonl: 1 of 2 queries have no label in qrels and are left out"
    assert [record.getMessage() for record in caplog.records] == [
        told
    ]  # once, however often they are read
    (case,) = read_cases([write("my.qrels", "q1 0 d7 1\n")])
    assert (case.id, case.relevant) == ("q1", {"d7": 1.0})


@pytest.mark.parametrize("name", ["talk.yaml", "talk.json"])
def test_each_turn_of_a_conversation_is_a_case_with_its_history(name, write):
    turns = [
        {"turn": 1, "user": "Sales in May?", "expected_answer_contains": ["RM"], "min_score": 0.5},
        {
            "turn": 2,
            "user": "And June?",
            "requires_context": True,
            "expected_topics": ["june", "sales"],
        },
    ]
    first, second = read_cases(
        [write(name, {"conversation": turns, "success_criteria": {"all": True}})]
    )
    assert (first.id, second.id) == ("talk#T1", "talk#T2")
    assert first.criteria.must_contain == ("RM",)
    assert [turn.user for turn in second.history] == ["Sales in May?"]
    assert second.criteria.must_contain_any == ("june", "sales")
    assert first.min_score == 0.5


def test_recorded_answers_of_a_second_file_are_read_by_id(write):
    path = write("answers.csv", "id,answer,retrieved\na,yes,\"['1', '2']\"\n")
    assert [(key, r.answer, r.retrieved) for key, r in read_responses(path)] == [
        ("a", "yes", ("1", "2"))
    ]
    ranking = write("bm25.run", "q1 Q0 d2 1 0.9 x\nq1 Q0 d1 2 0.5 x\n")
    assert [(key, r.retrieved) for key, r in read_responses(ranking)] == [("q1", ("d2", "d1"))]
    with pytest.raises(InputError, match="joined to cases by id"):
        list(read_responses(write("noid.jsonl", [{"answer": "x"}])))


def test_cases_lists_what_other_programs_rely_on(cli, write):
    shown = cli("cases", write("qa.md", "Q5: Why?\nA5: So.\n"), "--json")
    assert shown.code == 0
    (case,) = shown.json
    assert case["id"] == "qa#Q5"
    assert (case["question"], case["expected"], case["question_num"], case["tags"]) == (
        "Why?",
        "So.",
        5,
        [],
    )
    assert case["source_file"].endswith("qa.md")


def test_text_that_only_starts_as_utf_16_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "cases.csv"
    path.write_bytes("question,expected\nQ,A\n".encode("utf-16") + b"\n")
    with pytest.raises(InputError, match="not valid UTF-16; save it as UTF-8"):
        list(read_cases([path]))


def test_bytes_in_a_parquet_file_that_are_no_text_are_refused(tmp_path: Path) -> None:
    texts = pa.Array.from_buffers(
        pa.string(), 1, [None, pa.py_buffer(b"\0\0\0\0\2\0\0\0"), pa.py_buffer(b"\xee\x00")]
    )
    pq.write_table(pa.table({"question": texts}), tmp_path / "cases.parquet")
    with pytest.raises(InputError, match="not a readable Parquet file"):
        list(read_cases([tmp_path / "cases.parquet"]))


def test_infinite_numbers_nan_dates_and_bytes_of_carried_parquet_columns_are_plain_json(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    inf, nan = math.inf, math.nan
    table = {
        "question": ["a?", "b?"],
        "expected": [nan, 2.0],
        "response_time": [nan, 1.0],
        "rate": [inf, nan],
        "deep": [{"x": [[{"y": -inf}], [{"y": 1.5}]]}, {"x": [[{"y": nan}]]}],
        "day": [date(2024, 1, 2), None],
        "price": [Decimal("1.50"), None],
        "raw": [b"\xff\x00", None],
        "map": pa.array([[("k", inf)], None], type=pa.map_(pa.string(), pa.float64())),
    }
    pq.write_table(pa.table(table), tmp_path / "cases.parquet")
    command.main([str(tmp_path / "cases.parquet"), "--json"], standalone_mode=False)
    first, second = json.loads(capsys.readouterr().out, parse_constant=pytest.fail)
    assert (first["expected"], second["expected"], first["response_time"]) == (None, "2", None)
    assert first["extra"]["rate"] is second["extra"]["rate"] is None
    assert first["extra"]["deep"] == {"x": [[{"y": None}], [{"y": 1.5}]]}
    assert second["extra"]["deep"] == {"x": [[{"y": None}]]}
    assert (first["extra"]["day"], first["extra"]["price"]) == ("2024-01-02", "1.50")


AS_EXPORTED: dict[str, tuple[str | bytes, Any]] = {
    "semicolons, mark, decimal comma.csv": (
        "\ufeffQuestion;Expected Answer;Relevant Pages;Response Time\r\nWie lange?;30 Tage;\"34, 35\";1,5\r\n",
        [("Wie lange?", "30 Tage", {"34": 1.0, "35": 1.0}, 1.5)],
    ),
    "separator named by Excel.csv": ("sep=;\r\nquestion;expected\r\nq, or r?;a\r\n", [("q, or r?", "a", None, None)]),
    "pipes.csv": ("question|expected\nq, r; s?|a\n", [("q, r; s?", "a", None, None)]),
    "separators inside a quoted name.csv": ('expected,"question","a;b;c;d"\na,q?,1\n', [("q?", "a", None, None)]),
    "UTF-16 of Excel.csv": ("question\texpected\r\nWann?\tUm neun\r\n".encode("utf-16"), [("Wann?", "Um neun", None, None)]),
    "trailing rows and columns.csv": ("question,expected,,\nq?,a,,\n,,,\n,,,\n", [("q?", "a", None, None)]),
    "separators at the end of rows.csv": ("question,expected\nq?,a,,\n", [("q?", "a", None, None)]),
    "pages as a data frame writes them.csv": ("question,relevant_pages\nq?,34.0\nr?,\n", [("q?", None, {"34": 1.0}, None), ("r?", None, None, None)]),
    "missing values of programs.csv": ("question,expected,response_time\nq?,nan,NaN\nr?,None,NULL\n", [("q?", None, None, None), ("r?", "None", None, None)]),
    "wrapped twice.json": ('{"meta": {"v": 1}, "data": {"results": [{"query": "q?"}]}}', [("q?", None, None, None)]),
    "results by id.json": ('{"results": {"S1": {"query": "q?", "expected": "a"}}}', [("q?", "a", None, None)]),
    "an input beside the results.json": ('{"input": "faq.csv", "results": [{"query": "q?"}]}', [("q?", None, None, None)]),
    "a case with a list of its own.json": ('{"question": "q?", "items": [{"name": "x"}]}', [("q?", None, None, None)]),
}  # fmt: skip


@pytest.mark.parametrize("name", AS_EXPORTED)
def test_files_as_spreadsheets_and_programs_export_them(name: str, tmp_path: Path) -> None:
    content, expected = AS_EXPORTED[name]
    (tmp_path / name).write_bytes(content.encode() if isinstance(content, str) else content)
    found = [
        (
            case.question,
            *(case.expected or (None,)),
            case.relevant,
            case.recorded.seconds if case.recorded else None,
        )
        for case in read_cases([tmp_path / name])
    ]
    assert found == expected


def test_one_list_beside_other_values_is_no_category(tmp_path: Path) -> None:
    (tmp_path / "a.json").write_text('{"model": "x", "outputs": [{"query": "q?"}]}')
    (tmp_path / "b.json").write_text('{"sales": [{"query": "q?"}], "hr": [{"query": "r?"}]}')
    assert [case.type for case in read_cases([tmp_path / "a.json"])] == [None]
    assert [case.type for case in read_cases([tmp_path / "b.json"])] == ["sales", "hr"]
    (tmp_path / "c.json").write_text('{"sales": [{"query": "q?"}], "hr": [{"query": "r?"}, "s?"]}')
    with pytest.raises(InputError, match="item 3: found str"):
        list(read_cases([tmp_path / "c.json"]))


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        (
            "a.csv",
            "id,question,answer\n1,q?,a\nTotal,,\n",
            "line 3, column \"question\": found '', expected a question",
        ),
        ("b.csv", "sep=;\nid;question\n1;q?\n2;\n", "b.csv, line 4"),
        ("e.csv", "question;response_time\nq?;1,234\n", "found '1,234', expected a number"),
    ],
)
def test_a_refused_value_names_place_and_fix(
    name: str, content: str, message: str, tmp_path: Path
) -> None:
    (tmp_path / name).write_text(content)
    with pytest.raises(InputError) as raised:
        list(read_cases([tmp_path / name]))
    assert message in str(raised.value)


def test_a_small_parquet_file_that_unpacks_to_far_more_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "bomb.parquet"
    table = pa.table({"question": ["q?"] * 1_000_000, "x": [0.0] * 1_000_000})
    pq.write_table(table, path, compression="zstd", use_dictionary=False)
    monkeypatch.setattr("answerkey.coerce.parquet_rows._MOST_BYTES", 1 << 20)
    with pytest.raises(
        InputError, match=r"bomb\.parquet: a file of [\d,]+ bytes that unpacks to 14 MB is not read"
    ):
        list(read_cases([path]))
