"""Cases from documents without a judge."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import answerkey as ak
from answerkey.retrieval.corpus import read_corpus
from answerkey.testsets.generate.agreement import kendall_tau
from answerkey.testsets.generate.source_passages import cut_title, split_passages

ROOT = Path(__file__).resolve().parents[3]
LEAVE = """# Leave policy

Everybody who works here has leave; the sections below say how much.

## Annual leave

Every full-time employee has 28 working days of paid leave. See [how unused days move](other.md#carrying-days-over).

## Does special leave count?

Special leave is not taken from the annual balance of days.

## Sick days

![a doctor's certificate with a stamp](note.png)
Table 1: Days of pay by years of service
A doctor's certificate is needed from the fourth day on.

- **Waiting period**: the first three days of an illness, without a certificate.

```
# not a heading
```
"""
OTHER = """# Carrying days over

Up to seven unused days move into the next year and lapse on 31 March.

Q: Can the date be extended?
A: A manager can extend it once if a project made it impossible.
"""


@pytest.fixture
def docs(tmp_path: Path) -> Path:
    folder = tmp_path / "docs"
    folder.mkdir()
    (folder / "leave.md").write_text(LEAVE)
    (folder / "other.md").write_text(OTHER)
    return folder


def made(docs: Path, **options: Any) -> dict[str, tuple[str, tuple[str, ...]]]:
    report = ak.generate(docs, embedding="none", **options)
    return {case.question: (case.kind, case.passages) for case in report.cases}


def test_every_source_of_written_queries(docs: Path) -> None:
    cases = made(docs)
    assert cases["Leave policy: Annual leave"] == ("heading", ("leave.md#Annual leave",))
    assert cases["Does special leave count?"][0] == "faq"
    assert cases["Can the date be extended?"] == ("faq", ("other.md#Carrying days over",))
    assert cases["Days of pay by years of service"] == ("caption", ("leave.md#Sick days",))
    assert cases["a doctor's certificate with a stamp"][0] == "alt text"
    assert cases["how unused days move"] == ("link", ("other.md#Carrying days over",))
    assert cases["Sick days: Waiting period"][0] == "definition"
    assert "not a heading" not in " ".join(cases)


def test_no_question_is_cut_from_a_sentence(docs: Path) -> None:
    written = (LEAVE + OTHER).replace("*", "").replace("#", "")
    for question in made(docs):
        title = question.rpartition(": ")[2]
        assert title in written


def test_titles_are_cut_from_the_passages(docs: Path) -> None:
    for passage in split_passages(read_corpus(docs)):
        if passage.heading:
            assert not passage.text.startswith(passage.heading)
            assert "##" not in passage.text
    assert cut_title("Wing in a slipstream . wing in a slipstream. A study", "wing in a slipstream")
    assert cut_title("Leave", "Leave") == "Leave"


def test_a_faq_question_has_its_answer(docs: Path) -> None:
    report = ak.generate(docs, embedding="none", kinds=["faq"])
    answers = {case.question: case.answer for case in report.cases}
    assert answers["Can the date be extended?"].startswith("A manager can extend it once")


def test_count_spreads_over_documents_and_the_seed_decides(docs: Path) -> None:
    first = ak.generate(docs, embedding="none", count=2, seed=1)
    again = ak.generate(docs, embedding="none", count=2, seed=1)
    assert first.cases == again.cases
    assert {case.documents for case in first.cases} == {("leave.md",), ("other.md",)}
    seeds = {ak.generate(docs, embedding="none", count=2, seed=n).cases for n in range(8)}
    assert len(seeds) > 1


def test_documents_without_anything_written_are_an_error(tmp_path: Path) -> None:
    (tmp_path / "plain.txt").write_text("There is only one plain sentence of some words here.")
    with pytest.raises(ak.AnswerkeyError, match="with --judge a model writes questions"):
        ak.generate(tmp_path, embedding="none")


def test_the_report_is_complete(docs: Path, cli: Callable[..., Any], tmp_path: Path) -> None:
    (docs / "stub.md").write_text("Only a plain paragraph of text without any title at all here.")
    out = tmp_path / "cases.jsonl"
    shown = cli("generate", docs, "--out", out, "--model", "none")
    assert shown.code == 0
    assert "yield: " in shown.out
    assert "kinds: " in shown.out
    assert "word overlap of question and passage: " in shown.out
    assert "documents without a case: 1 of 3 (stub.md)" in shown.out
    assert "agreement with real questions: not measured; give --like" in shown.out
    assert "these are retrieval cases" in shown.last_line
    assert cli("cases", out).code == 0


def test_json_has_cases_and_figures(docs: Path, cli: Callable[..., Any], tmp_path: Path) -> None:
    shown = cli("generate", docs, "--out", tmp_path / "c.jsonl", "--json", "--model", "none")
    assert shown.json["retrieval_only"] is True
    assert shown.json["tried"] == len(shown.json["cases"]) + sum(shown.json["rejected"].values())
    assert shown.json["kinds"]["faq"] == 2


def test_an_existing_suite_is_not_overwritten(
    docs: Path, cli: Callable[..., Any], tmp_path: Path
) -> None:
    suite = tmp_path / "suite.toml"
    suite.write_text("mine")
    shown = cli("generate", docs, "--out", tmp_path / "cases.jsonl", "--suite", suite)
    assert shown.code == 2
    assert suite.read_text() == "mine"


@pytest.mark.parametrize(
    ("out", "message"),
    [
        ("cases.csv", "a name that ends in .jsonl"),
        ("nowhere/cases.jsonl", "create it first"),
        ("mine.jsonl", "mine.jsonl exists"),
    ],
)
def test_a_file_that_cannot_be_written_is_an_error_before_the_judge_is_asked(
    docs: Path, tmp_path: Path, out: str, message: str
) -> None:
    (tmp_path / "mine.jsonl").write_text("{}")

    def judge(prompt: str) -> str:
        raise AssertionError("the judge was asked")

    with pytest.raises(ak.AnswerkeyError, match=message):
        ak.generate(docs, out=tmp_path / out, judge=judge)
    assert (tmp_path / "mine.jsonl").read_text() == "{}"


def test_an_unknown_kind_is_named(docs: Path) -> None:
    with pytest.raises(ak.AnswerkeyError, match=r'"headings".*did you mean "heading"'):
        ak.generate(docs, embedding="none", kinds=["headings"])


def test_every_text_that_became_no_case_is_counted_by_reason(tmp_path: Path) -> None:
    section = "All staff of this site have twenty days of leave per year.\n"
    (tmp_path / "a.md").write_text(
        f"# Sites\n\n## Leave days\n{section}## Leave days\n{section}## Days of the leave\n{section}"
        f"## Parental leave\n{section}## Leave for parents\n{section}"
    )
    (tmp_path / "b.md").write_text(f"# The parental leave\n{section}# Sick notes\n{section}")
    report = ak.generate(tmp_path, embedding="none", count=2)
    reasons = {reason.value: count for reason, count in report.rejected.items()}
    assert reasons["the same text for several passages"] == 2
    assert reasons["beyond the number asked for"] > 0
    assert len(report) + sum(reasons.values()) == report.tried
    assert f"yield: 2 of {report.tried} texts" in report.text


def test_questions_that_ask_the_same_become_one_case(tmp_path: Path) -> None:
    section = "All staff of this site have twenty days of leave per year.\n"
    (tmp_path / "a.md").write_text(f"# Parental leave days\n{section}")
    (tmp_path / "b.md").write_text(f"# The days of parental leave\n{section}")
    report = ak.generate(tmp_path, embedding="none")
    assert [case.question for case in report.cases] == ["Parental leave days"]
    assert report.near_duplicates == 1
    assert "near duplicates left out: 1" in report.text


def test_agreement_with_real_questions_needs_thirty(docs: Path) -> None:
    real = [{"question": "How long?", "relevant": ["leave.md"]}] * 1
    report = ak.generate(docs, like=real)
    assert report.agreement is None
    assert "real questions with a label in the documents: 1 of 1; at least 30" in report.text
    assert report.real_overlap is not None


def test_agreement_is_measured_over_at_least_twelve_settings() -> None:
    subjects = [f"{animal} {thing}" for animal in ANIMALS for thing in ("food", "sleep", "price")]
    documents = [
        {"id": f"d{n}", "text": f"# {name.title()}\nNotes on the {name}, number {n} of the list."}
        for n, name in enumerate(subjects)
    ]
    real = [
        {"question": f"What do I know of the {name}?", "relevant": [f"d{n}"]}
        for n, name in enumerate(subjects)
    ]
    agreement = ak.generate(documents, like=real).agreement
    assert agreement is not None
    assert agreement.settings >= 12
    assert agreement.real == 33
    assert -1 <= agreement.tau <= 1
    assert 0 <= agreement.lost <= 1


ANIMALS = ["cat", "dog", "hen", "cow", "owl", "fox", "bee", "ant", "rat", "pig", "eel"]


def test_kendall_tau() -> None:
    assert kendall_tau([1, 2, 3, 4], [1, 2, 3, 4]) == 1.0
    assert kendall_tau([1, 2, 3, 4], [4, 3, 2, 1]) == -1.0
    assert kendall_tau([1, 1, 1], [1, 2, 3]) == 0.0
    assert kendall_tau([1, 2, 3, 4], [1, 3, 2, 4]) == pytest.approx(4 / 6)


def test_three_commands_from_documents_to_a_running_suite(
    tmp_path: Path, cli: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The worked example of docs/how-to/test-sets.md, over 20 files."""
    page = (ROOT / "docs" / "how-to" / "test-sets.md").read_text(encoding="utf-8")
    block = re.search(r"three commands:\n\n```bash\n(.*?)```", page, re.DOTALL)
    assert block
    commands = [line.split()[1:] for line in block[1].splitlines()]
    assert len(commands) == 3
    monkeypatch.chdir(tmp_path)
    folder = tmp_path / "docs"
    folder.mkdir()
    for number in range(10):
        (folder / f"leave{number}.md").write_text(LEAVE.replace("Leave policy", f"Site {number}"))
        (folder / f"carry{number}.md").write_text(OTHER.replace("Carrying", f"Moving {number}"))
    for command in commands:
        shown = cli(*command)
        assert shown.code == 0, shown.err
        # A generated case has its quote in its passage, so no label is doubted.
        if command[0] == "audit":
            assert "unsupported" not in shown.out
    assert "passed" in shown.last_line
