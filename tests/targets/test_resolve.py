"""Recorded answers and the `[target]` table."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import pytest

from answerkey.errors import InputError, SettingsError
from answerkey.targets.recorded import Recorded
from answerkey.targets.resolve import KINDS, kind_of, make_target
from answerkey.types import Case, Question, Response


def answers(*pairs: tuple[str, Response]):
    def read(path: Path) -> Iterable[tuple[str, Response]]:
        return pairs

    return read


def test_the_answer_of_the_case_itself(tmp_path: Path) -> None:
    target = make_target({}, tmp_path)
    assert isinstance(target, Recorded)
    given = Response(answer="", route="kpi")
    assert target.lookup(Case("a", "Q", recorded=given)) is given, (
        "an empty recorded answer is scored as it is"
    )
    ranked = Response(retrieved=())
    assert target.lookup(Case("b", "Q", recorded=ranked)) is ranked
    for nothing in (None, Response(), Response(route="kpi")):
        missing = target.lookup(Case("c", "Q", recorded=nothing))
        assert missing.error == 'no answer recorded: case "c"'
        assert missing.error_kind == "content"


def test_a_second_file_joined_by_id(tmp_path: Path) -> None:
    (tmp_path / "answers.jsonl").write_text("")
    table = {"kind": "recorded", "answers": "answers.jsonl"}
    target = make_target(
        table, tmp_path, answers(("a", Response(answer="A")), ("z", Response(answer="Z")))
    )
    assert isinstance(target, Recorded)
    assert target.lookup(Case("a", "Q", recorded=Response(answer="in the case"))).answer == "A"
    assert "no answer recorded" in (
        target.lookup(Case("b", "Q", recorded=Response(answer="B"))).error or ""
    )
    assert target.ask(Question("z", "Q")).answer == "Z"


def test_files_that_cannot_be_used(tmp_path: Path) -> None:
    table = {"kind": "recorded", "answers": "answers.jsonl"}
    with pytest.raises(SettingsError, match="no file"):
        make_target(table, tmp_path, answers())
    (tmp_path / "answers.jsonl").write_text("")
    with pytest.raises(InputError, match="no answer in it"):
        make_target(table, tmp_path, answers())
    with pytest.raises(InputError, match='two answers for case "a"'):
        make_target(
            table, tmp_path, answers(("a", Response(answer="A")), ("a", Response(answer="B")))
        )


@pytest.mark.parametrize(
    ("table", "message"),
    [
        ({"kind": "recored"}, 'did you mean "recorded"'),
        ({"kind": "htpp", "url": "x"}, 'did you mean "http"'),
        ({"kind": 3}, "expected text"),
        ({"timeout": 3}, "needs a kind: recorded, python"),
        ({"kind": "recorded", "answer": "x"}, 'did you mean "answers"'),
        ({"kind": "recorded", "timeout": 3}, 'no setting "timeout"'),
    ],
)
def test_mistakes_in_the_table_are_reported(
    tmp_path: Path, table: dict[str, object], message: str
) -> None:
    with pytest.raises(SettingsError) as caught:
        make_target(table, tmp_path)
    assert message in str(caught.value)


def test_the_kind_follows_from_the_other_keys() -> None:
    told = {
        "url": "http",
        "openai": "http",
        "gradio": "http",
        "call": "python",
        "run": "command",
        "answers": "recorded",
    }
    assert {key: kind_of({key: "x"}) for key in told} == told
    assert {kind_of({"kind": kind}) for kind in KINDS} == set(KINDS)
