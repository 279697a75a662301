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


def with_agreement(told: str, tables: Mapping[str, Sequence[Line]]) -> str:
    """The page with its section on `answer_agreement` made anew."""
    before, rest = told.split(AGREEMENT_TITLE, 1)
    _, title, after = rest.partition(LAST_TITLE)
    _, _, section = TEMPLATE.partition(AGREEMENT_TITLE)
    section = section.partition(LAST_TITLE)[0].format(**{name: _table(lines) for name, lines in tables.items()})
    return before + AGREEMENT_TITLE + section + title + after


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


AGREEMENT_TITLE = "## answer_agreement"
LAST_TITLE = "## What was tried"
TEMPLATE = """# How far to believe the local judge

The local judge works without a language model. This page says how well it agrees with people, on public data that people
have labelled. Every figure is made by one command, from the development splits of those sets:

    python tools/train_local_judge.py --data DIR

Intervals are 95 %, over draws of whole groups (answers to one question or about one document stay together). `Length` is how
well the number of characters alone would do: a detector that is not better than that has learnt nothing.

## groundedness: is the answer supported by the passages?

AUROC of the probability that an answer is unsupported: 0.5 is chance, 1 is perfect. *Own fold* is grouped five-fold
cross-validation over all sets together. *Set left out* is the honest figure for your own data: the detector never saw the set.
*By words* leaves the embedding model out; with it, the mean is taken of a detector that knows meanings and the one by words.
*Cosine* is the usual offline metric, the least cosine of a sentence with the passages.

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

Those data expect a few words. So that long expected answers hold too, rows are made from them to fit on (never to measure):
a right answer is taken as the expected one for the others. So are questions about companies' figures, from patterns. Figures
with units have rules (rounding, thousands against millions, percent against shares), and so have yes and no, a rise where a
fall is expected, the sign of a figure, several figures of which some are missing, and a near copy with another figure, since
those data hardly ask for them. A true paraphrase with other words gets a low value.

Answers written to test it, none of them fitted on, each labelled by who wrote it: long ones about companies' figures, and quiz
answers with lists of aliases. *trivia* has hard rows oftener than life: a wrong answer that names the right one in passing, a
right one by another name. *quiz* has them as they come; there a plain search does as well. The rule against another name beside
a matching one was set after reading its errors: 0.980 before.

{written}

## What was tried and left out

Seen while this was built; the script does not repeat it, so no figures are given (the last has a script of its own).

- Features of length and of the size of the passages, and trees without fixed directions: better on their own folds, clearly
  worse on a set that was left out.
- The worst sentence's features, the largest or the mean sentence probability in place of "at least one sentence fails": a
  little worse, most of all on long answers.
- Token vectors of earlier layers of the embedding model for MaxSim: mostly below the last layer.
- Edited copies of supported answers (numbers, names, negations, contraries) in the one detector: better on small edits, worse
  on all else; so they have a small model of their own, added with a small weight.
- Copies of right answers with a fact changed, to fit `answer_agreement`: they are found, but true near copies fall with them.
- Cosines of answer and expected answer as features of `answer_agreement`: hardly a gain, for embedding every text.
- A small cross-encoder from the embedding model's weights, three of its six layers trained, on a sentence beside up to three
  passage sentences: 8,000 synthetic pairs from SciFact and Cranfield, then 1,280 labelled and some 640 synthetic pairs of the
  sets that were not left out. It lifts the mean by 0.008; less than 0.03 does not pay for a second model, so it was left
  out. One run, one seed, 300 rows drawn from each set; AUROC, set left out:

  | | ragtruth_qa | begin | wice | summedits | factcheckgpt_stance | mean |
  |---|---:|---:|---:|---:|---:|---:|
  | the detector | 0.791 | 0.908 | 0.814 | 0.508 | 0.760 | 0.756 |
  | synthetic pairs only | 0.782 | 0.878 | 0.695 | 0.574 | 0.656 | 0.717 |
  | then labelled pairs | 0.777 | 0.800 | 0.688 | 0.590 | 0.695 | 0.710 |
  | synthetic only, added to the detector | 0.806 | 0.920 | 0.796 | 0.516 | 0.722 | 0.752 |
  | then labelled, added to the detector | 0.807 | 0.927 | 0.796 | 0.537 | 0.753 | 0.764 |

  Its log-odds are added with the weight that is best on the other sets (in the last line their cross-encoders had seen the set
  left out). The best single weight, chosen with all the sets in sight, gives 0.768; it was the largest one tried. More training,
  other seeds and its log-odds as a feature of the detector's trees were not tried.
  Made by `python tools/try_cross_encoder.py --data DIR --model DIR`: 33 minutes on one thread, with the features kept.
"""
