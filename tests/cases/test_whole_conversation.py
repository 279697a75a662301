"""The row of a whole conversation beside the rows of its turns."""

from __future__ import annotations

import json

MESSAGES = [
    {"role": "user", "content": "Cancel my order 7."},
    {
        "role": "assistant",
        "content": "",
        "tool_calls": [{"function": {"name": "cancel", "arguments": '{"order": 7}'}}],
    },
    {"role": "tool", "content": "cancelled"},
    {"role": "assistant", "content": "Your order 7 is cancelled."},
]


def scores_of(cli, write, tmp_path, messages):
    row = {
        "id": "chat",
        "messages": messages,
        "expected_tools": [{"name": "cancel", "arguments": {"order": 7}}],
    }
    write("chats.jsonl", [row])
    out = tmp_path / "out"
    shown = cli(
        "score", tmp_path / "chats.jsonl", "--metrics", "tool_arguments", "--out", out, "-q"
    )
    (run,) = out.iterdir()
    return shown, run


def test_a_chat_that_ends_with_the_user_is_still_scored_as_a_whole(cli, write, tmp_path):
    goodbye = {"role": "user", "content": "Thanks, goodbye!"}
    _, run = scores_of(cli, write, tmp_path, [*MESSAGES, goodbye])
    assert _rows(run)["chat"]["scores"]["tool_arguments"]["value"] == 1.0


def test_a_chat_without_calls_before_a_goodbye_misses_the_expected_call(cli, write, tmp_path):
    talk = [
        {"role": "user", "content": "Cancel my order 7."},
        {"role": "assistant", "content": "Which order?"},
        {"role": "user", "content": "Never mind."},
    ]
    _, run = scores_of(cli, write, tmp_path, talk)
    assert _rows(run)["chat"]["scores"]["tool_arguments"]["value"] == 0.0


def _rows(run):
    lines = (run / "results.jsonl").read_text(encoding="utf-8").splitlines()
    return {row["id"]: row for row in map(json.loads, lines)}
