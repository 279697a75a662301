"""The start page: a card per suite, then its runs and the sweeps."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from starlette.requests import Request
from starlette.responses import Response

from answerkey.files import read_json
from answerkey.viewer.library import SWEEP, RunEntry, RunLibrary
from answerkey.viewer.many_page import newest_per_bot
from answerkey.viewer.render import respond

_MOST_KINDS = 3
_MOST_MEANS = 3


@dataclass(frozen=True, slots=True)
class SuiteCard:
    """A suite at a glance. `newest` is its last full run, or its last run of any kind.

    `change` is the difference of its pass rate from the full run before, if both are scored alike;
    `bots` counts the bots that its table of runs side by side has.
    """

    name: str
    newest: RunEntry
    change: float | None
    kinds: list[tuple[str, int]]
    runs: list[RunEntry]
    bots: int

    @property
    def means(self) -> list[tuple[str, float]]:
        """The first metrics of a run without a pass rate."""
        values = [(name, mean) for name, mean in self.newest.means.items() if mean is not None]
        return values[:_MOST_MEANS]

    @property
    def has_trend(self) -> bool:
        return len(self.newest.trend) > 1


def home_page(request: Request) -> Response:
    library: RunLibrary = request.app.state.library
    entries = library.entries()
    sweeps = [
        {"sweep": library.key(folder), "sentence": _best_sentence(folder)}
        for folder in library.sweeps()
    ]
    data = {
        "folder": str(library.root),
        "runs": entries,
        "sweeps": sweeps,
        "audits": [library.key(folder) for folder in library.audits()],
        "watches": [library.key(folder) for folder in library.watches()],
        "suites": [
            {
                "suite": card.name,
                "newest": card.newest.run,
                "change": card.change,
                "kinds": card.kinds,
            }
            for card in suite_cards(entries)
        ],
    }
    looks = {"cards": suite_cards(entries), "damaged": [run for run in entries if run.problem]}
    return respond(request, "runs.html", data, 200, **looks)


def suite_cards(entries: list[RunEntry]) -> list[SuiteCard]:
    """One card per suite, in the order of its newest run."""
    by_suite: dict[str, list[RunEntry]] = {}
    for entry in entries:
        if not entry.problem:
            by_suite.setdefault(entry.name, []).append(entry)
    cards: list[SuiteCard] = []
    for name, runs in by_suite.items():
        full_runs = [run for run in runs if run.is_full]
        newest = full_runs[0] if full_runs else runs[0]
        kinds = newest.kinds[:_MOST_KINDS]
        bots = len(newest_per_bot(entries, name))
        cards.append(SuiteCard(name, newest, _rate_change(newest), kinds, runs, bots))
    return cards


def _rate_change(run: RunEntry) -> float | None:
    """None without an earlier full run, and if profile, metrics or judge changed in between."""
    if run.pass_rate is None or run.previous_rate is None or not run.is_full:
        return None
    if set(run.changed) & {"profile", "metrics", "judge", "embedding", "cases"}:
        return None
    return run.pass_rate - run.previous_rate


def _best_sentence(folder: Path) -> str:
    """The sentence about the best setting of a sweep; empty for a damaged file."""
    with suppress(OSError, ValueError, AttributeError):
        sweep = read_json((folder / SWEEP).read_bytes())
        return str(sweep.get("best", {}).get("sentence", ""))
    return ""
