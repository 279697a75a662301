"""A conversation is asked in order, each turn with what the bot itself said before; also when it was cut short."""

import json

from tests.support.results import latest_run
from tests.support.stored_run import forget_after

from answerkey.runs.store import read_outcomes

BOT = """
import json, pathlib
seen = pathlib.Path(__file__).with_name("seen.jsonl")
def answer(question, history):
    with seen.open("a") as file:
        file.write(json.dumps([question, history]) + "\\n")
    return "about " + question
"""
TALK = {"conversation": [{"user": "May?"}, {"user": "June?"}, {"user": "July?"}]}
SUITE = 'name = "talk"\ncases = ["talk.json"]\nmetrics = ["answer_length"]\n[target]\nkind = "python"\ncall = "talk_bot:answer"\n'


def asked(folder):
    return [json.loads(line) for line in (folder / "seen.jsonl").read_text().splitlines()]


def test_each_turn_is_told_what_the_bot_said_before_also_after_a_crash(cli, write):
    write("talk_bot.py", BOT)
    write("talk.json", TALK)
    suite = write("suite.toml", SUITE)
    assert cli("run", suite, "--quiet", "--no-charts").code == 0
    told = {"May?": "about May?", "June?": "about June?"}
    assert [question for question, _ in asked(suite.parent)] == ["May?", "June?", "July?"]
    assert [turn["answer"] for turn in asked(suite.parent)[2][1]] == list(told.values())

    run = latest_run(suite.parent / "results", "talk")
    forget_after(run, 2)  # as if it had been killed after the second turn
    (suite.parent / "seen.jsonl").unlink()
    shown = cli("run", suite, "--resume", "--quiet", "--no-charts")
    assert shown.code == 0, shown.err
    ((question, history),) = asked(suite.parent)
    assert question == "July?"
    assert [turn["answer"] for turn in history] == list(told.values())
    assert len(list(read_outcomes(run))) == 3


COUNTING = BOT.replace('"about " + question', 'f"answer {len(history) + 1}"')


def test_a_user_who_says_the_same_words_again_is_told_what_was_answered_each_time(cli, write):
    write("talk_bot.py", COUNTING)
    write(
        "talk.json",
        {"conversation": [{"user": said} for said in ("Tell me.", "more", "more", "more")]},
    )
    suite = write("suite.toml", SUITE)
    assert cli("run", suite, "--quiet", "--no-charts").code == 0
    told = [("Tell me.", "answer 1"), ("more", "answer 2"), ("more", "answer 3")]
    assert [(turn["user"], turn["answer"]) for turn in asked(suite.parent)[3][1]] == told

    run = latest_run(suite.parent / "results", "talk")
    forget_after(run, 3)  # as if it had been killed after the third turn
    (suite.parent / "seen.jsonl").unlink()
    assert cli("run", suite, "--resume", "--quiet", "--no-charts").code == 0
    ((_, history),) = asked(suite.parent)
    assert [(turn["user"], turn["answer"]) for turn in history] == told
