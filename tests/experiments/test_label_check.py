"""Labels against the index: every accepted form matches, and every wrong one gets a message that names the right form."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from answerkey.experiments.label_check import check_labels

Cli = Callable[..., Any]
TOPICS = (
    "pump",
    "valve",
    "filter",
    "motor",
    "switch",
    "cable",
    "sensor",
    "housing",
    "gasket",
    "screw",
)


@pytest.fixture
def sweep(cli: Cli, tmp_path: Path) -> Callable[..., Any]:
    """`sweep` over two manuals of ten pages with these labels, BM25 alone."""
    (tmp_path / "docs").mkdir()
    for name, side in (("manual.txt", "repair"), ("guide.txt", "price")):
        pages = [
            f"the {side} of the {topic} is described on this page of {side}" for topic in TOPICS
        ]
        (tmp_path / "docs" / name).write_text("\f".join(pages))

    def run(labels: list[Any], *options: str, more: str = "") -> Any:
        rows = [
            {"id": f"q{n}", "question": f"what is the repair of the {TOPICS[n]}", "relevant": label}
            for n, label in enumerate(labels)
        ]
        (tmp_path / "cases.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
        (tmp_path / "suite.toml").write_text(
            f'cases = ["cases.jsonl"]\n[embedding]\nmodel = "none"\n[retrieval]\ndocuments = "docs"\nks = [1, 3]\n{more}'
        )
        return cli("sweep", tmp_path / "suite.toml", "--no-plots", *options)

    return run


@pytest.mark.parametrize(
    "form", ["manual.txt#{}", "manual.txt:{}", "manual#{}", "Manual.TXT#{}", "docs/manual.txt#{}", "manual.txt#page={}",
             {"doc": "manual.txt", "page": "{}"}, {"doc": "manual.txt", "pages": ["{}"]}],
    ids=str,
)  # fmt: skip
def test_every_accepted_form_matches(sweep: Callable[..., Any], form: Any) -> None:
    labels = [json.loads(json.dumps([form]).replace("{}", str(n + 1))) for n in range(5)]
    shown = sweep(labels, "--json")
    assert shown.code == 0, shown.err
    assert "warning" not in shown.err
    assert shown.json["best"]["value"] == 1.0


@pytest.mark.parametrize(
    ("labels", "says"),
    [
        (["1", "2", "3"], 'for "1" write "guide.txt#1" or "manual.txt#1"'),  # a bare page among several documents
        (["manual_page_1", "manual_page_2"], 'for "manual_page_1" write "manual.txt#1"'),
        (["manual.txt page 1", "manual.txt page 2"], 'for "manual.txt page 1" write "manual.txt#1"'),
        (["manual, p. 1", "manual, p. 2"], 'for "manual, p. 1" write "manual.txt#1"'),
        (["manual-1", "manual-2"], 'for "manual-1" write "manual.txt#1"'),
        (["manual.txt#001", "manual.txt#002"], 'for "manual.txt#001" write "manual.txt#1"'),
        (["manual.txt#1:1", "manual.txt#2:1"], 'for "manual.txt#1:1" write "manual.txt#1"'),
        (["manuel.txt#1", "manuel.txt#2"], 'for "manuel.txt#1" write "manual.txt#1"'),
        (["manual.txt", "manual.txt"], 'such as "manual.txt#1"'),
        (["manual.txt#1-3", "manual.txt#2-4"], 'write "manual.txt#1", "manual.txt#2", "manual.txt#3"'),
        ([f"manual.txt#{n}" for n in range(5)], "with +1 added to every page label they match"),
        ([f"manual.txt#{n + 12}" for n in range(1, 6)], "added to every page label they match"),
        (["manual.txt#1", "manual.txt#77", "N/A"], '1 of 2 expected ids are not in the index: "manual.txt#77"'),
        (["intro", "summary"], 'ids of the index are "guide.txt#1", "guide.txt#2", "guide.txt#3"'),
    ],
)  # fmt: skip
def test_every_wrong_form_gives_an_error_or_warning_with_the_right_one(
    sweep: Callable[..., Any], labels: list[str], says: str
) -> None:
    shown = sweep([[label] for label in labels])
    assert says in shown.err, shown.err
    found_some = "warning:" in shown.err
    assert shown.code == (0 if found_some else 2)
    assert ("none of the expected ids" in shown.err) != found_some


def test_missing_labels_are_in_the_files_too(sweep: Callable[..., Any], tmp_path: Path) -> None:
    told = sweep([["manual#1"], ["manual#99"]], "--json").json
    assert told["labels"]["missing"] == ["manual#99"]
    assert '"manual#99"' in (Path(told["folder"]) / "report.txt").read_text()
    assert "99" in (Path(told["folder"]) / "report.md").read_text()


def test_one_document_takes_bare_pages_and_its_own_name() -> None:
    ids = [str(n) for n in range(1, 11)]
    found = check_labels({"q": {"book#3": 1.0, "4": 1.0}}, ids, ["book.pdf"])
    assert found.labels == {"q": {"3": 1.0, "4": 1.0}}
    assert not found.missing
    other = check_labels({"q": {"atlas.pdf#3": 1.0}}, ids, ["book.pdf"])
    assert other.missing == {"atlas.pdf#3": '"3", if the document is book'}


def test_documents_without_pages_are_found_by_name() -> None:
    found = check_labels(
        {"q": {"returns": 1.0, "rates.md": 1.0, "shipping.md#2": 1.0}},
        ["returns.md", "a/rates.md", "shipping.md"],
    )
    assert list(found.labels["q"])[:2] == ["returns.md", "a/rates.md"]
    assert found.missing == {"shipping.md#2": '"shipping.md"'}
