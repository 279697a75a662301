"""BM25 on public collections with human labels; the dense figures are in benchmarks/retrieval.py, as embedding takes minutes."""

from __future__ import annotations

import math
from pathlib import Path

import pytest

from answerkey.cases import load_cases
from answerkey.errors import SettingsError
from answerkey.metrics.ranking.rank import rank
from answerkey.retrieval.bm25 import Formula, build_bm25, question_words, search_words
from answerkey.retrieval.corpus import read_corpus


@pytest.mark.slow
@pytest.mark.parametrize(("name", "documents", "least"), [("cranfield", 1400, 0.36), ("scifact", 5183, 0.62)])
def test_bm25_reaches_its_known_figure(shared_data: Path, name: str, documents: int, least: float) -> None:
    pages = sorted(read_corpus(shared_data / name / "corpus.jsonl"), key=lambda page: page.id, reverse=True)
    assert len(pages) == documents
    cases = list(load_cases([shared_data / name / "dev.jsonl"]))
    found = build_bm25([page.text for page in pages], Formula()).search([case.question for case in cases], 100)
    run = {case.id: [pages[n].id for n in row if n >= 0] for case, row in zip(cases, found.chunk.tolist(), strict=True)}
    result = rank(run, {case.id: dict(case.relevant or {}) for case in cases}, ["ndcg@10"])
    assert (result.mean["ndcg@10"] or 0.0) >= least
    assert result.missing == []


def test_every_term_counts_by_default_and_not_with_robertson() -> None:
    """A term in three of four documents: `robertson` gives no hit for it, `lucene` does."""
    texts = ["the cat sat", "the cat ran", "the cat slept", "a dog"]
    assert build_bm25(texts, Formula()).search(["cat"], 4).valid.sum() == 3
    assert build_bm25(texts, Formula("robertson")).search(["cat"], 4).valid.sum() == 0
    score = build_bm25(texts, Formula()).search(["dog"], 1).score[0, 0]
    length = 1 - 0.75 + 0.75 * 2 / (11 / 4)
    assert score == pytest.approx(math.log(1 + (4 - 1 + 0.5) / (1 + 0.5)) * 1 / (1 + 1.5 * length), abs=1e-9)


@pytest.mark.parametrize(
    ("text", "language", "found"),
    [
        ("Ｔｏｋｙｏ 東京都に", "", ["tokyo", "東京", "京都", "都に"]),
        ("กรุงเทพ", "", ["กร", "รุ", "ุง", "งเ", "เท", "ทพ"]),
        ("ភាសា", "", ["ភា", "ាស", "សា"]),
        ("학교에서", "", ["학교", "교에", "에서"]),
        ("الكُتُب والمدارس", "", ["كتب", "مدارس"]),
        ("Häuser Rückgaben", "de", ["haus", "ruckgab"]),
        ("returns returned", "english", ["return", "return"]),
        ("東京の天気", "ja", ["東京", "京の", "の天", "天気"]),
    ],
)
def test_words_of_every_script(text: str, language: str, found: list[str]) -> None:
    assert search_words(text, language) == found


def test_an_unknown_language_is_an_error_with_those_there_are() -> None:
    with pytest.raises(SettingsError, match='did you mean "german"'):
        search_words("x", "germann")
    with pytest.raises(SettingsError, match="there are ar, ca"):
        search_words("x", "xx")


@pytest.mark.parametrize("language", ["zh", "ja", "th", "hi", "de", "ar"])
def test_the_right_passage_comes_first_in_six_languages(language: str) -> None:
    """Thirty questions each about the rules of a town, in other words than the passages; several passages share a subject."""
    lines = (Path(__file__).parent / "languages" / f"{language}.tsv").read_text(encoding="utf-8").splitlines()
    questions, passages = zip(*(line.split("\t") for line in lines), strict=True)
    assert len(set(passages)) == 30
    found = build_bm25(passages, Formula(language=language)).search(questions, 1)
    first = sum(n == chunk for n, chunk in enumerate(found.chunk[:, 0].tolist()))
    assert first >= 0.85 * 30, first


def test_stop_words_are_left_out_of_questions_only() -> None:
    assert question_words("Wie alt ist die Brücke?", "de") == ["alt", "bruck"]
    assert question_words("wer ist das", "german") == ["wer", "ist", "das"]  # nothing else to search for
    assert question_words("図書館はどこですか") == ["図書", "書館", "館は"]
    assert "die" in search_words("die Brücke", "de")
