"""Do the expected ids exist in the index? What do those that match nothing mean?"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from answerkey.coerce.passage_fields import clean_id
from answerkey.config.retrieval_tables import IdStyle
from answerkey.experiments.page_names import NUMBER_AT_END, PageNames
from answerkey.retrieval.page_ids import rename_id
from answerkey.text import format_count
from answerkey.types import Case

Grades = Mapping[str, Mapping[str, float]]
# Page shifts to try, the smallest first: covers, front matter, 0- and 1-based numbers.
SHIFTS = tuple(sorted((shift for shift in range(-60, 61) if shift), key=abs))
_LISTED = 12  # ids in one message; more would hide the advice at its end
_EXPLAINED = 50  # missing labels for which a near id is looked for


@dataclass(frozen=True)
class LabelCheck:
    """The labels under the index's names, and those that are missing.

    `missing` maps each expected id that is not there to advice; `shift` is the number to add to
    every page label so that more of them match; `ids` is the setting under which they match;
    `lost_quotes` are in no chunk.
    """

    labels: dict[str, dict[str, float]]
    total: int = 0
    missing: dict[str, str] = field(default_factory=dict[str, str])
    examples: tuple[str, ...] = ()
    shift: int | None = None
    lost_quotes: tuple[str, ...] = ()
    ids: IdStyle | None = None

    def none_found(self, place: str) -> str:
        """The problem where no expected id is there and every figure would be 0; else ""."""
        if not self.total or len(self.missing) < self.total:
            return ""
        return (
            f"none of the expected ids ({self.total}) is in {place}: "
            f"found {quote_some(list(self.missing), 3)}; ids of {place} are {self._examples()}"
            f"{self.advice}"
        )

    @property
    def warnings(self) -> list[str]:
        warnings: list[str] = []
        if self.missing:
            warnings.append(
                f"{len(self.missing)} of {self.total} expected ids are not in the index: "
                f"{quote_some(list(self.missing))}; ids of the index are {self._examples()}"
                f"{self.advice}"
            )
        if self.lost_quotes:
            quotes = format_count(len(self.lost_quotes), "quote")
            warnings.append(
                f"{quotes} of the cases are in no chunk: {quote_some(self.lost_quotes)}"
            )
        return warnings

    def _examples(self) -> str:
        return ", ".join(f'"{one}"' for one in self.examples)

    @property
    def advice(self) -> str:
        """Advice that makes the labels match, as the end of a sentence; "" if nothing is known."""
        if self.shift is not None:
            return f"; with {self.shift:+d} added to every page label they match"
        advice = [f'for "{label}" write {near}' for label, near in self.missing.items() if near]
        if self.ids is not None:
            advice.insert(0, f'with ids = "{self.ids}" in [retrieval] they match')
        return "".join(f"; {one}" for one in advice[:3])


def check_labels(
    labels: Grades,
    ids: Sequence[str],
    documents: Iterable[str] = (),
    page_numbers: Collection[str] = (),
) -> LabelCheck:
    """Every label under the name that the index has for it, and the missing ones.

    `page_numbers` are the pages of chunks that have ids of their own.
    """
    names = PageNames(ids, documents)
    resolved: dict[str, dict[str, float]] = {}
    missing: dict[str, str] = {}
    expected: set[str] = set()
    for query, row in labels.items():
        resolved[query] = {}
        for label, grade in row.items():
            match = names.find(label)
            name = match or label
            # `manual#34` and `manual.pdf#34` may be one page with two grades; the higher one
            # counts.
            resolved[query][name] = max(grade, resolved[query].get(name, grade))
            if grade > 0:
                expected.add(label)
                if match is None:
                    missing[label] = ""
    style = matching_style(list(missing), ids, page_numbers) if missing else None
    for label in list(missing)[:_EXPLAINED]:
        missing[label] = names.near(label)
    explained = sum(map(bool, missing.values()))
    shift = None
    # A shift explains labels that nothing else does; beside a better explanation it would be chance.
    if missing and style is None and explained < len(missing) / 2:
        shift = matching_shift(resolved, names)
    return LabelCheck(
        labels=resolved,
        total=len(expected),
        missing=missing,
        examples=tuple(names.ids)[:3],
        shift=shift,
        ids=style,
    )


def matching_style(
    missing: Sequence[str], ids: Iterable[str], page_numbers: Collection[str] = ()
) -> IdStyle | None:
    """The setting `ids` under which most of the missing labels would match; None if there is none.

    Bare pages (`34`) over several documents need "page", names of documents "document".
    """
    listed = [one for one in ids if one]
    for style in ("page", "document"):
        renamed = {rename_id(one, style) for one in listed}
        if renamed == set(listed):  # the ids have this style already
            continue
        # Only labels that have the style themselves: cut down to its document, any label matches.
        matches = sum(rename_id(label, style) == label and label in renamed for label in missing)
        if matches > len(missing) / 2:
            return style
    if sum(label in page_numbers for label in missing) > len(missing) / 2:
        return "page"
    return None


def collect_labels(cases: Sequence[Case]) -> dict[str, dict[str, float]]:
    """The labels of each case under clean ids; a label without an id (`N/A`) is dropped."""
    labels: dict[str, dict[str, float]] = {}
    for case in cases:
        row = {clean_id(page): grade for page, grade in (case.relevant or {}).items()}
        labels[case.id] = {page: grade for page, grade in row.items() if page}
    return labels


def matching_shift(labels: Grades, names: PageNames) -> int | None:
    """The smallest number that, added to every page, brings clearly more labels into the index."""
    pages = [page for row in labels.values() for page, grade in row.items() if grade > 0]
    # Names without a number have nothing to shift.
    if not any(NUMBER_AT_END.fullmatch(page) for row in labels.values() for page in row):
        return None

    def count_matches(shift: int) -> int:
        return sum(names.find(_shift_page(page, shift)) is not None for page in pages)

    now = count_matches(0)
    if now == len(pages):
        return None
    best = max(SHIFTS, key=count_matches)  # the smallest of equals comes first
    after = count_matches(best)
    # With many pages some label matches after any shift: a few more matches prove nothing.
    if after == len(pages) or after - now >= max(3, 0.1 * len(pages)):
        return best
    return None


def shift_pages(labels: Grades, shift: int) -> dict[str, dict[str, float]]:
    """Every page label with `shift` added to the number at its end; labels without one stay."""
    return {
        query: {_shift_page(page, shift): grade for page, grade in row.items()}
        for query, row in labels.items()
    }


def _shift_page(page: str, shift: int) -> str:
    match = NUMBER_AT_END.fullmatch(page)
    if match is None:
        return page
    digits = match[2]
    # `p007` stays three digits wide.
    if digits.startswith("0") and len(digits) > 1:
        width = len(digits)
    else:
        width = 0
    return f"{match[1]}{int(digits) + shift:0{width}d}"


def quote_some(names: Sequence[str], most: int = _LISTED) -> str:
    """The first names in quotes, and how many more there are."""
    if len(names) > most:
        more = f" and {len(names) - most} more"
    else:
        more = ""
    return ", ".join(f'"{name}"' for name in names[:most]) + more
