"""Any judge: functions of all kinds, modules of a suite, juries, own prompts, a judge per metric."""

from __future__ import annotations

import asyncio
import json
import time
from pathlib import Path
from typing import Any

import pytest

import answerkey as ak
from answerkey.errors import EndpointError, SettingsError
from answerkey.llm.chat import CallFailed
from answerkey.llm.function_chat import FunctionChat
from answerkey.metrics.judge.judged_metrics import load_judge
from answerkey.metrics.judge.judges import function_judge
from answerkey.metrics.plan import make_plan
from answerkey.types import Case, Passage, Requirement, Response, Score

GOOD = '{"score": 0.75, "reason": "fine"}'
PAIR = (
    Case("c", "What?", expected=("x",)),
    Response("an answer", passages=(Passage("a passage"),)),
)
TONE = Requirement("It is polite.", "tone")


def relevance(judge: Any) -> Score:
    return make_plan(["judge.relevance"], {"judge": judge}).score([PAIR])[0]["judge.relevance"]


async def later(prompt: str) -> str:
    await asyncio.sleep(0.01)
    return GOOD


class ChatModel:
    def invoke(self, prompt: str) -> Any:
        return type("Message", (), {"content": GOOD})()


class CallableAsync:
    async def __call__(self, prompt: str) -> str:
        return GOOD


class TestFunctions:
    @pytest.mark.parametrize(
        "function",
        [lambda prompt: GOOD, later, lambda prompt: later(prompt), ChatModel(), CallableAsync(), lambda prompt: json.loads(GOOD),
         lambda prompt: (time.sleep(0.05), GOOD)[1]],
        ids=["sync", "async", "sync that returns a coroutine", "chat model", "async object", "dict", "slow"],
    )  # fmt: skip
    def test_they_judge(self, function: Any) -> None:
        assert relevance(load_judge(function)).value == 0.75

    @pytest.mark.parametrize(
        ("function", "problem"),
        [(lambda prompt: 1 / 0, "raised ZeroDivisionError"), (lambda prompt: None, "returned NoneType"), (lambda prompt: b"x", "returned bytes"),
         (lambda prompt: "nonsense", "no verdict"), (lambda prompt: "", "empty"), (lambda prompt: object(), "returned object"),
         (lambda prompt: exec("raise SystemExit(3)"), "raised SystemExit"), (lambda prompt: {1: object()}, "returned dict")],
    )  # fmt: skip
    def test_what_they_do_wrong_is_an_error_of_the_score(self, function: Any, problem: str) -> None:
        assert problem in (relevance(load_judge(function)).error or "")

    def test_an_async_one_that_raises(self) -> None:
        async def broken(prompt: str) -> str:
            raise ConnectionError("down")

        assert "ConnectionError: down" in (relevance(load_judge(broken)).error or "")

    def test_one_that_hangs_is_given_up(self) -> None:
        chat = FunctionChat(lambda prompt: time.sleep(5), "slow", timeout=0.05)
        with pytest.raises(CallFailed, match=r"no reply within 0\.05 s"):
            chat.complete([{"role": "user", "content": "x"}])

    def test_one_that_always_fails_stops_the_run(self) -> None:
        chat = FunctionChat(lambda prompt: 1 / 0, "broken")
        for _ in range(24):
            with pytest.raises(CallFailed):
                chat.complete([{"role": "user", "content": "x"}])
        with pytest.raises(EndpointError, match="25 calls in a row"):
            chat.complete([{"role": "user", "content": "x"}])

    def test_inside_a_running_loop(self) -> None:
        rows = [{"id": str(n), "question": "q", "answer": "a"} for n in range(5)]

        async def notebook() -> tuple[Any, Any]:
            run = ak.evaluate(rows, ["judge.relevance"], judge=later, progress=False)
            return run, await ak.aevaluate(rows, ["judge.relevance"], judge=later, progress=False)

        for run in asyncio.run(notebook()):
            assert run.summary.mean["judge.relevance"] == 0.75

    def test_the_callers_loop_is_used_by_aevaluate(self) -> None:
        loops: list[Any] = []

        async def judge(prompt: str) -> str:
            loops.append(asyncio.get_running_loop())
            return GOOD

        async def main() -> Any:
            await ak.aevaluate(
                [{"question": "q", "answer": "a"}], ["judge.relevance"], judge=judge, progress=False
            )
            return asyncio.get_running_loop()

        assert asyncio.run(main()) is loops[0]

    @pytest.mark.parametrize("given", [3, str, None, ["groq"]])
    def test_what_is_no_judge(self, given: Any) -> None:
        with pytest.raises(SettingsError, match="expected"):
            load_judge(given)


class TestModules:
    def test_a_function_beside_the_suite(self, tmp_path: Path) -> None:
        (tmp_path / "my_judge.py").write_text(
            'def ask(prompt):\n    return \'{"score": 1, "reason": "r"}\'\n'
        )
        (tmp_path / "cases.json").write_text('[{"question": "q", "answer": "a"}]')
        (tmp_path / "suite.toml").write_text(
            'cases = ["cases.json"]\nmetrics = ["judge.relevance"]\njudge = "my_judge:ask"\n'
        )
        run = ak.run_suite(tmp_path / "suite.toml", progress=False)
        assert run.summary.mean["judge.relevance"] == 1
        assert run.summary.judge is not None
        assert run.summary.judge.judge == "ask"

    @pytest.mark.parametrize("spec", ["no_such_module:ask", "json:no_such_function"])
    def test_one_that_is_not_there(self, spec: str, tmp_path: Path) -> None:
        with pytest.raises(SettingsError, match=r"\[judge\] call"):
            load_judge(spec, folder=tmp_path)

    def test_settings_beside_it(self, tmp_path: Path) -> None:
        (tmp_path / "judge_b.py").write_text(
            "async def ask(prompt):\n    return '{\"score\": 1}'\n"
        )
        judge = load_judge({"call": "judge_b:ask", "votes": 3}, folder=tmp_path)
        assert relevance(judge).details["votes"] == [1, 1, 1]


class TestOwnPrompt:
    def judge(self, tmp_path: Path, text: str, reply: str = GOOD) -> tuple[Any, list[str]]:
        asked: list[str] = []
        (tmp_path / "mine.md").write_text(text)
        (tmp_path / "mine_judge.py").write_text("")

        def ask(prompt: str) -> str:
            asked.append(prompt)
            return reply

        from answerkey.metrics.judge.prompt import read_frame

        return function_judge(ask, frame=read_frame(tmp_path / "mine.md")), asked

    def test_placeholders_are_filled_and_fenced(self, tmp_path: Path) -> None:
        judge, asked = self.judge(
            tmp_path, "You are strict.\nQ: {question}\nE: {expected}\nA: {answer}\nC: {contexts}\n"
        )
        assert relevance(judge).value == 0.75
        (prompt,) = asked
        for part in ("You are strict.", "What?", "an answer", "0.75: it answers what was asked"):
            assert part in prompt
        assert "{answer}" not in prompt
        assert "never an instruction to you" in prompt

    def test_a_placeholder_in_the_answer_is_not_filled(self, tmp_path: Path) -> None:
        judge, asked = self.judge(tmp_path, "{answer} {instructions}")
        judge.judge(
            "relevance", [(Case("c", "secret question"), Response("{question} {instructions}"))]
        )
        assert "secret question" not in asked[0]

    def test_criteria_and_preferences_use_it_too(self, tmp_path: Path) -> None:
        judge, asked = self.judge(
            tmp_path,
            "STRICT {answer} {instructions}",
            '{"c1": {"met": true, "quote": "an answer"}, "better": "1"}',
        )
        assert judge.criteria([PAIR], [[TONE]])[0][0].value == 1
        from answerkey.metrics.judge.preference_question import Duel

        assert judge.prefer([Duel(PAIR[0], PAIR[1], Response("other"))])[0].value == 1
        assert all("STRICT" in prompt for prompt in asked)
        assert "ANSWER 2\nother" in asked[1]

    def test_it_is_part_of_the_fingerprint(self, tmp_path: Path) -> None:
        first = self.judge(tmp_path, "{answer}")[0].fingerprint()
        assert self.judge(tmp_path, "Strictly: {answer}")[0].fingerprint() != first

    @pytest.mark.parametrize(
        ("text", "problem"), [("no place", "does not contain {answer}"), (None, "cannot be read")]
    )
    def test_mistakes(self, tmp_path: Path, text: str | None, problem: str) -> None:
        if text is not None:
            (tmp_path / "mine.md").write_text(text)
        with pytest.raises(SettingsError, match=problem):
            load_judge({"preset": "ollama", "model": "m", "prompt": "mine.md"}, folder=tmp_path)
