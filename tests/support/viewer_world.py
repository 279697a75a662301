"""Run folders to look at: a plain one, a second version of it, a hostile one, and large ones."""

from __future__ import annotations

import json
from collections.abc import Iterable
from contextlib import closing
from pathlib import Path
from typing import Any

from answerkey.comparison.comparison import compare_runs
from answerkey.profiles import decide_verdict, load_profile
from answerkey.reports.chart_style import add_title
from answerkey.reports.comparison_files import write_comparison
from answerkey.reports.write import write_reports
from answerkey.runs.manifest import stored_manifest
from answerkey.runs.store import FolderStore
from answerkey.types import Case, Outcome, Passage, Response, Score

PROFILE: dict[str, Any] = {
    "name": "two-part",
    "version": 1,
    "pass": 0.6,
    "bands": [
        {"name": "excellent", "at": 0.85, "status": "PERFECT"},
        {"name": "acceptable", "at": 0.6, "status": "ACCEPTABLE"},
        {"name": "failed", "at": 0.0, "status": "FAILED"},
    ],
    "criteria": [
        {"metric": "keyword_recall", "weight": 0.6},
        {"metric": "groundedness", "weight": 0.4},
    ],
}

HOSTILE = (
    "<script>window.hacked = 1</script>",
    "</script><script>window.hacked = 2</script>",
    '<img src=x onerror="window.hacked = 3">',
    '"><svg onload="window.hacked = 4">',
    "[click](javascript:window.hacked=5) javascript:alert(1)",
    "\x1b[2J\x1b]0;owned\x07 \x1b[31mred",
    "right\u202egnp.exe\u202c \u2066isolate\u2069",
    '=HYPERLINK("http://evil.invalid","x")',
    "{{ 7 * 7 }} {% raw %} ${alert(1)} <!-- ]]> -->",
    "lone \ud800 surrogate, null \x00, byte order \ufeff",
    "&lt;b&gt; &amp; <style>*{display:none}</style><base href=//evil.invalid><form action=//evil.invalid>",
)


def make_run(folder: Path, outcomes: Iterable[Outcome], name: str, **more: Any) -> Path:
    """A finished run, as the command line would have left it; `reports` is "page" for those of a run,
    True with plots/*.png too, False without report.html, None for no report at all."""
    reports = more.pop("reports", "page")
    folder.mkdir(parents=True)
    profile = load_profile(PROFILE)
    record = {
            "format": 1, "name": name, "created": "2026-01-02T03:04:05+00:00", "profile": PROFILE,
            "profile_version": 1, "profile_digest": profile.digest,
            "fingerprint": {"cases": "c", "profile": profile.digest, "metrics": "m", "judge": "none"},
            "metrics": ["keyword_recall", "groundedness"], "gate": ["pass_rate >= 0.5"], "settings": {},
            "partial": "", **more,
    }  # fmt: skip
    numbered = list(enumerate(outcomes))
    (folder / "run.json").write_text(json.dumps({"count": len(numbered), **record}))
    with closing(FolderStore(folder, stored_manifest(folder))) as store:
        store.add_outcomes(numbered)
    if reports is not None:
        write_reports(folder, charts=None if reports == "page" else reports)
    return folder


def outcome(case: Case, response: Response, scores: dict[str, Score]) -> Outcome:
    return Outcome(
        case, response, scores, decide_verdict(load_profile(PROFILE), case, response, scores)
    )


def plain(n: int, version: int = 1) -> Outcome:
    """Case n of a small bot. The second version gets every third answer right."""
    better = version > 1 and n % 3 == 0
    recall = 1.0 if better else (n * 37 % 100) / 100
    route = "sales" if n % 2 else "documents"
    answer = f"The shop opens at {n} o'clock. It is closed on day {n + 1}."
    if better:
        answer = f"The shop opens at {n} o'clock, every day. It is closed on day {n + 2}."
    first = answer.index(". ") + 1
    case = Case(
        f"case-{n:03}", f"When does shop number {n} open?", (f"Shop {n} opens at {n} o'clock.",), type=f"kind {n % 3}",
        expected_route="sales" if n % 5 else "documents",
    )  # fmt: skip
    passages = (
        Passage(
            f"Shop {n}: it opens at {n} o'clock, said the manager.",
            id=f"doc-{n}",
            score=0.8,
            page="3",
        ),
    )
    if n % 11 == 7:
        return outcome(case, Response(error="HTTP 503 from the bot"), {})
    sentences = [
        {"text": answer[:first], "start": 0, "end": first, "probability": 0.1, "flag": False, "passage": 0,
         "span": [8, 8 + len(f"it opens at {n} o'clock")], "reason": "said by passage 1"},
        {"text": answer[first + 1 :], "start": first + 1, "end": len(answer), "probability": 0.93, "flag": True,
         "passage": None, "span": None, "reason": "no passage says so"},
    ]  # fmt: skip
    grounded = Score(
        0.5 if n % 4 else 0.9, "one sentence has no support", details={"sentences": sentences}
    )
    facts = [
        {
            "text": f"Shop {n} opens at {n} o'clock",
            "state": "found",
            "probability": 0.9,
            "quote": answer[:first],
        },
        {
            "text": f"Shop {n} is open every day",
            "state": "contradicted",
            "probability": 0.1,
            "quote": answer[first + 1 :],
        },
        {"text": "It is closed in August", "state": "missing", "probability": 0.1, "quote": ""},
    ]
    claims = [{"text": answer[first + 1 :], "state": "not in the expected answer", "quote": ""}]
    scores = {
        "keyword_recall": Score(recall, f"{recall:.0%} of the words", details={"facts": facts, "claims": claims}),
        "groundedness": grounded, "rubric.accuracy": _judged(n),
        "exact_match": Score.not_applicable("nothing to match") if n % 2 else Score(0.0),
    }  # fmt: skip
    return outcome(
        case, Response(answer, passages, route, sources=(f"doc-{n}",), seconds=0.01 * n), scores
    )


def _judged(n: int) -> Score:
    criteria = [
        {"name": "hour", "ask": "Gives the hour", "met": True, "reason": "it does", "quote": f"at {n} o'clock", "error": None},
        {"name": "greets", "ask": "Greets the customer", "met": False, "reason": "no greeting", "error": None},
    ]  # fmt: skip
    details = {"raw": '{"score": 4}', "reasoning": "Mostly right, says the judge.", "model": "m", "call": "c1",
               "quote": "opens at", "criteria": criteria}  # fmt: skip
    return Score(4.0, "mostly right", details=details)


def hostile(n: int) -> Outcome:
    """Every text field of the case holds something that would run, turn or break a page that lets it."""
    text = HOSTILE[n % len(HOSTILE)]
    case = Case(
        f"{n} {text}", f"Question {text}?", (f"expected {text}",), type=f"type {text}", expected_route=f"wanted {text}",
        note=text, tags=(text,), source_file=text, priority=text,
    )  # fmt: skip
    passages = (Passage(f"passage {text}", id=text, page=text),)
    sentence = {
        "start": 0,
        "end": 10**9,
        "flag": True,
        "probability": 0.9,
        "reason": text,
        "passage": 0,
        "span": text,
    }
    scores = {
        "keyword_recall": Score(n % 10 / 10, text, details=_hostile_details(text)),
        "groundedness": Score(0.2, text, details={"sentences": [sentence, {"flag": text}, text]}),
        f"own {text}": Score.failed(text, raw=text, reasoning=[text, text], model=text),
    }
    response = Response(
        f"answer {text}", passages, text, sources=(text,), seconds=0.1, extra={text: text}
    )
    return outcome(case, response, scores)


def _hostile_details(text: str) -> dict[str, Any]:
    fact = {"text": text, "state": text, "quote": text}
    criterion = {"name": text, "ask": text, "met": text, "reason": text, "quote": text}
    return {
        "facts": [fact, text, {"state": "missing"}],
        "claims": [fact],
        "criteria": [criterion, {}],
        "quote": text,
    }


def long_line(size: int = 1_000_000) -> Outcome:
    scores = {"keyword_recall": Score(0.1), "groundedness": Score(0.1, "x" * 100_000)}
    return outcome(
        Case("long", "q" * size, ("e" * size,)),
        Response("a" * size, (Passage("p" * size),)),
        scores,
    )


def make_sweep(folder: Path) -> Path:
    folder.mkdir(parents=True)
    settings = [
        {
            "setting": name,
            "alpha": alpha,
            "k": k,
            f"recall@{k}": 0.4 + alpha / 3,
            f"f1@{k}": 0.3 + alpha / 4,
        }
        for name, alpha in (("Balanced_Hybrid", 0.5), ("Pure_BM25", 0.0), ("<b>own</b>", 1.0))
        for k in (3, 5)
    ]
    told = {"best": {"sentence": "Balanced_Hybrid at K = 5 is best: F1 0.43"}, "queries": 20, "scored": 18, "settings": settings,
            "searched": {"bm25": "robertson"}, "milliseconds": {"Pure_BM25": {"mean": 1.5}}}  # fmt: skip
    (folder / "sweep.json").write_text(json.dumps(told), encoding="utf-8")
    (folder / "evaluation_results.csv").write_text("setting\nPure_BM25\n", encoding="utf-8")
    chart = {
        "data": {"values": settings},
        "mark": "bar",
        "encoding": {"x": {"field": "alpha"}, "y": {"field": "k"}},
    }
    (folder / "charts.json").write_text(
        json.dumps({"1_methods": add_title("Methods", chart)}), encoding="utf-8"
    )
    return folder


def make_world(root: Path) -> Path:
    """Everything the viewer has a page for."""
    make_run(root / "bot_1", map(plain, range(40)), "bot")
    make_run(root / "bot_2", (plain(n, 2) for n in range(40)), "bot")
    outcomes = [*map(hostile, range(len(HOSTILE) * 2)), long_line()]
    make_run(root / "hostile_1", outcomes, HOSTILE[0], notes=[HOSTILE[1]])
    make_sweep(root / "bot_sweep_1")
    write_comparison(compare_runs(root / "bot_1", root / "bot_2"), root / "comparison")
    return root
