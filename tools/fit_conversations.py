"""Fit the weights of `contradicts_itself` and `resolved`. `python tools/fit_conversations.py [CHATS.jsonl]`

Reads the written conversations of tests/metrics/conversation. Prints what is found, and how many good conversations are
accused, where each set is left out of the fit in turn, and writes src/answerkey/metrics/conversation/fitted/*.json.
A file with long real chats (`messages`) gives the limit for long conversations: by the first half of the chats,
measured on the second.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize

from answerkey.embed import Embedder, load_embedder
from answerkey.metrics.conversation.contradictions import comparable_pairs
from answerkey.metrics.conversation.ending_features import ending_features
from answerkey.metrics.conversation.pair_features import contradiction_features
from answerkey.metrics.conversation.read_turns import is_english
from answerkey.metrics.conversation.resolution import without_end_mark
from answerkey.types import Turn

ROOT = Path(__file__).resolve().parents[1]
WRITTEN = ROOT / "tests" / "metrics" / "conversation"
OUT = ROOT / "src" / "answerkey" / "metrics" / "conversation" / "fitted"
FILES = (
    "conversations",
    "later_conversations",
    "more_conversations",
    "fitted_conversations",
)
ALARMS = 0.05  # share of the long chats, which nobody has labelled, that the limit for them leaves
STRENGTH = 0.02  # of the penalty for large weights, per conversation
# Share of the good written conversations that the chosen limit accuses.
ACCUSED = {"contradiction": 0.08, "ending": 0.06}
DIGITS = 4

Array = NDArray[np.float64]


@dataclass
class Group:
    """The rows of features of one conversation, of which at least one is positive where it `fails`."""

    name: str
    set_name: str
    fails: bool
    rows: list[dict[str, float]]


def written_rows() -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = []
    for name in FILES:
        lines = (WRITTEN / f"{name}.jsonl").read_text("utf-8").splitlines()
        rows += [{**json.loads(line), "file": name} for line in lines]
    return rows


def turns_of(messages: Sequence[dict[str, Any]]) -> list[Turn]:
    """The turns of a chat; several answers to one message are one."""
    turns: list[Turn] = []
    for message in messages:
        text = message.get("content") or ""
        if message["role"] == "user":
            turns.append(Turn(text, ""))
        elif message["role"] == "assistant" and turns:
            last = turns.pop()
            turns.append(Turn(last.user, f"{last.answer}\n{text}".strip()))
    return turns


def contradiction_rows(turns: Sequence[Turn], embed: Embedder) -> list[dict[str, float]]:
    rows: list[dict[str, float]] = []
    for place in range(1, len(turns)):
        pairs = comparable_pairs(turns, place, embed)
        if pairs:
            rows += contradiction_features(pairs, embed)
    return rows


def fit_groups(groups: Sequence[Group], names: Sequence[str]) -> tuple[Array, float]:
    """Weights and shift: a group fails where any row is positive ("noisy or")."""
    used = [group for group in groups if group.rows]
    rows = np.array([[row[name] for name in names] for group in used for row in group.rows])
    owner = np.repeat(np.arange(len(used)), [len(group.rows) for group in used])
    fails = np.array([group.fails for group in used], float)
    mean = rows.mean(0)
    scale = rows.std(0) + 1e-9
    inputs = np.column_stack([(rows - mean) / scale, np.ones(len(rows))])

    def loss(weights: Array) -> tuple[float, Array]:
        odds = inputs @ weights
        none_positive = np.bincount(owner, -np.logaddexp(0, odds))  # log-probability
        some_positive = np.clip(1 - np.exp(none_positive), 1e-9, 1)
        value = -(fails * np.log(some_positive) + (1 - fails) * none_positive).sum()
        slope = fails * np.exp(none_positive) / some_positive - (1 - fails)
        gradient = inputs.T @ (-slope[owner] / (1 + np.exp(-odds)))
        penalty = STRENGTH * len(used)
        gradient[:-1] += penalty * weights[:-1]
        return value + penalty / 2 * (weights[:-1] ** 2).sum(), gradient

    start = np.zeros(inputs.shape[1])
    best = minimize(loss, start, jac=True, method="L-BFGS-B").x
    weights = best[:-1] / scale
    return weights, float(best[-1] - (weights * mean).sum())


def odds_of(group: Group, names: Sequence[str], weights: Array, shift: float) -> float:
    """The highest log-odds of a row; without rows nothing can be found."""
    return max(
        (float(np.dot(weights, [row[name] for name in names])) + shift for row in group.rows),
        default=-20.0,
    )


def measure(groups: Sequence[Group], names: Sequence[str], accused_share: float) -> float:
    """Print the figures of sets that are left out of the fit; return the limit that they suggest."""
    odds: dict[str, float] = {}
    for set_name in sorted({group.set_name for group in groups}):
        weights, shift = fit_groups([g for g in groups if g.set_name != set_name], names)
        for group in groups:
            if group.set_name == set_name:
                odds[group.name] = odds_of(group, names, weights, shift)
    good = [odds[g.name] for g in groups if not g.fails]
    least = float(np.quantile(good, 1 - accused_share))
    for set_name in sorted({group.set_name for group in groups}):
        own = [group for group in groups if group.set_name == set_name]
        bad = [group for group in own if group.fails]
        found = sum(odds[group.name] >= least for group in bad)
        accused = [g.name for g in own if not g.fails and odds[g.name] >= least]
        missed = [group.name for group in bad if odds[group.name] < least]
        print(f"{set_name:8} found {found} of {len(bad)}, accused {len(accused)} of {len(own) - len(bad)}")  # fmt: skip
        print("   accused:", *accused[:12], "missed:", *missed)
    return 1 / (1 + float(np.exp(-least)))


def limit_for_chats(
    chats: Sequence[Group], names: Sequence[str], fit: tuple[Array, float]
) -> float:
    """The probability that few of the chats reach."""
    odds = [odds_of(chat, names, *fit) for chat in chats]
    half = len(odds) // 2
    least = float(np.quantile(odds[:half], 1 - ALARMS))
    alarms = sum(each >= least for each in odds[half:])
    print(f"long chats that the limit was not chosen with: {alarms} of {len(odds) - half} accused")
    return 1 / (1 + float(np.exp(-least)))


def write(name: str, groups: Sequence[Group], chats: Sequence[Group] = ()) -> None:
    names = list(next(group.rows[0] for group in groups if group.rows))
    print(name)
    least = measure(groups, names, ACCUSED[name])
    weights, shift = fit_groups(groups, names)
    fitted: dict[str, Any] = {
        "weights": {n: round(float(w), DIGITS) for n, w in zip(names, weights, strict=True)},
        "shift": round(shift, DIGITS),
        "least": round(least, DIGITS),
    }
    if chats:
        limit = limit_for_chats(chats, names, (weights, shift))
        fitted["least_in_long"] = round(limit, DIGITS)
    print(fitted)
    OUT.mkdir(exist_ok=True)
    (OUT / f"{name}.json").write_text(json.dumps(fitted, indent=1) + "\n", encoding="utf-8")


def main() -> None:
    embed = load_embedder()
    contradictions: list[Group] = []
    endings: list[Group] = []
    for row in written_rows():
        turns = [Turn(user, answer) for user, answer in row["turns"]]
        if not is_english(turns):
            continue
        set_name = row["id"].partition("-")[0]
        if row["file"] in ("conversations", "later_conversations"):
            set_name = "first"
        fails = row["fails"]
        pair_rows = contradiction_rows(turns, embed)
        contradictions.append(Group(row["id"], set_name, "contradicts_itself" in fails, pair_rows))
        endings.append(
            Group(
                row["id"],
                set_name,
                "resolved" in fails,
                [ending_features(without_end_mark(turns), embed)],
            )
        )
    chats: list[Group] = []
    for path in sys.argv[1:]:
        for number, line in enumerate(Path(path).read_text("utf-8").splitlines()):
            rows = contradiction_rows(turns_of(json.loads(line)["messages"]), embed)
            chats.append(Group(f"chat-{number}", "chats", False, rows))
    write("contradiction", contradictions, chats)
    write("ending", endings)


if __name__ == "__main__":
    main()
