"""The failure that a status and a body mean."""

from __future__ import annotations

import json

import pytest

from answerkey.llm.failures import (
    Fatal,
    Rejected,
    Throttled,
    Transient,
    endpoint_message,
    raise_for,
)


def test_200_is_no_failure() -> None:
    raise_for(200, {}, "")


@pytest.mark.parametrize(
    ("status", "headers", "body", "kind"),
    [
        (401, {}, "", Fatal),
        (404, {}, "", Fatal),
        (302, {"location": "https://elsewhere"}, "", Fatal),
        (429, {}, "insufficient_quota", Fatal),
        (429, {"retry-after": "7"}, "slow down", Throttled),
        (503, {"retry-after": "7"}, "", Throttled),
        (503, {}, "", Transient),
        (500, {}, "", Transient),
        (408, {}, "", Transient),
        (400, {}, "", Rejected),
        (422, {}, "", Rejected),
    ],
)
def test_each_status_has_its_kind(
    status: int, headers: dict[str, str], body: str, kind: type[Exception]
) -> None:
    with pytest.raises(kind) as caught:
        raise_for(status, headers, body)
    assert str(status) in str(caught.value)
    if isinstance(caught.value, Throttled) and headers:
        assert caught.value.wait == 7.0


def test_only_a_crash_may_be_the_fault_of_the_form() -> None:
    for status, refused in ((500, True), (501, True), (502, False), (504, False)):
        with pytest.raises(Transient) as caught:
            raise_for(status, {}, "")
        assert caught.value.refused_form is refused


@pytest.mark.parametrize(
    ("body", "message"),
    [
        (json.dumps({"error": {"message": "no\nsuch model", "code": 1}}), "no such model"),
        (json.dumps({"error": "plain"}), "plain"),
        (json.dumps({"detail": {"error": {"message": "deep"}}}), "deep"),
        (json.dumps({"other": 1}), ""),
        ("<!doctype html><p>Bad gateway", "an HTML page"),
        ("plain text", "plain text"),
        ("", ""),
        ("[" * 100_000, "[" * 200),
    ],
)
def test_the_message_of_a_body_is_one_short_line(body: str, message: str) -> None:
    assert endpoint_message(body) == message
