"""The forms in which JSON is asked for, and the order in which they are tried."""

from __future__ import annotations

import json

import pytest

from answerkey.llm.structured_output import RUNGS, Ladder, limit_texts, request_fields

TEXT = {"type": "string"}
SCHEMA = {"type": "object", "properties": {"reason": TEXT, "score": {"type": "number"}}}
MESSAGES = [{"role": "user", "content": "Judge."}]


def test_a_refused_form_is_followed_by_the_next_and_the_last_by_none() -> None:
    ladder = Ladder()
    forms = [ladder.rung]
    while (lower := ladder.below(forms[-1])) is not None:
        forms.append(lower)
    assert tuple(forms) == RUNGS


def test_a_form_that_worked_is_kept() -> None:
    ladder = Ladder()
    ladder.settle_on("tool")
    ladder.settle_on("prompt")  # a call that was under way
    assert ladder.rung == "tool"
    assert ladder.below("json_schema") == "tool"
    assert ladder.below("tool") is None


def test_after_a_crash_no_schema_is_sent_again() -> None:
    assert Ladder().below(RUNGS[0], crashed=True) == "json_object"
    assert Ladder().below("tool", crashed=True) == "prompt"


def test_the_first_form_can_be_chosen() -> None:
    assert Ladder("json_object").rung == "json_object"
    assert Ladder("json_schema").rung == RUNGS[0]


@pytest.mark.parametrize("rung", RUNGS)
def test_the_schema_is_in_every_request(rung: str) -> None:
    fields = request_fields(rung, MESSAGES, SCHEMA)
    assert json.dumps(SCHEMA) in json.dumps(fields) or json.dumps(SCHEMA) in str(fields["messages"])
    assert ("tools" in fields) == (rung == "tool")
    assert ("response_format" in fields) == rung.startswith("json")
    assert request_fields(rung, MESSAGES, None) == {"messages": MESSAGES}


def test_texts_are_limited_and_nested_objects_share_the_limit() -> None:
    nested = {"type": "object", "properties": {"a": SCHEMA, "b": SCHEMA, "reason": TEXT}}
    limited = json.loads(json.dumps(limit_texts(nested, 400)))["properties"]
    assert limited["reason"]["maxLength"] == 400
    assert limited["a"]["properties"]["reason"]["maxLength"] == 200
    assert "maxLength" not in limited["a"]["properties"]["score"]
    tiny = json.loads(json.dumps(limit_texts(nested, 10)))["properties"]
    assert tiny["a"]["properties"]["reason"]["maxLength"] == 40
