"""Conversations in YAML or JSON: each turn is a case, with the earlier turns as its history."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from answerkey.cases.cells import as_list, as_number, as_text, as_texts
from answerkey.cases.columns import Place, as_criteria
from answerkey.decode import read_text
from answerkey.errors import InputError, did_you_mean
from answerkey.types import AnswerCriteria, Case, Turn

_TURN_KEYS = {
    "turn", "user", "expected_answer_contains", "expected_topics", "requires_context", "min_score",
    "expected", "expected_answer", "answer_criteria", "note", "tags", "type",
}  # fmt: skip


def read_yaml(path: Path) -> Any:
    """The plain values of a YAML file; it can't construct objects."""
    import yaml

    try:
        return yaml.safe_load(read_text(path))
    except yaml.YAMLError as error:
        raise InputError(f"{path}: not valid YAML: {' '.join(str(error).split())}") from None


def is_conversation(data: Any) -> bool:
    first = data[0] if isinstance(data, list) and data else data
    return isinstance(first, Mapping) and "conversation" in first


def conversation_cases(data: Any, path: Path, name: str) -> Iterator[Case]:
    talks: list[Any] = data if isinstance(data, list) else [data]
    for number, talk in enumerate(talks, start=1):
        turns = talk.get("conversation") if isinstance(talk, Mapping) else None
        if not isinstance(turns, list) or not turns:
            raise InputError(f'{name}, conversation {number}: expected "conversation" with a list of turns')
        stem = str(
            talk.get("id") or talk.get("name") or (path.stem if len(talks) == 1 else f"{path.stem}.{number}")
        )
        yield from _turns(turns, stem, talk, name)


def _turns(turns: list[Any], stem: str, talk: Mapping[str, Any], name: str) -> Iterator[Case]:
    history: list[Turn] = []
    for number, turn in enumerate(turns, start=1):
        place = Place(name, number, "turn")
        if not isinstance(turn, Mapping):
            raise place.error("conversation", turn, "a turn with user: …")
        for key in turn:
            if key not in _TURN_KEYS:
                raise place.error(
                    str(key),
                    turn[key],
                    "a known key of a turn",
                    did_you_mean(str(key), _TURN_KEYS).strip("; "),
                )
        user = as_text(turn.get("user"), "user", place)
        if not user:
            raise place.error("user", turn.get("user"), "what the user says")
        yield Case(
            id=f"{stem}#T{number}",
            question=user,
            expected=as_texts(turn.get("expected", turn.get("expected_answer")), "expected", place),
            type=as_text(turn.get("type"), "type", place) or None,
            criteria=_criteria(turn, place),
            history=tuple(history),
            note=as_text(turn.get("note"), "note", place) or None,
            tags=as_list(turn.get("tags"), "tags", place),
            source_file=name,
            question_num=number,
            min_score=as_number(turn.get("min_score"), "min_score", place),
            extra={
                "conversation": stem,
                "requires_context": bool(turn.get("requires_context")),
                "success_criteria": talk.get("success_criteria"),
            },
        )
        history.append(Turn(user))


def _criteria(turn: Mapping[str, Any], place: Place) -> AnswerCriteria:
    if "answer_criteria" in turn:
        return as_criteria(turn["answer_criteria"], "answer_criteria", place)
    return AnswerCriteria(
        must_contain=as_list(turn.get("expected_answer_contains"), "expected_answer_contains", place),
        must_contain_any=as_list(turn.get("expected_topics"), "expected_topics", place),
    )
