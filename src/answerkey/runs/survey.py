"""One pass over the cases before a run: how many there are, which columns they have, their digest."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator

from answerkey.coerce.columns import COLUMNS, near_column
from answerkey.errors import InputError, SettingsError, did_you_mean
from answerkey.files import json_line
from answerkey.metrics.registry import find
from answerkey.profiles.choose import ProfileChoice
from answerkey.runs.records import SetDigest, cluster_of, to_json
from answerkey.runs.user_columns import ColumnSurvey
from answerkey.types import Case

_LABELS = ("expected", "relevant")  # the columns that a person adds, and may misspell


class CaseSurvey:
    """What the cases have. `live`: a target is asked, so that recorded answers are not needed."""

    def __init__(self, *, live: bool, cluster: str | None = None) -> None:
        self.live = live
        self.count = 0
        self.digest = SetDigest()
        self._order = hashlib.sha256()
        self.columns = ColumnSurvey()
        self.choice = ProfileChoice(live)
        self.extra_columns: dict[str, None] = {}
        self.missing_labels = list(_LABELS)
        self.has_answers = False
        self.all_answered = True
        self._cluster = cluster
        self._is_clustered = False

    def add(self, case: Case) -> None:
        # Sorted keys: the order of a file's columns is no change of the cases.
        self.digest.add(json_line(to_json(case), sort=True))
        # A null byte ends each id, so that "a", "bc" and "ab", "c" differ.
        self._order.update(case.id.encode("utf-8", "backslashreplace") + b"\0")
        self.count += 1
        self.columns.add(case)
        self.choice.add(case)
        self.extra_columns.update(dict.fromkeys(case.extra))
        self.missing_labels = [name for name in self.missing_labels if not getattr(case, name)]
        recorded = case.recorded
        self.has_answers = self.has_answers or recorded is not None
        self.all_answered = self.all_answered and recorded is not None and bool(recorded.answer)
        if self._cluster and not self._is_clustered:
            has_value = cluster_of(case, self._cluster) is not None
            self._is_clustered = self._cluster == "none" or has_value

    @property
    def order(self) -> str:
        """A hash of the ids in their order: answers are stored by the position of their case."""
        return self._order.hexdigest()[:16]

    def check(self, source: str, *, needs_answers: bool) -> None:
        """Refuse cases that cannot be run: none, without answers, or without the cluster column."""
        if self.count == 0:
            raise InputError(f"no case of {source} is selected; check --only, --file and --tag")
        if needs_answers and not self.has_answers:
            raise InputError(
                f'{source}: no column "answer", and no target to ask; add the answers, or name a '
                "target (`answerkey init` writes a suite with one)"
            )
        if self._cluster and not self._is_clustered:
            near = did_you_mean(self._cluster, self.extra_columns)
            raise SettingsError(
                f'[statistics] cluster = "{self._cluster}": no case has this column{near}'
            )

    def warnings(self, metrics: Iterable[str]) -> Iterator[str]:
        """A warning for each column that no case has and a metric needs.

        Where a column of the user has nearly that name, it is an error.
        """
        for column in self.missing_labels:
            needing = [name for name in metrics if column in find(name).facts.needs]
            if not needing:
                continue
            missing = f'no case has the column "{column}", which {needing[0]} needs'
            names = (name for name in self.extra_columns if near_column(name, COLUMNS[column]))
            near = next(names, None)
            if near is not None:
                raise InputError(
                    f'{missing}; did you mean the column "{near}"? Rename it to "{column}"'
                )
            # The answers of a test set are often in a column "answer", although a bot is asked.
            if column == "expected" and self.live and self.all_answered:
                missing += '; if "answer" holds the expected answers, rename it to "expected"'
            yield missing
