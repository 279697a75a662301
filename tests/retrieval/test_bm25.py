"""BM25 on public collections with human labels; the dense figures are in benchmarks/retrieval.py, as embedding takes minutes."""

from __future__ import annotations

import math
from pathlib import Path

import pytest

from answerkey.cases import read_cases
from answerkey.config.retrieval_tables import RetrievalTable
from answerkey.errors import SettingsError
from answerkey.metrics.ranking.rank import score_rankings
from answerkey.retrieval.bm25 import Formula, build_bm25
from answerkey.retrieval.search_index import open_search_index
from answerkey.retrieval.search_words import detect_language, question_words, search_words


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "documents", "least"), [("cranfield", 1400, 0.39), ("scifact", 5183, 0.695)]
)
def test_bm25_reaches_its_known_figure_by_default(
    shared_data: Path, name: str, documents: int, least: float
) -> None:
    index = open_search_index(RetrievalTable(documents=shared_data / name / "corpus.jsonl"), None)
    assert (len(index.chunks), index.language) == (documents, "en")
    cases = list(read_cases([shared_data / name / "dev.jsonl"]))
    found = index.sparse([case.question for case in cases], 100)
    rows: list[list[int]] = found.chunk.tolist()
    run = {
        case.id: [index.chunks[n].page for n in row if n >= 0]
        for case, row in zip(cases, rows, strict=True)
    }
    result = score_rankings(
        run, {case.id: dict(case.relevant or {}) for case in cases}, ["ndcg@10"]
    )
    assert (result.mean["ndcg@10"] or 0.0) >= least
    assert result.missing == []


def test_every_term_counts_by_default_and_not_with_robertson() -> None:
    """A term in three of four documents: `robertson` gives no hit for it, `lucene` does."""
    texts = ["the cat sat", "the cat ran", "the cat slept", "a dog"]
    assert (build_bm25(texts, Formula()).search(["cat"], 4).chunk >= 0).sum() == 3
    assert (build_bm25(texts, Formula("robertson")).search(["cat"], 4).chunk < 0).all()
    score = build_bm25(texts, Formula()).search(["dog"], 1).score[0, 0]
    length = 1 - 0.75 + 0.75 * 2 / (11 / 4)
    assert score == pytest.approx(
        math.log(1 + (4 - 1 + 0.5) / (1 + 0.5)) * 1 / (1 + 1.5 * length), abs=1e-9
    )


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


@pytest.mark.parametrize("given", ["", "auto"])
@pytest.mark.parametrize("language", ["zh", "ja", "th", "hi", "de", "ar"])
def test_the_right_passage_comes_first_in_six_languages(language: str, given: str) -> None:
    """Thirty questions each about the rules of a town, in other words than the passages; several passages share a subject."""
    lines = (
        (Path(__file__).parent / "languages" / f"{language}.tsv")
        .read_text(encoding="utf-8")
        .splitlines()
    )
    questions, passages = zip(*(line.split("\t") for line in lines), strict=True)
    assert len(set(passages)) == 30
    found = build_bm25(
        passages, Formula(language=detect_language(passages) if given else language)
    ).search(questions, 1)
    first = sum(n == chunk for n, chunk in enumerate(found.chunk[:, 0].tolist()))
    assert first >= 0.85 * 30, first


def test_stop_words_are_left_out_of_questions_only() -> None:
    assert question_words("Wie alt ist die Brücke?", "de") == ["alt", "bruck"]
    assert question_words("wer ist das", "german") == [
        "wer",
        "ist",
        "das",
    ]  # nothing else to search for
    assert question_words("図書館はどこですか") == ["図書", "書館", "館は"]
    assert "die" in search_words("die Brücke", "de")


@pytest.mark.parametrize(
    ("text", "language"),
    [
        (
            "The library opens at nine. You can borrow ten books for four weeks, and returns are free.",
            "en",
        ),
        (
            "La bibliothèque ouvre à neuf heures du matin. Vous pouvez emprunter dix livres pour un mois.",
            "fr",
        ),
        (
            "A biblioteca abre às nove da manhã e fecha às seis. Não é possível renovar os livros reservados.",
            "pt",
        ),
        (
            "Perpustakaan buka pukul sembilan pagi. Anda dapat meminjam buku untuk empat minggu dengan kartu ini.",
            "id",
        ),
        (
            "Det är inte möjligt att förnya en bok som en annan har reserverat. Du kan låna tio böcker i taget.",
            "",
        ),
        (
            "Biblioteca se deschide la nouă. Nu se poate prelungi o carte pe care a rezervat-o alt cititor.",
            "",
        ),
        (
            "Reset button: hold 5 seconds. LED blinks red. Firmware update via USB. Voltage 230 V.",
            "",
        ),
        ("图书馆上午九点开门。每人最多可以借十本书，为期四周。", ""),
    ],
)
def test_the_language_is_detected_where_it_is_clear(text: str, language: str) -> None:
    """Swedish and Romanian have no list here; neither may pass for a language that has one."""
    assert detect_language([text] * 30) == language
    assert detect_language([text]) == ""  # too little text


def test_half_english_and_half_german_is_no_language() -> None:
    halves = [
        "The library opens at nine and closes at six.",
        "Die Bibliothek ist von neun bis sechs Uhr geöffnet.",
    ]
    assert detect_language(halves * 30) == ""


def test_none_switches_stemming_off(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text(
        "The library opens at nine. You can borrow books for four weeks. " * 20
    )
    languages = [
        open_search_index(RetrievalTable(documents=tmp_path, language=given), None).language
        for given in ("auto", "none", "german")
    ]
    assert languages == ["en", "none", "german"]
