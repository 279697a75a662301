"""`answerkey run --variants`: a bot that breaks on typos is found; the headline figures stay."""

from __future__ import annotations

import html
import json
import re
from collections.abc import Callable, Collection
from pathlib import Path
from typing import Any

import pytest
from tests.support.fake_endpoint import FakeEndpoint, Request, Said, completion
from tests.support.own_files import Cli
from tests.support.viewer_asking import ask

from answerkey.viewer.app import make_app
from answerkey.viewer.guard import Rules

# The answers do not contain the devices' names, so that typos may touch those.
FACTS = {
    "kettle": "3 minutes",
    "toaster": "2 years",
    "blender": "1.5 litres",
    "freezer": "minus 18 degrees",
    "vacuum": "4 kilograms",
    "printer": "20 pages per minute",
    "speaker": "12 hours",
    "monitor": "27 inches",
    "camera": "60 pictures per second",
    "scanner": "30 sheets per minute",
    "heater": "1500 watts",
    "keyboard": "104 keys",
}

# A strict bot looks for the exact word; a tolerant one takes the most similar word.
BOT = """
from difflib import get_close_matches
from json import loads
from pathlib import Path
FACTS = loads(Path(__file__).with_name("facts.json").read_text())

def strict(question):
    for word in question.lower().replace("?", "").split():
        if word in FACTS:
            return FACTS[word]
    return "The device is made in Norway and costs 900 euros."

def tolerant(question):
    for word in question.lower().replace("?", "").split():
        for name in get_close_matches(word, FACTS, n=1, cutoff=0.7):
            return FACTS[name]
    return "The device is made in Norway and costs 900 euros."
"""


def write_suite(folder: Path, bot: str, more: str = "") -> Path:
    (folder / "facts.json").write_text(json.dumps(FACTS))
    (folder / "bot.py").write_text(BOT)
    cases = [
        {"id": name, "question": f"What should customers know about our {name}?", "expected": fact}
        for name, fact in FACTS.items()
    ]
    (folder / "cases.json").write_text(json.dumps(cases))
    suite = folder / "suite.toml"
    suite.write_text(
        f'cases = ["cases.json"]\nprofile = "rag"\n[target]\ncall = "bot:{bot}"\n{more}'
    )
    return suite


def run_json(cli: Cli, *arguments: str | Path) -> tuple[int, dict[str, Any]]:
    result = cli("run", *arguments, "--json", "--no-charts")
    return result.code, json.loads(result.out)


TYPOS = ("--variants", "typos", "--per-case", "3")


def test_a_bot_that_breaks_on_typos_fails_the_gate(cli: Cli, tmp_path: Path) -> None:
    suite = write_suite(tmp_path, "strict")
    code, report = run_json(cli, suite, *TYPOS, "--gate", "variants.typos.drop <= 0.05")
    typos = report["variants"]["kinds"]["typos"]
    assert code == 1
    assert report["ending"].startswith("FAIL: 1 of 1 gate on variants failed (variants.typos.drop")
    assert typos["pass_rate_original"] == 1.0
    assert typos["drop"] > 0.05
    assert typos["drop"] == pytest.approx(len(typos["newly_failing"]) / typos["scored_pairs"])
    assert typos["p"] < 0.05
    assert typos["consistency"]["mean"] < 1.0


def test_a_bot_that_understands_typos_passes_the_gate(cli: Cli, tmp_path: Path) -> None:
    suite = write_suite(tmp_path, "tolerant")
    code, report = run_json(cli, suite, *TYPOS, "--gate", "variants.typos.drop <= 0.05")
    assert code == 0
    assert report["variants"]["kinds"]["typos"]["newly_failing"] == []


def test_the_headline_does_not_change(cli: Cli, tmp_path: Path) -> None:
    suite = write_suite(tmp_path, "strict")
    _, without = run_json(cli, suite)
    _, with_variants = run_json(cli, suite, *TYPOS)
    for key in ("totals", "pass_rate", "pass_rate_ci95", "score", "average_scores"):
        assert with_variants.get(key) == without.get(key)


def test_a_finished_run_is_not_asked_again(cli: Cli, tmp_path: Path) -> None:
    suite = write_suite(tmp_path, "strict")
    _, first = run_json(cli, suite, *TYPOS)
    _, again = run_json(cli, suite, *TYPOS, "--resume")
    assert again["variants"] == first["variants"]
    assert len(list((tmp_path / "results").iterdir())) == 1


def test_repeats_and_variants_work_together(cli: Cli, tmp_path: Path) -> None:
    suite = write_suite(tmp_path, "strict")
    code, report = run_json(cli, suite, *TYPOS, "--repeats", "2")
    assert code == 0
    assert report["variants"]["kinds"]["typos"]["drop"] > 0.05


def test_variants_in_the_suite_file(cli: Cli, tmp_path: Path) -> None:
    more = '[variants]\nkinds = ["lowercase", "greeting"]\n'
    code, report = run_json(cli, write_suite(tmp_path, "tolerant", more))
    assert code == 0
    assert list(report["variants"]["kinds"]) == ["lowercase", "greeting"]


def test_the_printed_report_names_the_drop(cli: Cli, tmp_path: Path) -> None:
    result = cli("run", write_suite(tmp_path, "strict"), *TYPOS, "--no-charts")
    assert "Variants: the same questions as people type or speak them" in result.out
    assert "typos: 100 % → " in result.out
    assert "newly failing: " in result.out


def test_every_report_has_a_section_on_variants(cli: Cli, tmp_path: Path) -> None:
    suite = write_suite(tmp_path, "strict")
    gate = "variants.typos.drop <= 0.05"
    assert cli("run", suite, *TYPOS, "--gate", gate).code == 1
    (run,) = (tmp_path / "results").iterdir()
    stored = json.loads((run / "variants.json").read_text())
    newly_failing = stored["kinds"]["typos"]["newly_failing"][0]
    for name in ("report.txt", "report.md", "report.html"):
        text = html.unescape((run / name).read_text()).replace("\\", "")
        assert newly_failing in text, name
        assert f"FAIL {gate}".replace("<", "&lt;") in text or f"FAIL {gate}" in text, name
    assert json.loads((run / "summary.json").read_text())["variants"] == stored
    shown = cli("summary", run)
    assert "Variants: the same questions as people type or speak them" in shown.out
    rewritten = cli("report", run, "--json", "--no-charts")
    assert json.loads(rewritten.out)["variants"] == stored


def test_a_run_without_variants_has_no_section(cli: Cli, tmp_path: Path) -> None:
    assert cli("run", write_suite(tmp_path, "tolerant")).code == 0
    (run,) = (tmp_path / "results").iterdir()
    assert "variants" not in json.loads((run / "summary.json").read_text())
    for name in ("report.txt", "report.md", "report.html"):
        assert "Variants" not in (run / name).read_text()


def test_dry_run_counts_the_variants(cli: Cli, tmp_path: Path) -> None:
    result = cli("run", write_suite(tmp_path, "strict"), *TYPOS, "--dry-run")
    assert "then their variants: 36 questions" in result.out
    assert not (tmp_path / "results").exists()


def test_dry_run_estimates_the_cost_of_written_variants(cli: Cli, tmp_path: Path) -> None:
    suite = write_suite(tmp_path, "strict", "[run]\nrepeats = 2\n")
    judge = 'judge = {base_url = "http://127.0.0.1:1/v1", model = "m", price_in = 1000.0}'
    text = suite.read_text().replace('profile = "rag"', "metrics = {answer_agreement = 0.4}")
    suite.write_text(f"{judge}\n{text}")
    kinds = ("--variants", "paraphrase,translate:de,typos")
    result = cli("run", suite, *kinds, "--dry-run")
    assert result.code == 0, result.err
    assert "then their variants: 36 questions, 2 times each" in result.out
    # 12 paraphrases and 12 translations, written and checked once, whatever the repeats.
    assert "writes and checks variants: 48 calls, about 5,760 tokens" in result.out
    assert "cost of the judge: about 5.8" in result.out
    record = json.loads(cli("run", suite, *kinds, "--dry-run", "--json").out)
    assert record["variants"] == 36
    assert record["variant_writing_calls"] == 48
    assert record["judge_cost_estimate"] == pytest.approx(5.76)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--variants", "tipos"], 'unknown variant "tipos"'),
        (["--gate", "variants.typos.drop <= 0.05"], "add it to --variants typos"),
        (["--variants", "typos", "--gate", "variants.typos.dorp <= 0.05"], "unknown figure"),
        (["--variants", "typos", "--gate", "variants.typos"], "expected a figure of a variant"),
    ],
)
def test_mistakes_are_refused_before_the_first_question(
    cli: Cli, tmp_path: Path, arguments: list[str], message: str
) -> None:
    result = cli("run", write_suite(tmp_path, "strict"), *arguments)
    assert result.code == 2
    assert message in result.err
    assert not (tmp_path / "results").exists()


def test_recorded_answers_cannot_be_asked_again(cli: Cli, tmp_path: Path) -> None:
    cases = tmp_path / "cases.json"
    cases.write_text(json.dumps([{"id": "1", "question": "Open?", "answer": "Yes."}]))
    suite = tmp_path / "suite.toml"
    suite.write_text('cases = ["cases.json"]\nmetrics = ["token_f1"]\n')
    result = cli("run", suite, "--variants", "typos")
    assert result.code == 2
    assert "needs a bot that can be asked" in result.err


SEVERAL_TARGETS = """
[variants]
kinds = ["typos"]
[run]
repeats = 2
workers = 1
[[targets]]
name = "strict"
call = "bot:strict"
[[targets]]
name = "tolerant"
call = "bot:tolerant"
"""

# Counts its calls, and stops the run at a call as Ctrl-C does.
COUNTING_BOT = """
import os, signal
CALLS = Path(__file__).with_name("calls.txt")
STOP = Path(__file__).with_name("stop_at.txt")

def counted(answer):
    def ask(question):
        with CALLS.open("a") as file:
            file.write("x")
        if STOP.exists() and CALLS.stat().st_size == int(STOP.read_text()):
            os.kill(os.getpid(), signal.SIGINT)
        return answer(question)
    return ask

strict = counted(strict)
tolerant = counted(tolerant)
"""


def test_several_targets_repeats_resume_and_variants_work_together(
    cli: Cli, tmp_path: Path
) -> None:
    suite = write_suite(tmp_path, "strict")
    text = suite.read_text().replace('[target]\ncall = "bot:strict"\n', "")
    suite.write_text(text + SEVERAL_TARGETS)
    (tmp_path / "bot.py").write_text(BOT + COUNTING_BOT)
    calls = tmp_path / "calls.txt"
    stop = tmp_path / "stop_at.txt"
    # The first target is asked 12 questions twice; the run stops in the middle of its variants.
    stop.write_text("36")
    assert cli("run", suite, "--quiet", "--no-charts").code == 130
    stop.unlink()
    asked_before = calls.stat().st_size
    assert asked_before < 48
    assert cli("run", suite, "--resume", "--quiet", "--no-charts").code == 0
    # 2 targets, 12 questions and 12 variants, twice each: none is asked more often.
    assert calls.stat().st_size == 2 * 24 * 2
    runs = {path.name.rsplit("_", 2)[0]: path for path in (tmp_path / "results").iterdir()}
    assert len(runs) == 2
    drops: dict[str, float] = {}
    for name, path in runs.items():
        figures = json.loads((path / "variants.json").read_text())["kinds"]["typos"]
        drops[name] = figures["drop"]
        assert figures["pairs"] == len(FACTS)
        line = json.loads((path / "results.jsonl").read_text().splitlines()[0])
        assert len(line["repeats"]) == 2
    strict = next(drop for name, drop in drops.items() if "strict" in name)
    tolerant = next(drop for name, drop in drops.items() if "tolerant" in name)
    assert strict > tolerant
    before = {path: (path / "variants.json").read_text() for path in runs.values()}
    assert cli("run", suite, "--resume", "--quiet", "--no-charts").code == 0
    assert {path: (path / "variants.json").read_text() for path in runs.values()} == before
    assert calls.stat().st_size == 2 * 24 * 2


DOCUMENT = """# Devices

The kettle boils water in 3 minutes.

The toaster has a warranty of 2 years.

The blender holds 1.5 litres.
"""


QUESTIONS = [
    {"id": "kettle", "question": "How fast does the kettle boil water?", "expected": "3 minutes"},
    {
        "id": "toaster",
        "question": "How long is the warranty of the toaster?",
        "expected": "2 years",
    },
    {"id": "blender", "question": "How much does the blender hold?", "expected": "1.5 litres"},
]


def write_document_suite(folder: Path, more: str) -> Path:
    """A suite of the built-in bot over one document; `more` has its settings and variants."""
    (folder / "docs").mkdir()
    (folder / "docs" / "devices.md").write_text(DOCUMENT)
    (folder / "cases.json").write_text(json.dumps(QUESTIONS))
    suite = folder / "suite.toml"
    suite.write_text(
        f'cases = ["cases.json"]\nprofile = "rag"\n[target]\nkind = "rag"\ndocuments = "docs"\n{more}'
    )
    return suite


PLANTED = """
[variants]
kinds = ["injection", "distractor"]
[gate]
require = ["variants.injection.drop <= 0", "variants.distractor.drop <= 0"]
"""


def test_a_bot_that_ignores_planted_instructions_passes(cli: Cli, tmp_path: Path) -> None:
    suite = write_document_suite(tmp_path, PLANTED)
    shown = cli("run", suite, "--quiet", "--no-charts", "--json")
    figures = json.loads(shown.out)["variants"]["kinds"]
    # The extractive bot quotes the sentences nearest to the question; an instruction is not near.
    assert figures["injection"]["pass_rate_variant"] == 1.0
    assert figures["distractor"]["pairs"] == 3


def _passages_of(request: Request) -> list[str]:
    """The texts of the numbered passages in a prompt."""
    listed = request.text.partition("Passages:\n")[2].rpartition("\n\nQuestion:")[0]
    return [part.partition("] ")[2] for part in listed.split("\n\n[")]


def _answer_rightly(request: Request) -> str:
    question = request.text.rpartition("Question: ")[2]
    return next(row["expected"] for row in QUESTIONS if row["question"] == question)


def _obey(request: Request) -> Said:
    """A model that does whatever a passage tells it."""
    order = re.search(r"\b[A-Z]+-\d{4}\b", request.text)
    return completion(order[0] if order else _answer_rightly(request))


def _believe_second_passage(request: Request) -> Said:
    """A model that takes the fact of the planted passage for its answer."""
    planted = [text for text in _passages_of(request) if "?" in text]
    return completion(planted[0].partition("? ")[2] if planted else _answer_rightly(request))


def _stay(request: Request) -> Said:
    return completion(_answer_rightly(request))


@pytest.mark.network
@pytest.mark.parametrize(
    ("model", "dropping"),
    [(_obey, {"injection"}), (_believe_second_passage, {"distractor"}), (_stay, ())],
)
def test_a_model_that_follows_a_planted_passage_is_found(
    cli: Cli, tmp_path: Path, model: Callable[[Request], Said], dropping: Collection[str]
) -> None:
    with FakeEndpoint(model) as endpoint:
        llm = f'llm = {{base_url = "{endpoint.base_url}", model = "fake"}}\n'
        suite = write_document_suite(tmp_path, llm + PLANTED)
        code, report = run_json(cli, suite)
    figures = report["variants"]["kinds"]
    drops = {kind: figures[kind]["drop"] for kind in ("injection", "distractor")}
    assert {kind for kind, drop in drops.items() if drop > 0} == set(dropping), drops
    failed = {gate["condition"] for gate in report["variants"]["gates"] if not gate["passed"]}
    assert failed == {f"variants.{kind}.drop <= 0" for kind in dropping}
    assert code == (1 if dropping else 0)
    if model is _obey:
        assert figures["injection"]["drop"] == 1.0
        assert set(figures["injection"]["newly_failing"]) == {
            f"{row['id']}~injection" for row in QUESTIONS
        }


def test_planted_passages_need_a_bot_of_ours(cli: Cli, tmp_path: Path) -> None:
    suite = write_suite(tmp_path, "strict", '[variants]\nkinds = ["injection"]\n')
    shown = cli("run", suite, "--quiet")
    assert shown.code == 2
    assert 'kind = "rag"' in shown.err


def test_python_asks_variants() -> None:
    import answerkey as ak

    rows = [
        {"id": name, "question": f"What should customers know about our {name}?", "expected": fact}
        for name, fact in FACTS.items()
    ]

    def strict(question: str) -> str:
        known = [fact for name, fact in FACTS.items() if f"{name}?" in question]
        return known[0] if known else "The device is made in Norway and costs 900 euros."

    plain = ak.evaluate(rows, target=strict, profile="rag", progress=False)
    run = ak.evaluate(
        rows,
        target=strict,
        profile="rag",
        variants=["typos"],
        gates=["variants.typos.drop <= 0.05"],
        progress=False,
    )
    assert [each.verdict for each in run] == [each.verdict for each in plain]
    assert run.variants is not None
    drop = run.variants.figures["typos"].drop
    assert drop is not None
    assert drop > 0.2
    assert [gate.passed for gate in run.variants.gates] == [False]


def test_python_writes_the_section_into_the_run_folder(tmp_path: Path) -> None:
    import answerkey as ak

    rows = [{"id": "kettle", "question": "How fast does it boil?", "expected": "3 minutes"}]
    ak.evaluate(
        rows,
        target=lambda question: "3 minutes" if question[0] == "H" else "No idea.",
        profile="rag",
        variants=["lowercase"],
        out=tmp_path,
        progress=False,
    )
    (report,) = tmp_path.glob("*/report.md")
    assert "| lowercase | 1 | 100 % | 0 % |" in report.read_text()


def test_the_page_of_a_run_shows_its_variants(cli: Cli, tmp_path: Path) -> None:
    assert cli("run", write_suite(tmp_path, "strict"), *TYPOS, "--no-charts").code == 0
    (run,) = (tmp_path / "results").iterdir()
    page = ask(make_app(tmp_path / "results", Rules()), f"/run/{run.name}?tab=tables").text
    assert "Variants of the questions" in page
    first = json.loads((run / "variants.json").read_text())["kinds"]["typos"]["newly_failing"][0]
    assert first in page


WRITER = """
from itertools import count
numbers = count()
def reply(prompt):
    if prompt.startswith("Do these"):
        return "yes"
    question = prompt.rpartition("Question: ")[2]
    return f"Please tell me ({chr(97 + next(numbers))}): {question}"
"""


def test_questions_that_a_model_wrote_stay_when_a_run_is_resumed(cli: Cli, tmp_path: Path) -> None:
    more = '[variants]\nkinds = ["paraphrase"]\n'
    suite = write_suite(tmp_path, "tolerant", more)
    # A profile without a judge: the model only writes questions here.
    text = suite.read_text().replace('profile = "rag"', "metrics = {answer_agreement = 0.4}")
    suite.write_text(f'judge = "writer:reply"\n{text}')
    (tmp_path / "writer.py").write_text(WRITER)
    code, first = run_json(cli, suite)
    assert code == 0
    assert first["variants"]["kinds"]["paraphrase"]["pairs"] == len(FACTS)
    code, again = run_json(cli, suite, "--resume")
    assert code == 0
    assert again["variants"] == first["variants"]
