"""May this change go in? No, where B is worse, and no, where that cannot be told."""

from __future__ import annotations

from answerkey.compare.comparison import Comparison
from answerkey.compare.verdict import NOT_COMPARABLE, WORSE, plain


def gate_failures(comparison: Comparison, margin: float | None = None) -> list[str]:
    """Why the gate fails; empty where it passes.

    Without a margin: B is worse by the test. With one, a loss of up to `margin` in the mean score is accepted,
    significant or not, and any larger loss fails. Cases that lost their verdict, runs that ended early and runs that
    cannot be compared fail: the gate is closed where nothing is known. Same answers under another ruler pass: the bot
    did not change.
    """
    tolerated = margin is not None and comparison.overall.n > 0
    unknown = comparison.verdict == NOT_COMPARABLE and not _only_the_ruler_changed(comparison)
    closed = unknown or (comparison.verdict == WORSE and not tolerated)
    reasons = [comparison.sentence] if closed else comparison.changed.unfinished
    if not closed and margin is not None and comparison.changed.bot and comparison.overall.gain < -margin:
        fall = -comparison.overall.gain
        reasons.append(f"the score fell by {plain(fall)}, more than the margin of {margin:g}")
    if comparison.lost:
        count = len(comparison.lost)
        some = ", ".join(comparison.lost[:3]) + (", …" if count > 3 else "")
        reasons.append(f"{count} case{'s' if count > 1 else ''} had a verdict in A and broke in B: {some}")
    return reasons


def _only_the_ruler_changed(comparison: Comparison) -> bool:
    changed, scored = comparison.changed, [comparison.overall, *comparison.metrics.values()]
    return changed.shared > 0 and not changed.bot and bool(changed.ruler) and any(d.n for d in scored)
