"""docs/validity.md: what the local judge can and cannot do, set by set, from the figures just measured."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

NEAR_CHANCE = 0.60


@dataclass(frozen=True, slots=True)
class Line:
    """One row of a table: a name, how many rows and groups, and figures by column, each with its interval or alone."""

    name: str
    count: int
    figures: Mapping[str, tuple[float, ...]]


def page(tables: Mapping[str, Sequence[Line]], facts: Mapping[str, str]) -> str:
    return TEMPLATE.format(**facts, **{name: _table(lines) for name, lines in tables.items()})


def _table(lines: Sequence[Line]) -> str:
    columns = list(lines[0].figures)
    rows = [
        "| set | rows | " + " | ".join(columns) + " |",
        "|---|---:|" + "---:|" * len(columns),
        *(
            f"| {line.name} | {line.count:,} | " + " | ".join(_cell(line.figures[c]) for c in columns) + " |"
            for line in lines
        ),
    ]
    return "\n".join(rows)


def _cell(figure: tuple[float, ...]) -> str:
    if not figure:
        return "–"
    value, *ends = figure
    return f"{value:.3f} [{ends[0]:.3f}, {ends[1]:.3f}]" if ends else f"{value:.3f}"


def near_chance(lines: Sequence[Line], column: str) -> str:
    names = [line.name for line in lines if line.figures[column] and line.figures[column][0] < NEAR_CHANCE]
    return ", ".join(names) or "none of them"


TEMPLATE = """# How far to believe the local judge

The local judge works without a language model. This page says how well it agrees with people, on public data that people
have labelled. Every figure is made by one command, from the development splits of those sets:

    python tools/train_local_judge.py --data DIR

Intervals are 95 %, over draws of whole groups (answers to one question or about one document stay together). `Length` is how
well the number of characters alone would do: a detector that is not better than that has learnt nothing.

## groundedness: is the answer supported by the passages?

AUROC of the probability that an answer is unsupported: 0.5 is chance, 1 is perfect. *Own fold* is grouped five-fold
cross-validation over all sets together. *Set left out* is the honest figure for your own data: the detector never saw the set.
*By words* leaves the embedding model out. *Cosine* is the usual offline metric, the least cosine of a sentence with the passages.

{answers}

Mean over the sets, each left out in turn: **{loso_mean}** (by words alone {loso_words_mean}; length alone {length_mean}).
HaluEval's wrong answers were written by a model and are far longer than the right ones: a sanity check, never fitted.

Sentence by sentence, where people marked the sentences (RAGTruth QA):

{sentences}

The probabilities are calibrated on the own folds, with one curve for all: answers as bots write them (RAGTruth, few of them
unsupported) count half, the four sets of claims (most of them unsupported) the other half. So they are too pessimistic for the
first and too optimistic for the second; believe the order more than the number, and let `answerkey calibrate` find the threshold
for your own data. Expected calibration error, own fold: {calibration}.

What it sees: words, pairs of words and meanings that no passage has; numbers, names and dates that no passage has; a negation
or a contrary that the nearest passage does not have. What it does not see: a fact that is wrong though all its words are
there. Near chance (under 0.60) when left out: {weak}. There a sentence is a fair summary but for one changed word. A reason
that says "weak evidence" marks answers that could go either way, other languages, and passages in another language than the
answer. In other languages than English it goes by words and numbers alone and leaves stop words, names and negation out; this
is tested not to fail, but not measured.

## answer_agreement: is the answer the same as the expected one?

Fitted on EVOUNA (Natural Questions, five answering systems) only. *New system*: the answering system and the question were both
unseen. The rule beside it counts an answer as right when it contains an expected answer word for word.

{correctness}

Yes and no, and figures with units, have rules of their own (rounding, thousands against millions, percent against shares),
since those data hardly ask for them. Long expected answers in prose are compared by their words, figures and names: a true
paraphrase with other words gets a low value.

## What was tried and left out

Seen while this was built; the script does not repeat it, so no figures are given.

- Features of length and of the size of the passages, and trees without fixed directions: better on their own folds, clearly
  worse on a set that was left out.
- The worst sentence's features, the largest or the mean sentence probability in place of "at least one sentence fails": a
  little worse, most of all on long answers.
- Token vectors of earlier layers of the embedding model for MaxSim: mostly below the last layer.
- Edited copies of supported answers (numbers, names, negations, contraries) in the one detector: better on small edits, worse
  on all else; so they have a small model of their own, added with a small weight.
- Cosines of answer and expected answer as features of `answer_agreement`: hardly a gain, for embedding every text.
- A cross-encoder from the embedding model's weights was not trained for this version.
"""
