"""The ids of an index, found under every form in which a label may write them."""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import cached_property

from answerkey.coerce.labels import document_stem, page_parts
from answerkey.text import fold, words

# A number of more than 18 digits is an id, not a page.
NUMBER_AT_END = re.compile(r"(.*?)(?<!\d)(\d{1,18})$")
_RANGE = re.compile(
    r"(?P<document>.*?)[#:\s]?\s*(?:pages?|pp?\.?)?\s*"
    r"(?<!\d)(?P<first>\d{1,18})\s*[-–]\s*(?P<last>\d{1,18})$",
    re.I,
)
_PAGE_WORDS = frozenset(
    [
        "page",
        "pages",
        "p",
        "pp",
        "pg",
        "no",
        "nr",
        "seite",
        "s",
        "página",
        "hal",
        "halaman",
        "chunk",
    ],
)
_LONGEST_RANGE = 20  # pages; a longer range is not listed page by page
_LEAST_SIMILARITY = 75


class PageNames:
    """`manual#34` finds `manual.pdf#34`; a bare page is found only where there is one document."""

    def __init__(self, ids: Iterable[str], documents: Iterable[str] = ()) -> None:
        self.ids = dict.fromkeys(sorted({one for one in ids if one}, key=natural_order))
        self._places: dict[tuple[str, str], str] = {}
        self._by_page: dict[str, list[str]] = {}
        self._by_document: dict[str, list[str]] = {}
        for one in self.ids:
            document, page = page_parts(one)
            stem = document_stem(document) if document else ""
            # `a.pdf` and `a.txt` have the same stem: the first of them wins.
            self._places.setdefault((stem, page), one)
            self._by_document.setdefault(stem or document_stem(one), []).append(one)
            self._by_page.setdefault(page, []).append(one)
        # Ids that are bare pages do not say their document, but the chunks may.
        named = {stem for stem, _ in self._places if stem}
        self.documents = named or {document_stem(document) for document in documents if document}

    def find(self, label: str) -> str | None:
        """The id that the label means, or None."""
        if label in self.ids:
            return label
        document, page = page_parts(label)
        if document:
            return self._find_in_document(document_stem(document), page)
        if len(self.documents) <= 1 and len(self._by_page.get(page, ())) == 1:
            return self._by_page[page][0]
        # A number is never the name of a document.
        if label.isdigit():
            return None
        of_document = self._by_document.get(document_stem(label), ())
        if len(of_document) == 1 and page_parts(of_document[0])[0] is None:
            return of_document[0]
        return None

    def _find_in_document(self, stem: str, page: str) -> str | None:
        place = self._places.get((stem, page))
        if place is None and (not self.documents or self.documents == {stem}):
            return self._places.get(("", page))
        return place

    def near(self, label: str) -> str:
        """Advice on the id that the label may mean; "" where nothing is near."""
        in_range = self._pages_of_range(label)
        if in_range:
            return ", ".join(f'"{page}"' for page in in_range)
        # The label may name a chunk, as in `manual#34:2`.
        without_chunk = self.find(re.sub(r"[:_-]\d+$", "", label))
        if without_chunk is not None:
            return f'"{without_chunk}"'
        # The lookbehind skips the 2 of `v1.2`.
        numbers = [str(int(number)) for number in re.findall(r"(?<![.\d])\d{1,18}(?!\d)", label)]
        letters = [word for word in words(re.sub(r"[\d_]+", " ", label)) if word not in _PAGE_WORDS]
        # The page usually stands at the end of a label.
        for number in reversed(numbers):
            pages = self._by_page.get(number, ())
            same = [one for one in pages if self._document_words(one).issuperset(letters)]
            if same:
                return " or ".join(f'"{one}"' for one in same[:3])
        in_label = page_parts(label)[0]
        pages = self._by_document.get(document_stem(in_label or label), [])
        if len(pages) == 1:
            return f'"{pages[0]}"'
        if pages:
            if in_label:  # the document is there, the page is not
                return ""
            return f'a page of it, such as "{pages[0]}" or "{pages[-1]}" (or set ids = "document")'
        bare = [self._places[("", number)] for number in numbers if ("", number) in self._places]
        if letters and bare:
            document = " or ".join(sorted(self.documents)) or "the indexed one"
            return f'"{bare[-1]}", if the document is {document}'
        return self._similar(label)

    def _pages_of_range(self, label: str) -> list[str]:
        """The ids of `manual pages 3-5`, where all of them exist."""
        match = _RANGE.match(label)
        if match is None:
            return []
        document = match["document"].strip(" #:,")
        first = int(match["first"])
        last = int(match["last"])
        if not first < last <= first + _LONGEST_RANGE:
            return []
        labels = [
            f"{document}#{page}" if document else str(page) for page in range(first, last + 1)
        ]
        pages = [page for page in map(self.find, labels) if page is not None]
        return pages if len(pages) == len(labels) else []

    def _document_words(self, one: str) -> set[str]:
        """The words of the id's document."""
        document = page_parts(one)[0] or " ".join(self.documents)
        return set(words(document.replace("_", " ")))

    def _similar(self, label: str) -> str:
        if label.isdigit():
            return ""
        from rapidfuzz import fuzz, process

        match = process.extractOne(
            fold(label), self._folded_ids, scorer=fuzz.ratio, score_cutoff=_LEAST_SIMILARITY
        )
        return f'"{match[2]}"' if match else ""

    @cached_property
    def _folded_ids(self) -> dict[str, str]:
        return {one: fold(one) for one in self.ids}


def natural_order(page: str) -> tuple[str, int, str]:
    """A key that sorts page 9 before page 10."""
    match = NUMBER_AT_END.fullmatch(page)
    if match is None:
        return (page, -1, page)
    return (match[1], int(match[2]), page)
