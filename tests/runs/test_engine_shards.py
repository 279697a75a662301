"""However a log is cut, its cases are the same ones at the same positions."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.support.engine_world import rows, write_parquet

from answerkey.errors import InputError
from answerkey.runs.control import Selection
from answerkey.runs.engines.shards import Sharded, cut, selected_of
from answerkey.runs.prepare import selected
from answerkey.runs.suite import suite_of


def whole(folder, cases, selection=Selection()):  # noqa: B008
    return list(selected(suite_of({"cases": cases}, folder), selection))


def sharded(folder, cases, size, selection=Selection()):  # noqa: B008
    source = Sharded(cut(cases, folder, size), selection, " ".join(cases))
    return list(source()), source


@pytest.fixture
def logs(tmp_path):
    made = rows(50)
    text = "".join(
        json.dumps(row) + ("\r\n\r\n" if n % 7 == 0 else "\n") for n, row in enumerate(made[:20])
    )
    (tmp_path / "a.jsonl").write_bytes(b"\xef\xbb\xbf" + text.encode() + b"   \n")
    write_parquet(tmp_path / "b.parquet", made[20:35], row_group=4)
    without_ids = [
        {key: value for key, value in row.items() if key != "id"} | {"answer": "café — “1.5”"}
        for row in made[35:45]
    ]
    old = "\n".join(json.dumps(row, ensure_ascii=False) for row in without_ids)
    (tmp_path / "c.jsonl").write_bytes(old.encode("cp1252"))
    (tmp_path / "d.csv").write_text("id,question,answer\nd1,one?,1\nd2,two?,2\n")
    (tmp_path / "e.md").write_text("### Q1: What?\n**A1:** That.\n")
    return tmp_path


CASES = ["a.jsonl", "b.parquet", "c.jsonl", "d.csv", "e.md"]


@pytest.mark.parametrize("size", [1, 3, 7, 1000])
def test_shards_hold_the_cases_of_the_whole(logs, size):
    expected = whole(logs, CASES)
    assert len(expected) == 48
    read, source = sharded(logs, CASES, size)
    assert read == expected
    again = [numbered for shard in source.shards for numbered in selected_of(shard, Selection())]
    assert again == expected, "a worker reads the same cases alone"
    assert sum(shard.count for shard in source.shards) == 48


@pytest.mark.parametrize(
    "selection",
    [
        Selection(limit=23),
        Selection(only="i1*"),
        Selection(only="i*", limit=21),
        Selection(file="c.jsonl"),
    ],
)
def test_a_selection_means_the_same_cases(logs, selection):
    expected = whole(logs, CASES, selection)
    read, source = sharded(logs, CASES, 4, selection)
    assert read == expected
    assert [each for shard in source.shards for each in selected_of(shard, selection)] == expected


def test_a_mistake_names_its_line_wherever_the_file_is_cut(tmp_path):
    lines = [json.dumps({"id": str(n), "question": "q?"}) for n in range(9)]
    lines[7] = "{broken"
    (tmp_path / "a.jsonl").write_text("\n".join(lines))
    with pytest.raises(InputError, match=r"a\.jsonl, line 8"):
        sharded(tmp_path, ["a.jsonl"], 3)


def test_an_id_twice_in_two_shards_is_found(tmp_path):
    (tmp_path / "a.jsonl").write_text(
        "".join(json.dumps({"id": str(n % 8), "question": "q?"}) + "\n" for n in range(9))
    )
    with pytest.raises(InputError, match="used twice"):
        sharded(tmp_path, ["a.jsonl"], 3)


def test_the_digest_tells_another_order(tmp_path):
    made = rows(6)
    for name, order in (("a", made), ("b", made[::-1])):
        (tmp_path / f"{name}.jsonl").write_text("".join(json.dumps(row) + "\n" for row in order))
    _, forward = sharded(tmp_path, ["a.jsonl", "d.jsonl"][:1], 2)
    (tmp_path / "a.jsonl").write_text((tmp_path / "b.jsonl").read_text())
    _, backward = sharded(tmp_path, ["a.jsonl"], 2)
    assert forward.digest() != backward.digest()


@given(
    st.lists(st.text(st.characters(codec="utf-8"), max_size=6), min_size=1, max_size=30),
    st.integers(1, 12),
)
def test_any_lines_at_any_size(tmp_path_factory, answers, size):
    folder = tmp_path_factory.mktemp("any")
    lines = [
        json.dumps({"question": "q?", "answer": answer}, ensure_ascii=False) for answer in answers
    ]
    (folder / "a.jsonl").write_text("\n".join(lines), encoding="utf-8", newline="\n")
    assert sharded(folder, ["a.jsonl"], size)[0] == whole(folder, ["a.jsonl"])
