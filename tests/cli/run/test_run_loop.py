"""The loop of `answerkey run`: which threads it starts."""

from __future__ import annotations

import threading


def test_nothing_is_loaded_in_the_background_of_a_short_run(cli, write, monkeypatch):
    """A daemon thread inside numpy when Python ends aborts the process: exit 134 instead of 0."""
    write("bot.py", "def answer(question): return 'x'\n")
    write("cases.json", [{"id": "1", "question": "q", "expected": "x"}])
    suite = write(
        "suite.toml",
        'cases = ["cases.json"]\nmetrics = ["token_f1"]\n[target]\ncall = "bot:answer"\n',
    )
    started: list[threading.Thread] = []
    real_start = threading.Thread.start

    def record_start(thread):
        started.append(thread)
        real_start(thread)

    monkeypatch.setattr(threading.Thread, "start", record_start)
    assert cli("run", suite).code == 0
    # Threads that ask and store; none of them runs anything else of ours.
    assert {thread.name.partition("_")[0] for thread in started} <= {
        "ask",
        "write",
        "answerkey-ask",
    }
    assert started
