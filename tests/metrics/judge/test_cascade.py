"""A judge that is asked only where the local models are not sure."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

import answerkey as ak
from answerkey.entailment.model_cards import CardFigure, ModelCard
from answerkey.errors import SettingsError
from answerkey.llm.scripted import ScriptedChat
from answerkey.metrics.judge.card import CascadeCounts, JudgeTally, card_lines, judge_card
from answerkey.metrics.judge.cascade import DEFAULT_BAND, CascadeJudge
from answerkey.metrics.judge.judged_metrics import load_judge
from answerkey.metrics.judge.judges import JudgeContext, make_judge
from answerkey.metrics.judge.jury import Jury
from answerkey.metrics.judge.model_judge import ModelJudge
from answerkey.types import Case, Outcome, Pair, Passage, Requirement, Response, Score, Verdict

RUBRIC = json.dumps(
    {"reasoning": "r", "accuracy": 4, "completeness": 3, "citation_quality": 5, "coherence": 2}
)
VERDICT = json.dumps({"reason": "r", "score": 0.75})


def pairs_of(count: int, answer: str = "answer") -> list[Pair]:
    return [
        (Case(f"c{n}", f"Question {n}?", expected=("x",)), Response(f"{answer} {n}"))
        for n in range(count)
    ]


class FixedLocal:
    """A local judge whose probabilities are given, one per pair in order of the case's number."""

    name = "local"

    def __init__(self, probabilities: Sequence[float | None]) -> None:
        self._probabilities = probabilities

    def _of(self, pair: Pair) -> float | None:
        return self._probabilities[int(pair[0].id[1:])]

    def rubric(self, pairs: Sequence[Pair]) -> list[dict[str, Score]]:
        rows: list[dict[str, Score]] = []
        for pair in pairs:
            share = self._of(pair)
            accuracy = Score(reason="unknown") if share is None else Score(5 * share, "local")
            others = ("completeness", "citation_quality", "coherence")
            rows.append({"accuracy": accuracy, **dict.fromkeys(others, Score(1.0, "local"))})
        return rows

    def judge(self, name: str, pairs: Sequence[Pair]) -> list[Score]:
        return [Score(self._of(pair), "local") for pair in pairs]

    def fingerprint(self) -> str:
        return "local x"

    def close(self) -> None:
        pass


def make_cascade(
    probabilities: Sequence[float | None], reply: str = RUBRIC, **options: Any
) -> tuple[CascadeJudge, ScriptedChat]:
    chat = ScriptedChat([reply])
    local: Any = FixedLocal(probabilities)
    return CascadeJudge(ModelJudge(chat), local, **{"check_share": 0.0, **options}), chat


def test_only_the_answers_between_the_limits_are_asked_about() -> None:
    cascade, chat = make_cascade([0.0, 0.149, 0.15, 0.5, 0.85, 0.851, 1.0])
    table = cascade.rubric(pairs_of(7))
    assert len(chat.asked) == 3
    by = [row["accuracy"].details["cascade"]["by"] for row in table]
    assert by == ["local", "local", "judge", "judge", "judge", "local", "local"]
    values = [row["accuracy"].value for row in table]
    assert values == pytest.approx([0.0, 0.745, 4, 4, 4, 4.255, 5.0])
    assert table[0]["coherence"].reason == "local (sure: the judge was not asked)"
    assert table[3]["coherence"].value == 2


def test_faithfulness_has_a_local_probability_and_the_other_questions_have_none() -> None:
    cascade, chat = make_cascade([0.01, 0.5, 0.99], VERDICT)
    scores = cascade.judge("faithfulness", pairs_of(3))
    assert [score.value for score in scores] == [0.01, 0.75, 0.99]
    assert len(chat.asked) == 1
    for name in ("relevance", "safety", "robustness", "faithfulness_to_expected"):
        chat.asked.clear()
        assert [score.value for score in cascade.judge(name, pairs_of(3))] == [0.75] * 3
        assert len(chat.asked) == 3


def test_criteria_in_words_are_always_asked_about() -> None:
    met = json.dumps({"c1": {"reason": "r", "quote": "no quote", "met": True}})
    cascade, chat = make_cascade([0.0, 1.0], met)
    table = cascade.criteria(pairs_of(2), [(Requirement("It is polite."),)] * 2)
    assert [scores[0].value for scores in table] == [1.0, 1.0]
    assert len(chat.asked) == 2


def test_an_answer_without_a_local_probability_is_asked_about_and_an_empty_one_is_not() -> None:
    cascade, chat = make_cascade([None, 0.99])
    (unknown, empty) = cascade.rubric([pairs_of(1)[0], (Case("c1", "?"), Response(""))])
    assert unknown["accuracy"].value == 4
    assert empty["accuracy"].value == 0.0
    assert "cascade" in empty["accuracy"].details
    assert "calls_saved" not in empty["accuracy"].details["cascade"]
    assert len(chat.asked) == 1


def test_a_share_of_the_sure_answers_is_asked_about_as_well() -> None:
    cascade, chat = make_cascade([0.99] * 400, check_share=0.25)
    table = cascade.rubric(pairs_of(400))
    both = [n for n, row in enumerate(table) if row["accuracy"].details["cascade"]["by"] == "both"]
    assert len(both) == len(chat.asked)
    assert 60 < len(both) < 140
    assert all(table[n]["accuracy"].value == 4 for n in both)
    assert all(table[n]["accuracy"].details["cascade"]["agrees"] for n in both)
    again, _ = make_cascade([0.99] * 400, check_share=0.25)
    routes = [row["accuracy"].details["cascade"]["by"] for row in again.rubric(pairs_of(400))]
    assert [n for n, by in enumerate(routes) if by == "both"] == both


def test_disagreement_is_counted_and_an_error_of_the_judge_is_neither() -> None:
    cascade, _ = make_cascade([0.01] * 2, check_share=1.0)
    (row,) = cascade.rubric(pairs_of(1))
    assert row["accuracy"].details["cascade"]["agrees"] is False
    broken, _ = make_cascade([0.01] * 2, "no verdict", check_share=1.0)
    (row,) = broken.rubric(pairs_of(1))
    assert row["accuracy"].error
    assert "agrees" not in row["accuracy"].details["cascade"]


def outcome_of(pair: Pair, scores: Mapping[str, Score]) -> Outcome:
    return Outcome(pair[0], pair[1], dict(scores), Verdict("SCORED"))


def card_of(cascade: CascadeJudge, pairs: Sequence[Pair]) -> Any:
    tally = JudgeTally()
    for pair, row in zip(pairs, cascade.rubric(pairs), strict=True):
        tally.add(outcome_of(pair, {f"rubric.{name}": score for name, score in row.items()}))
    return judge_card(tally, cascade.fingerprint())


def test_the_card_counts_questions_calls_saved_and_agreement() -> None:
    pairs = pairs_of(10)
    cascade, chat = make_cascade([0.99] * 4 + [0.01] * 3 + [0.5] * 3)
    card = card_of(cascade, pairs)
    assert card.cascade == CascadeCounts(questions=10, sure=7, calls_saved=7, checked=0, agreed=0)
    assert card.calls == len(chat.asked) == 3
    assert "7 calls saved; agreement not measured" in "\n".join(card_lines(card))

    checked, _ = make_cascade([0.99] * 4 + [0.01] * 3 + [0.5] * 3, check_share=1.0)
    counts = card_of(checked, pairs).cascade
    assert counts == CascadeCounts(questions=10, sure=0, calls_saved=0, checked=7, agreed=4)


def test_agreement_with_asking_always_is_estimated_from_the_sample() -> None:
    counts = CascadeCounts(questions=100, sure=60, calls_saved=60, checked=10, agreed=9)
    assert counts.agreement_with_always == pytest.approx(1 - 0.1 * 0.6)
    assert "estimated agreement with asking always 94.0%" in counts.line


def test_votes_and_juries_save_more_calls() -> None:
    local: Any = FixedLocal([0.99])
    three = ModelJudge(ScriptedChat([RUBRIC]), votes=3)
    for judge, calls in ((three, 3), (Jury([three, ModelJudge(ScriptedChat([RUBRIC]))]), 4)):
        (row,) = CascadeJudge(judge, local, check_share=0.0).rubric(pairs_of(1))
        assert row["coherence"].details["cascade"]["calls_saved"] == calls


def test_the_settings_choose_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "own_judge.py").write_text(f"def ask(prompt):\n    return '{VERDICT}'\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    table = {"call": "own_judge:ask", "when": "unsure"}
    judge = load_judge(table, folder=tmp_path)
    assert isinstance(judge, CascadeJudge)
    assert judge.band == DEFAULT_BAND
    other = load_judge({**table, "unsure": [0.3, 0.7]}, folder=tmp_path)
    assert isinstance(other, CascadeJudge)
    assert other.band == (0.3, 0.7)
    plain = load_judge({"call": "own_judge:ask", "when": "always"}, folder=tmp_path)
    assert isinstance(plain, ModelJudge)
    assert len({judge.fingerprint(), other.fingerprint(), plain.fingerprint()}) == 3
    assert judge.fingerprint().startswith(f"{plain.name} ")


@pytest.mark.parametrize(
    ("table", "line"),
    [
        ({"preset": "local", "when": "unsure"}, 'the judge "local" is none'),
        ({"preset": "ollama", "when": "sometimes"}, "expected always or unsure"),
        ({"preset": "ollama", "unsure": [0.1, 0.9]}, 'unsure needs when = "unsure"'),
        ({"preset": "ollama", "model": "m", "when": "unsure", "unsure": [0.9, 0.1]}, "lower one"),
        ({"preset": "ollama", "model": "m", "when": "unsure", "check_share": 2}, "check_share"),
    ],
)
def test_wrong_settings_are_one_clear_line(table: dict[str, object], line: str) -> None:
    with pytest.raises(SettingsError, match=line):
        load_judge(table)


def test_the_limits_come_from_the_card_of_the_entailment_model(tmp_path: Path) -> None:
    from tests.support.tiny_models import make_number

    from answerkey.entailment.load import load_pair_model
    from answerkey.entailment.model_cards import write_card

    folder = make_number(tmp_path / "m")
    raw: Any = load_pair_model(str(folder))
    card = ModelCard(
        name="m", revision="", digest=raw.digest, rows=60, groups=60, packaged_auroc=None,
        auroc=CardFigure(0.9, 0.8, 1.0), calibration_error=0.1, pairs_per_second=1.0, unsure=(0.25, 0.6),
    )  # fmt: skip
    path = write_card(card, tmp_path / "card.json")
    model = load_pair_model(str(folder), card=path)
    context = JudgeContext(None, model, Path())
    judge = make_judge({"preset": "ollama", "model": "m", "when": "unsure"}, context)
    assert isinstance(judge, CascadeJudge)
    assert judge.band == (0.25, 0.6)


ROWS = [
    {"id": "right", "question": "When did it open?", "expected": "1932", "answer": "1932"},
    {"id": "wrong", "question": "When did it open?", "expected": "1932", "answer": "1951"},
    {
        "id": "open", "question": "Why did it close?", "expected": "It was renovated for two years after a fire.",
        "answer": "Works on the building after a fire took some time.",
    },
]  # fmt: skip


def test_a_run_reports_the_saved_calls(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "counting_judge.py").write_text(
        f"asked = []\ndef ask(prompt):\n    asked.append(prompt)\n    return '{RUBRIC}'\n"
    )
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    judge = {"call": "counting_judge:ask", "when": "unsure", "check_share": 0.0}
    run = ak.evaluate(ROWS, ["rubric.accuracy", "rubric.coherence"], judge=judge, progress=False)
    import counting_judge  # pyright: ignore

    scores = {row.case.id: row.scores["rubric.accuracy"] for row in run.outcomes}
    assert scores["right"].details["cascade"]["by"] == "local"
    assert scores["wrong"].details["cascade"]["by"] == "local"
    assert (scores["right"].value or 0) > 4 > 1 > (scores["wrong"].value or 0)
    unsure = [score for score in scores.values() if score.details["cascade"]["by"] == "judge"]
    assert len(counting_judge.asked) == len(unsure)
    card = run.summary.judge
    assert card is not None
    assert card.cascade is not None
    assert card.cascade.calls_saved == 3 - len(unsure)
    assert card.judge == "ask when unsure"


def test_the_command_line_sets_it(cli: Callable, write: Callable[[str, object], Path]) -> None:
    cases = write("cases.jsonl", ROWS)
    shown = cli("score", cases, "--metrics", "rubric.accuracy", "--judge-when", "unsure")
    assert shown.code == 2
    assert "--judge-when needs --judge" in shown.last_line
    shown = cli(
        "score", cases, "--metrics", "rubric.accuracy", "--judge", "local", "--judge-when", "unsure"
    )
    assert "the local judge has no mode" in shown.last_line


def test_evidence_in_passages_decides_where_there_is_no_expected_answer() -> None:
    judge = CascadeJudge(ModelJudge(ScriptedChat([RUBRIC])), load_judge("local"), check_share=0.0)
    copied = "The museum opened in 1932 and has four halls."
    (row,) = judge.rubric([(Case("c0", "When?"), Response(copied, (Passage(copied),)))])
    assert row["accuracy"].details["cascade"]["by"] == "local"
