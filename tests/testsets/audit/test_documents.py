"""Findings that need the documents: labels, quotes and expected answers."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

import answerkey as ak
from answerkey.testsets.audit.findings import Audit, FindingKind

CHUNKS: list[dict[str, str]] = [
    {
        "id": "leave#annual",
        "title": "Annual leave",
        "text": "Every full-time employee has 28 working days of paid annual leave per year.",
    },
    {
        "id": "leave#carry",
        "title": "Carrying days over",
        "text": "Up to seven unused days move to the next year. They lapse on 31 March.",
    },
    {
        "id": "leave#sick",
        "title": "Sick leave",
        "text": "A doctor's note is needed from the fourth day of illness on.",
    },
    {"id": "leave#head", "title": "Leave policy", "text": "Leave policy"},
    {
        "id": "shop#returns",
        "title": "Returns",
        "text": "Goods can be sent back within 45 days. Used bulbs are excluded from returns.",
    },
    {
        "id": "shop#pay",
        "title": "Payment",
        "text": "Schools and companies may pay by invoice within 21 days.",
    },
]
ANNUAL: dict[str, object] = {
    "id": "annual",
    "question": "How many days of paid annual leave does a full-time employee have?",
    "expected": "28 working days per year",
    "relevant": ["leave#annual"],
}


def audit_one(case: Mapping[str, object]) -> Audit:
    return ak.audit([dict(case)], documents=CHUNKS)


def kinds(audit: Audit) -> list[FindingKind]:
    return [finding.kind for finding in audit.findings]


def test_a_right_case_is_no_finding() -> None:
    audit = audit_one(ANNUAL)
    assert kinds(audit) == []
    assert audit.label_errors["annual"] < 0.1
    assert audit.passages == 6


def test_a_label_of_the_same_document_that_does_not_support_the_answer() -> None:
    audit = audit_one(ANNUAL | {"relevant": ["leave#sick"]})
    finding = audit.findings[0]
    assert finding.kind is FindingKind.UNSUPPORTED
    assert finding.probability > 0.9
    assert finding.better_label == "leave#annual"
    assert "28 working days" in finding.evidence
    assert 'Label "leave#annual" instead' in finding.fix


def test_a_wrong_label_is_found_without_an_expected_answer() -> None:
    case = {"id": "q", "question": ANNUAL["question"], "relevant": ["shop#pay"]}
    assert kinds(audit_one(case)) == [FindingKind.UNSUPPORTED]


def test_a_quote_of_the_labelled_passage_settles_a_vague_question() -> None:
    vague: dict[str, object] = {"question": "Leave: the number of days", "relevant": ["leave#sick"]}
    assert kinds(audit_one(vague)) == [FindingKind.UNSUPPORTED]
    quote = "A doctor's note is needed from the fourth day"
    assert kinds(audit_one({**vague, "quotes": [quote]})) == []
    # A quote of another passage than the labelled one shows the error.
    finding = audit_one({**vague, "quotes": ["Goods can be sent back within 45 days"]}).findings[0]
    assert finding.better_label == "shop#returns"
    assert "fits the quote less" in finding.evidence
    assert "expected answer" not in finding.evidence + finding.fix


def test_a_question_alone_is_never_told_to_correct_its_answer() -> None:
    finding = audit_one({"question": ANNUAL["question"], "relevant": ["shop#pay"]}).findings[0]
    assert "fits the question less" in finding.evidence
    assert "label it instead or as well" in finding.fix


def test_two_labels_that_complete_each_other_are_no_finding() -> None:
    case = {
        "id": "both",
        "question": "How much annual leave is there, and when do unused days lapse?",
        "expected": "There are 28 working days of paid leave. Unused days lapse on 31 March.",
        "relevant": ["leave#annual", "leave#carry"],
    }
    assert kinds(audit_one(case)) == []


def test_a_right_second_label_settles_the_case() -> None:
    """Judged alone the first label would be wrong; it has a part that the second lacks."""
    case = {
        "id": "second",
        "question": "Which goods are excluded from returns, and who may pay by invoice?",
        "expected": "Used bulbs are excluded. Schools and companies may pay by invoice.",
        "relevant": ["shop#pay", "shop#returns"],
    }
    assert kinds(audit_one(case)) == []


def test_a_label_that_adds_nothing_beside_a_right_one() -> None:
    audit = audit_one(ANNUAL | {"relevant": ["leave#annual", "shop#pay"]})
    assert kinds(audit) == [FindingKind.LABEL_ADDS_NOTHING]
    assert audit.findings[0].label == "shop#pay"


def test_a_label_that_is_not_there_names_the_nearest() -> None:
    audit = audit_one(ANNUAL | {"relevant": ["leave#anual"]})
    assert FindingKind.LABEL_MISSING in kinds(audit)
    assert "leave#annual" in audit.findings[0].fix


def test_a_passage_that_is_only_a_heading() -> None:
    assert FindingKind.EMPTY_PASSAGE in kinds(audit_one(ANNUAL | {"relevant": ["leave#head"]}))


def test_documents_that_contradict_the_answer() -> None:
    case = ANNUAL | {"expected": "A full-time employee has 30 working days of annual leave."}
    audit = audit_one(case)
    assert kinds(audit) == [FindingKind.CONTRADICTED]
    assert "28 working days" in audit.findings[0].evidence


def test_the_evidence_of_a_contradiction_is_the_sentence_about_the_question() -> None:
    text = "# Tariff\nOne hour costs 2 euros, a whole day 14 euros.\nA lost ticket costs 25 euros."
    case = {"question": "What does a lost ticket cost?", "expected": "40 euros", "relevant": ["p"]}
    finding = ak.audit([case], documents=[{"id": "p", "text": text}]).findings[0]
    assert finding.kind is FindingKind.CONTRADICTED
    assert "A lost ticket costs 25 euros." in finding.evidence
    assert "One hour" not in finding.evidence


def test_an_answer_that_is_in_no_document() -> None:
    case = {
        "id": "gone",
        "question": "How many days of paid annual leave does a full-time employee have?",
        "expected": "Ask Brunhilde Vogelsang in the Kassel office for a yellow form.",
    }
    audit = audit_one(case)
    assert kinds(audit) == [FindingKind.ANSWER_MISSING]
    assert "1 expected answer is no longer in the documents" in audit.sentence


def test_a_quote_that_is_no_longer_there() -> None:
    quote = "Every full-time employee has 25 holidays in the summer months"
    assert FindingKind.QUOTE_MISSING in kinds(audit_one(ANNUAL | {"quote": quote}))
    quote = "28 working days of paid annual leave"
    assert kinds(audit_one(ANNUAL | {"quote": quote})) == []


def test_a_refusal_although_the_documents_have_the_answer() -> None:
    case: dict[str, object] = {**ANNUAL, "expected": "The documents do not say.", "relevant": ()}
    audit = audit_one(case)
    assert kinds(audit) == [FindingKind.NEEDLESS_REFUSAL]
    assert "leave#annual" in audit.findings[0].evidence
    question = "Which airline flies to Nairobi on Sundays?"
    refusal = {"id": "r", "question": question, "expected": "The documents do not say."}
    assert kinds(audit_one(refusal)) == []


def test_documents_of_every_kind(tmp_path: Path, cli: Callable[..., Any]) -> None:
    folder = tmp_path / "docs"
    folder.mkdir()
    for chunk in CHUNKS:
        name = chunk["id"].replace("#", "-")
        (folder / f"{name}.md").write_text(f"# {chunk['title']}\n\n{chunk['text']}\n")
    beir = tmp_path / "beir"
    (beir / "qrels").mkdir(parents=True)
    lines = [
        f'{{"_id": "{c["id"]}", "title": "{c["title"]}", "text": "{c["text"]}"}}' for c in CHUNKS
    ]
    (beir / "corpus.jsonl").write_text("\n".join(lines))
    (beir / "queries.jsonl").write_text(f'{{"_id": "q", "text": "{ANNUAL["question"]}"}}\n')
    (beir / "qrels" / "test.tsv").write_text("query-id\tcorpus-id\tscore\nq\tshop#pay\t1\n")
    suite = tmp_path / "suite.toml"
    suite.write_text(f'cases = ["{beir}"]\n[retrieval]\ndocuments = "{beir}"\n')
    cases = tmp_path / "cases.jsonl"
    cases.write_text(
        f'{{"id": "q", "question": "{ANNUAL["question"]}", "relevant": ["shop-pay.md"]}}\n'
    )
    for arguments in (
        (cases, "--documents", folder),
        (beir, "--documents", beir),
        (beir, "--documents", suite),
        (beir,),  # a BEIR folder has its documents
    ):
        shown = cli("audit", *arguments, "--json", "--quiet")
        assert [row["finding"] for row in shown.json] == ["unsupported"], arguments


def test_a_label_of_a_section_stands_for_its_file(tmp_path: Path) -> None:
    (tmp_path / "leave.md").write_text(f"# Leave\n\n## Annual\n\n{CHUNKS[0]['text']}\n")
    (tmp_path / "shop.md").write_text(f"# Shop\n\n{CHUNKS[4]['text']}\n")
    case = {**ANNUAL, "relevant": ["leave.md#Annual"]}
    assert kinds(ak.audit([case], documents=tmp_path)) == []
    case = {**ANNUAL, "relevant": ["gone.md#Annual"]}
    assert FindingKind.LABEL_MISSING in kinds(ak.audit([case], documents=tmp_path))


def test_missing_documents_are_an_error(tmp_path: Path, cli: Callable[..., Any]) -> None:
    cases = tmp_path / "cases.jsonl"
    cases.write_text('{"id": "q", "question": "How long?"}\n')
    shown = cli("audit", cases, "--documents", tmp_path / "nowhere")
    assert shown.code == 2
    assert "no documents at" in shown.last_line
    with pytest.raises(ak.AnswerkeyError, match="expected a path or a list of passages"):
        ak.audit(str(cases), documents=3)
