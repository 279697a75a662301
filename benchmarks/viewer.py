"""How long the viewer takes for a run of 10,000 cases with 100 MB of answers, and how much it sends.

The same page is also made the way a viewer without an index would: every answer read, then the page cut out.

    python -m benchmarks.viewer
"""

from __future__ import annotations

import json
import statistics
import sys
import tempfile
import threading
import time
import urllib.request
from collections.abc import Callable
from pathlib import Path

from answerkey.reports.write import write_reports
from answerkey.runs.journal import Journal
from answerkey.runs.store import RESPONSES, SCORES, read_outcomes, write_manifest

CASES, LENGTH = 10_000, 10_000


def make_run(folder: Path) -> None:
    """Journals as a run leaves them, with long answers."""
    folder.mkdir(parents=True)
    responses, scores = Journal(folder / RESPONSES), Journal(folder / SCORES)
    words = "the refund is paid within nine days of the return "
    for start in range(0, CASES, 500):
        numbers = range(start, min(start + 500, CASES))
        responses.append([_answered(n, (words * (LENGTH // len(words) + 1))[:LENGTH]) for n in numbers])
        scores.append([_judged(n) for n in numbers])
    responses.close()
    scores.close()
    manifest = {"format": 1, "name": "large", "created": "2026-01-01T00:00:00+00:00", "profile": None, "metrics": ["m"],
                "fingerprint": {}, "count": CASES, "partial": ""}  # fmt: skip
    write_manifest(folder, manifest)


def _answered(n: int, answer: str) -> dict[str, object]:
    case = {"id": f"c{n}", "question": f"Question number {n}?", "type": f"t{n % 7}"}
    return {
        "n": n,
        "id": f"c{n}",
        "case": case,
        "response": {"answer": answer, "route": f"r{n % 3}", "seconds": n / CASES},
    }


def _judged(n: int) -> dict[str, object]:
    value = n * 7919 % CASES / CASES
    return {"n": n, "id": f"c{n}", "scores": {"m": {"value": value}}, "verdict": {"status": "SCORED"}}


def middle(call: Callable[[], object], times: int = 5) -> float:
    taken: list[float] = []
    for _ in range(times):
        began = time.perf_counter()
        call()
        taken.append(time.perf_counter() - began)
    return statistics.median(taken)


def main() -> None:
    import uvicorn

    from answerkey.viewer.app import make_app
    from answerkey.viewer.guard import Rules

    with tempfile.TemporaryDirectory() as place:
        folder = Path(place) / "results" / "large"
        make_run(folder)
        began = time.perf_counter()
        write_reports(folder, charts=None if "--page" in sys.argv else False)
        print(f"reports of {CASES:,} cases: {time.perf_counter() - began:.2f} s")
        server = uvicorn.Server(uvicorn.Config(make_app(folder, Rules()), port=0, log_level="error"))
        threading.Thread(target=server.run, daemon=True).start()
        while not server.started:
            time.sleep(0.01)
        root = f"http://127.0.0.1:{server.servers[0].sockets[0].getsockname()[1]}/run/large"

        def get(address: str) -> bytes:
            with urllib.request.urlopen(f"{root}{address}") as reply:
                return reply.read()

        get("/case/0")  # templates are read once
        first = middle(lambda: get(""), 1)
        print(f"first page, first time: {first * 1000:.0f} ms, {len(get('')) / 1024:.0f} KB")
        for name, address in {
            "first page": "", "sorted by a metric": "?sort=m", "filtered": "?type=t3", "last page": "?page=100",
            "one case": "/case/5000", "the page as JSON": "?format=json",
        }.items():  # fmt: skip
            print(f"{name}: {middle(lambda address=address: get(address)) * 1000:.0f} ms")
        print(f"search in all answers, first time: {middle(lambda: get('?q=nine+days+of'), 1) * 1000:.0f} ms")
        naive = middle(lambda: json.dumps([o.response.answer for o in read_outcomes(folder)])[:1000], 1)
        print(
            f"every answer read for a page: {naive * 1000:.0f} ms, {naive / middle(lambda: get('')):.0f} times the first page"
        )
        server.should_exit = True


if __name__ == "__main__":
    main()
