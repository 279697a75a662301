"""Do the expected ids exist in the index? Labels under the index's own names, and what is meant by those that match nothing."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

from answerkey.coerce.labels import document_stem, page_parts
from answerkey.coerce.passage_fields import clean_id
from answerkey.text import fold, format_count, words
from answerkey.types import Case

Grades = Mapping[str, Mapping[str, float]]
SHIFTS = tuple(sorted((shift for shift in range(-60, 61) if shift), key=abs))
_NUMBER_AT_END = re.compile(r"(.*?)(?<!\d)(\d{1,18})$")
_RANGE = re.compile(
    r"(?P<document>.*?)[#:\s]?\s*(?:pages?|pp?\.?)?\s*(?<!\d)(?P<first>\d{1,18})\s*[-–]\s*(?P<last>\d{1,18})$",
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
    ]
)
_LISTED = 12
_LONGEST_RANGE = 20
_TRIED = 50  # missing labels for which a near id is looked for


class PageNames:
    """The ids of an index, found under every form in which a label may write them: `manual#34` is `manual.pdf#34`. A
    bare page names a page only where there is one document."""

    def __init__(self, ids: Iterable[str], documents: Iterable[str] = ()) -> None:
        self.ids = dict.fromkeys(sorted({one for one in ids if one}, key=natural_order))
        self._places: dict[tuple[str, str], str] = {}
        self._by_page: dict[str, list[str]] = {}
        self._by_document: dict[str, list[str]] = {}
        for one in self.ids:
            document, page = page_parts(one)
            stem = document_stem(document) if document else ""
            self._places.setdefault((stem, page), one)
            self._by_document.setdefault(stem or document_stem(one), []).append(one)
            self._by_page.setdefault(page, []).append(one)
        named = {stem for stem, _ in self._places if stem}
        self._single = named or {document_stem(document) for document in documents if document}

    def find(self, label: str) -> str | None:
        """The id that the label means, or None."""
        if label in self.ids:
            return label
        document, page = page_parts(label)
        if document:
            stem = document_stem(document)
            bare = (
                self._places.get(("", page)) if not self._single or self._single == {stem} else None
            )
            return self._places.get((stem, page)) or bare
        if len(self._single) <= 1 and len(self._by_page.get(page, ())) == 1:
            return self._by_page[page][0]
        alone = self._by_document.get(document_stem(label), ())
        return (
            alone[0]
            if len(alone) == 1 and page_parts(alone[0])[0] is None and not label.isdigit()
            else None
        )

    def near(self, label: str) -> str:
        """What the label may mean, as advice; "" where nothing is near."""
        if spread := _RANGE.match(label):
            document, first, last = (
                spread["document"].strip(" #:,"),
                int(spread["first"]),
                int(spread["last"]),
            )
            numbers = range(first, last + 1) if first < last <= first + _LONGEST_RANGE else ()
            pages = [self.find(f"{document}#{page}" if document else str(page)) for page in numbers]
            if pages and all(pages):
                return ", ".join(f'"{page}"' for page in pages)
        if (without_chunk := self.find(re.sub(r"[:_-]\d+$", "", label))) is not None:
            return f'"{without_chunk}"'
        numbers = [str(int(number)) for number in re.findall(r"(?<![.\d])\d{1,18}(?!\d)", label)]
        letters = [word for word in words(re.sub(r"[\d_]+", " ", label)) if word not in _PAGE_WORDS]

        def about(one: str) -> set[str]:
            """The words of the id's document."""
            return set(words((page_parts(one)[0] or " ".join(self._single)).replace("_", " ")))

        for number in reversed(numbers):
            if meant := [
                one for one in self._by_page.get(number, ()) if about(one).issuperset(letters)
            ]:
                return " or ".join(f'"{one}"' for one in meant[:3])
        pages = self._by_document.get(document_stem(page_parts(label)[0] or label), [])
        if len(pages) == 1:
            return f'"{pages[0]}"'
        if pages:
            if page_parts(label)[0]:  # the document is there, the page is not
                return ""
            return f'a page of it, such as "{pages[0]}" or "{pages[-1]}" (or set ids = "document")'
        if letters and (
            bare := [
                self._places[("", number)] for number in numbers if ("", number) in self._places
            ]
        ):
            return f'"{bare[-1]}", if the document is {" or ".join(sorted(self._single)) or "the indexed one"}'
        if label.isdigit():
            return ""
        from rapidfuzz import fuzz, process

        found = process.extractOne(fold(label), self._folded, scorer=fuzz.ratio, score_cutoff=75)
        return f'"{found[2]}"' if found else ""

    @cached_property
    def _folded(self) -> dict[str, str]:
        return {one: fold(one) for one in self.ids}


@dataclass(frozen=True)
class LabelCheck:
    """`labels` are under the index's names; `missing` maps each expected id that is not there to what may be meant.
    `shift` is the number to add to every page label so that more of them match; `lost_quotes` are those in no chunk."""

    labels: dict[str, dict[str, float]]
    total: int = 0
    missing: dict[str, str] = field(default_factory=dict[str, str])
    examples: tuple[str, ...] = ()
    shift: int | None = None
    lost_quotes: tuple[str, ...] = ()

    def none_found(self, place: str) -> str:
        """What to say where not one expected id is there, so that every figure would be 0; "" where some are."""
        if not self.total or len(self.missing) < self.total:
            return ""
        names = ", ".join(f'"{one}"' for one in self.examples)
        found = f"found {_some(list(self.missing), 3)}; ids of {place} are {names}{self._advice()}"
        return f"none of the expected ids ({self.total}) is in {place}: {found}"

    @property
    def warnings(self) -> list[str]:
        found: list[str] = []
        if self.missing:
            names = ", ".join(f'"{one}"' for one in self.examples)
            found.append(
                f"{len(self.missing)} of {self.total} expected ids are not in the index: "
                f"{_some(list(self.missing))}; ids of the index are {names}{self._advice()}"
            )
        if self.lost_quotes:
            lost = format_count(len(self.lost_quotes), "quote")
            found.append(f"{lost} of the cases are in no chunk: {_some(self.lost_quotes)}")
        return found

    def _advice(self) -> str:
        if self.shift is not None:
            return f"; with {self.shift:+d} added to every page label they match"
        meant = [f'for "{label}" write {near}' for label, near in self.missing.items() if near]
        return f"; {'; '.join(meant[:3])}" if meant else ""


def check_labels(labels: Grades, ids: Sequence[str], documents: Iterable[str] = ()) -> LabelCheck:
    """Every label under the name that the index has for it, and what is missing."""
    names = PageNames(ids, documents)
    resolved: dict[str, dict[str, float]] = {}
    missing: dict[str, str] = {}
    expected: set[str] = set()
    for query, row in labels.items():
        resolved[query] = {}
        for label, grade in row.items():
            found = names.find(label)
            resolved[query][found or label] = max(grade, resolved[query].get(found or label, grade))
            if grade > 0:
                expected.add(label)
                if found is None:
                    missing[label] = ""
    for label in list(missing)[:_TRIED]:
        missing[label] = names.near(label)
    explained = sum(map(bool, missing.values()))
    shift = matching_shift(resolved, names) if missing and explained < len(missing) / 2 else None
    return LabelCheck(resolved, len(expected), missing, tuple(names.ids)[:3], shift)


def collect_labels(cases: Sequence[Case]) -> dict[str, dict[str, float]]:
    found = {
        case.id: {clean_id(page): grade for page, grade in (case.relevant or {}).items()}
        for case in cases
    }
    return {
        query: {page: grade for page, grade in row.items() if page} for query, row in found.items()
    }


def matching_shift(labels: Grades, names: PageNames) -> int | None:
    """The smallest number that, added to every page, brings all labels into the index, or clearly more of them."""

    def inside(shift: int) -> int:
        rows = shift_pages(labels, shift).values()
        return sum(
            grade > 0 and names.find(page) is not None
            for row in rows
            for page, grade in row.items()
        )

    total = sum(grade > 0 for row in labels.values() for grade in row.values())
    now = inside(0)
    if total == now or not any(
        _NUMBER_AT_END.fullmatch(page) for row in labels.values() for page in row
    ):
        return None
    best = max(SHIFTS, key=inside)  # the smallest of equals comes first
    after = inside(best)
    return best if after == total or after - now >= max(3, 0.1 * total) else None


def shift_pages(labels: Grades, shift: int) -> dict[str, dict[str, float]]:
    """Every page label with `shift` added to the number at its end; labels without one stay."""
    return {
        query: {_moved(page, shift): grade for page, grade in row.items()}
        for query, row in labels.items()
    }


def _moved(page: str, shift: int) -> str:
    match = _NUMBER_AT_END.fullmatch(page)
    if match is None:
        return page
    width = len(match[2]) if match[2].startswith("0") and len(match[2]) > 1 else 0
    return f"{match[1]}{int(match[2]) + shift:0{width}d}"


def natural_order(page: str) -> tuple[str, int, str]:
    """A key that sorts page 9 before page 10."""
    match = _NUMBER_AT_END.fullmatch(page)
    return (match[1], int(match[2]), page) if match else (page, -1, page)


def _some(names: Sequence[str], most: int = _LISTED) -> str:
    more = f" and {len(names) - most} more" if len(names) > most else ""
    return ", ".join(f'"{name}"' for name in names[:most]) + more
