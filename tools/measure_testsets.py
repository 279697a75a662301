"""How well `audit` and `generate` work, on data that nothing was fitted on.

    python tools/measure_testsets.py audit --data ../shared/data     # injected label errors
    python tools/measure_testsets.py generate --data ../shared/data  # made against real questions

The folder of --data has `scifact`, `cranfield` and `testset` (docs/how-to/test-sets.md). The set in
`tools/audit_set` was written for this measurement: ten documents of six sections, one question per
section. An injected error gives a case, instead of its labels, other passages of the same document.
Where a document is one passage (SciFact) there are two measurements: with the label of another case,
and with one of the ten passages that are most like the right one, which may well be right too.
"""

from __future__ import annotations

import argparse
import random
import re
import sys
from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from answerkey import load_cases
from answerkey.embed import load_embedder
from answerkey.retrieval.bm25 import Formula, build_bm25
from answerkey.retrieval.corpus import Page, read_corpus
from answerkey.testsets.audit.document_set import DocumentSet
from answerkey.testsets.audit.label_match import match_labels
from answerkey.testsets.generate.offline import GenerateSettings, RealQuestions, generate_offline
from answerkey.types import Case

Inject = Callable[["TestSet", random.Random], list[list[str]]]
OWN_SET = Path(__file__).parent / "audit_set"
INJECTED = 0.15
SEEDS = 20
MOST_CASES = 300
MOST_PAGES = 2_000


@dataclass(frozen=True)
class TestSet:
    name: str
    pages: list[Page]
    cases: list[Case]


def own_set() -> TestSet:
    """The sections of `audit_set`, each with its question and answer."""
    pages: list[Page] = []
    cases: list[Case] = []
    for file in sorted(OWN_SET.glob("*.md")):
        for section in re.split(r"^## ", file.read_text(encoding="utf-8"), flags=re.MULTILINE)[1:]:
            text, question, answer = re.split(r"\n[QA]: ", section.strip())
            name = f"{file.stem}#{text.splitlines()[0]}"
            pages.append(Page(name, text, file.stem))
            cases.append(Case(name, question, (answer,), relevant={name: 1.0}))
    return TestSet("own set", pages, cases)


def shared_sets(data: Path) -> list[TestSet]:
    chosen = random.Random(1)
    scifact = load_cases(data / "scifact" / "dev.jsonl")
    return [
        TestSet(
            "published set",
            read_corpus(data / "testset" / "docs.json"),
            load_cases(data / "testset" / "questions.json"),
        ),
        TestSet(
            "SciFact",
            read_corpus(data / "scifact" / "corpus.jsonl"),
            chosen.sample(scifact, min(MOST_CASES, len(scifact))),
        ),
    ]


def labels_of_others(test_set: TestSet, rng: random.Random) -> list[list[str]]:
    """For each case the labels of another one."""
    rows = [list(case.relevant or {}) for case in test_set.cases]
    wrong: list[list[str]] = []
    for row in rows:
        others = [other for other in rows if not set(other) & set(row)]
        wrong.append(rng.choice(others))
    return wrong


def wrong_labels(test_set: TestSet, rng: random.Random) -> list[list[str]]:
    """For each case the labels of an injected error, [] where there is no other passage."""
    by_document: dict[str, list[str]] = defaultdict(list)
    for page in test_set.pages:
        by_document[page.document].append(page.id)
    pages = {page.id: page for page in test_set.pages}
    index = build_bm25([page.text for page in test_set.pages], Formula(language="en"))
    wrong: list[list[str]] = []
    for case in test_set.cases:
        labels = list(case.relevant or {})
        row: list[str] = []
        for label in labels:
            others = [one for one in by_document[pages[label].document] if one not in labels]
            if len(by_document[pages[label].document]) == 1:
                near: list[int] = index.search([pages[label].text], 11).chunk[0].tolist()
                others = [test_set.pages[n].id for n in near if n >= 0]
                others = [one for one in others if one not in labels]
            if others:
                row.append(rng.choice(others))
        wrong.append(row if len(row) == len(labels) else [])
    return wrong


def measure_injected(test_set: TestSet, inject: Inject) -> str:
    """AUROC of the probability that labels are wrong, and precision at the number injected."""
    documents = DocumentSet(test_set.pages, load_embedder(), print)
    cases = [c for c in test_set.cases if all(one in documents.numbers for one in c.relevant or {})]
    test_set = replace(test_set, cases=cases)
    rng = random.Random(7)
    areas: list[float] = []
    precisions: list[float] = []
    for _ in range(SEEDS):
        wrong = inject(test_set, rng)
        chosen = set(rng.sample(range(len(cases)), round(INJECTED * len(cases))))
        injected = {number for number in chosen if wrong[number]}
        labels = {
            case.id: [
                documents.numbers[one]
                for one in (wrong[number] if number in injected else case.relevant or {})
            ]
            for number, case in enumerate(cases)
        }
        matches = match_labels(cases, labels, documents)
        errors = [match.error_probability for match in matches]
        areas.append(area_under_curve(errors, injected))
        first = sorted(range(len(cases)), key=lambda number: -errors[number])[: len(injected)]
        precisions.append(len(injected.intersection(first)) / len(injected))
    return (
        f"{test_set.name}, {inject.__name__}: {len(cases)} cases, {len(test_set.pages)} passages, {INJECTED:.0%} "
        f"injected: AUROC {np.mean(areas):.3f}, precision at that number {np.mean(precisions):.3f}"
        f" (by chance {INJECTED:.2f})"
    )


def area_under_curve(scores: Sequence[float], positive: set[int]) -> float:
    above = np.array([score for n, score in enumerate(scores) if n in positive])
    below = np.array([score for n, score in enumerate(scores) if n not in positive])
    wins = (above[:, None] > below).mean() + 0.5 * (above[:, None] == below).mean()
    return float(wins)


def measure_made(data: Path, name: str) -> str:
    """Do headings and titles order retrieval settings as the real questions do?"""
    folder = data / name
    if name == "testset":
        pages = read_corpus(folder / "docs.json")
        real = load_cases(folder / "questions.json")
    else:
        pages = read_corpus(folder / "corpus.jsonl")
        real = load_cases(folder / "dev.jsonl")
    if len(pages) > MOST_PAGES:  # embedding all twice takes an hour on two cores
        rng = random.Random(5)
        real = rng.sample(real, MOST_CASES)
        labelled = {label for case in real for label in case.relevant or {}}
        rest = [page for page in pages if page.id not in labelled]
        pages = [page for page in pages if page.id in labelled] + rng.sample(rest, 700)
    report = generate_offline(
        pages,
        GenerateSettings(),
        real=RealQuestions(real, pages),
        embed=load_embedder(),
    )
    agreement = report.agreement
    assert agreement is not None
    return (
        f"{name}: {len(pages)} passages, {agreement.made} made and {agreement.real} real questions, "
        f"{agreement.settings} settings: tau {agreement.tau:.2f}, nDCG lost {agreement.lost:.3f}"
    )


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("what", choices=("audit", "generate"))
    parser.add_argument("--data", type=Path)
    options = parser.parse_args()
    if options.what == "generate":
        for name in ("testset", "cranfield", "scifact"):
            print(measure_made(options.data, name), flush=True)
        return 0
    sets = [own_set(), *(shared_sets(options.data) if options.data else [])]
    for test_set in sets:
        print(measure_injected(test_set, wrong_labels), flush=True)
        if len({page.document for page in test_set.pages}) == len(test_set.pages):
            print(measure_injected(test_set, labels_of_others), flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
