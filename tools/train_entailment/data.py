"""The rows: read, divided into trained and held out, and drawn chunk by chunk.

What chunk number n holds depends on n, the seed and the mix alone. So the position in the data is two numbers, and
training that continues sees exactly the rows it would have seen.
"""

from __future__ import annotations

import json
import lzma
import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from tools.train_entailment import changes, templates
from tools.train_entailment.sources import (
    ANSWERS,
    BY_NAME,
    CLAIMS,
    GENERAL,
    HALVED,
    QUESTIONS,
    SOURCES,
    WRITTEN,
    Row,
    group_of,
    is_held_out,
    same_claim,
    same_premise,
)
from tools.train_entailment.windows import fit, padded
from tools.train_entailment.written import written_rows

CHUNK = 4096
SHORT_WORDS, LONG_WORDS = 105, 185
# The share of rows that may be long; together about a sixth of the tokens.
LONG = {GENERAL: 0.0, CLAIMS: 0.12, ANSWERS: 0.45, QUESTIONS: 0.3}
PADDED = 1 / 3
CLASSES = {"entail": 0, "neutral": 1, "contradict": 2, "not_entail": 3}
# Pairs whose hypothesis is a plain statement, so that changing a fact leaves a sentence.
_STATEMENTS = (
    "fever_train fever_dev_rte fever_nli_bin feverous_s_dev fm2 lingnli mnli_ni rte paws_ni scitail factcg_cg2c_doc "
    "climate_fever covidfact lfqa_verification"
)
CHANGED = _STATEMENTS.split()
# Premises of several sentences.
_SEVERAL_SENTENCES = (
    "fever_train boolq_qa factcg_cg2c_doc lfqa_verification multirc_qa feverous_s_dev citint rte "
    "written_passages"
)
COPIED = _SEVERAL_SENTENCES.split()


@dataclass(frozen=True)
class Mix:
    """Shares of made rows, and which of a source's two weights counts."""

    late: bool = False
    changed: float = 0.055
    copied: float = 0.035
    templates: float = 0.06

    def weight(self, name: str) -> float:
        return BY_NAME[name].late if self.late else BY_NAME[name].weight


STABLE, LATE = Mix(), Mix(late=True, changed=0.075, copied=0.06, templates=0.06)


@dataclass(frozen=True)
class Example:
    """One pair as the model sees it; `label` is an index into `CLASSES`' values."""

    premise: str
    hypothesis: str
    label: int
    long: bool
    source: str


@dataclass
class Split:
    """Rows of each source, to train on and held out."""

    train: dict[str, list[Row]] = field(default_factory=dict)
    held: dict[str, list[Row]] = field(default_factory=dict)


def read(folder: Path) -> dict[str, list[Row]]:
    """The rows of every source in the table."""
    rows = {}
    for source in SOURCES:
        if source.kind == WRITTEN:
            rows[source.name] = written_rows(source.name)
            continue
        with lzma.open(folder / f"{source.name}.jsonl.xz", "rt", encoding="utf-8") as file:
            rows[source.name] = [json.loads(line) for line in file]
    return rows


def split(rows: dict[str, list[Row]]) -> Split:
    """Held-out groups apart; rows that share a premise or a FEVER claim with one of them are dropped from training."""
    out = Split()
    for name, part in rows.items():
        out.held[name] = [row for row in part if is_held_out(row, name)]
    premises = {same_premise(row) for part in out.held.values() for row in part}
    claims = {
        same_claim(row) for name in out.held if name.startswith("fever") for row in out.held[name]
    }
    for name, part in rows.items():
        fever = name.startswith("fever")
        out.train[name] = [
            row
            for row in part
            if not is_held_out(row, name)
            and same_premise(row) not in premises
            and not (fever and same_claim(row) in claims)
        ]
    return out


def held_groups(held: dict[str, list[Row]]) -> dict[str, list[str]]:
    """The groups of the sets that are left out by half, for whoever measures on them."""
    return {name: sorted({group_of(row, name) for row in held[name]}) for name in HALVED}


class Pool:
    """Rows of one source and class, read in a new order each time round."""

    def __init__(self, name: str, rows: Sequence[Row], seed: int) -> None:
        self.name, self.rows, self.seed = name, rows, seed
        self._round, self._order = -1, list(range(len(rows)))

    def at(self, number: int) -> Row:
        """The row drawn as the given number; the same whenever it is asked for."""
        time_round, place = divmod(number, len(self.rows))
        if time_round != self._round:
            self._order = list(range(len(self.rows)))
            random.Random(f"{self.seed}:{self.name}:{time_round}").shuffle(self._order)
            self._round = time_round
        return self.rows[self._order[place]]


def pools(train: dict[str, list[Row]], mix: Mix, seed: int) -> list[tuple[Pool, float]]:
    """Each pool with its share of all drawn rows; the shares and those of the made rows sum to 1."""
    found: list[tuple[Pool, float]] = []
    for source in SOURCES:
        rows = train.get(source.name, [])
        parts = {"all": (rows, 1.0)}
        if source.supported is not None:
            parts = {
                "supported": ([row for row in rows if row["label"] == "entail"], source.supported),
                "not": ([row for row in rows if row["label"] != "entail"], 1 - source.supported),
            }
        for part, (members, share) in parts.items():
            if members:
                pool = Pool(f"{source.name}:{part}", members, seed)
                found.append((pool, share * mix.weight(source.name)))
    total = sum(weight for _, weight in found) / (1 - mix.changed - mix.copied - mix.templates)
    return [(pool, weight / total) for pool, weight in found]


class Stream:
    """Chunks of examples, each made from its number."""

    def __init__(self, train: dict[str, list[Row]], mix: Mix, seed: int, size: int = CHUNK) -> None:
        self.mix, self.seed, self.size = mix, seed, size
        self.pools = pools(train, mix, seed)
        supported = [
            row
            for name in CHANGED
            for row in train.get(name, [])[:20000]
            if row["label"] == "entail"
        ]
        several = [row for name in COPIED for row in train.get(name, [])[:8000]]
        self.changed, self.copied = Pool("changed", supported, seed), Pool("copied", several, seed)
        self.train = train
        sample = random.Random(seed).sample(supported, min(3000, len(supported)))
        self.names = sorted({name for row in sample for name in changes.names(row["hypothesis"])})

    def chunk(self, number: int) -> list[Example]:
        """The examples of one chunk, in no particular order."""
        rng = random.Random(f"{self.seed}:chunk:{number}")
        made = [self._example(row, rng) for row in self._drawn(number)]
        made += self._changed(number, rng)
        made += self._copied(number, rng)
        made += self._from_templates(number, rng)
        return made

    def _numbers(self, number: int, share: float) -> range:
        return range(int(number * share * self.size), int((number + 1) * share * self.size))

    def _drawn(self, number: int) -> Iterator[Row]:
        for pool, share in self.pools:
            for place in self._numbers(number, share):
                yield {**pool.at(place), "source": pool.name.partition(":")[0]}

    def _example(self, row: Row, rng: random.Random) -> Example:
        kind = BY_NAME[row["source"]].kind
        size = len(row["premise"].split()) + len(row["hypothesis"].split())
        long = size > SHORT_WORDS if kind == WRITTEN else rng.random() < LONG[kind]
        words = LONG_WORDS if long else SHORT_WORDS
        premise = fit(row["premise"], row["hypothesis"], words)
        if kind == CLAIMS and rng.random() < PADDED:
            room = rng.randint(words // 2, words) - len(row["hypothesis"].split())
            others = [other["premise"] for other in rng.sample(self.train[row["source"]], 4)]
            premise = padded(premise, others, room, rng)
        return Example(premise, row["hypothesis"], CLASSES[row["label"]], long, row["source"])

    def _changed(self, number: int, rng: random.Random) -> Iterator[Example]:
        """Supported pairs with one fact changed; a pair that offers nothing to change is passed over."""
        for place in self._numbers(number, self.mix.changed):
            row = self.changed.at(place)
            premise = fit(row["premise"], row["hypothesis"], SHORT_WORDS)
            made = changes.hard_negative(
                premise, row["hypothesis"], rng, rng.choices(self.names, k=20)
            )
            if made:
                yield Example(made[0], made[1], CLASSES[made[2]], False, "changed")

    def _copied(self, number: int, rng: random.Random) -> Iterator[Example]:
        """A sentence of the premise as it is, or with one fact changed."""
        for place in self._numbers(number, self.mix.copied):
            premise = self.copied.at(place)["premise"]
            hypothesis = changes.copied(premise, rng)
            if hypothesis is None:
                continue
            long = rng.random() < 0.25
            premise, label = fit(premise, hypothesis, LONG_WORDS if long else SHORT_WORDS), "entail"
            if rng.random() < 0.5:
                made = changes.hard_negative(
                    premise, hypothesis, rng, rng.choices(self.names, k=20)
                )
                if not made:
                    continue
                premise, hypothesis, label = made
            yield Example(premise, hypothesis, CLASSES[label], long, "copied")

    def _from_templates(self, number: int, rng: random.Random) -> Iterator[Example]:
        for _ in self._numbers(number, self.mix.templates):
            premise, hypothesis, label = templates.pair(rng)
            yield Example(premise, hypothesis, CLASSES[label], False, "templates")


def held_sample(held: dict[str, list[Row]], count: int, seed: int) -> list[Example]:
    """A fixed sample of held-out rows: 40 % general, 40 % claims, 10 % of each other kind, and 40 % more of those written."""
    shares = {GENERAL: 0.4, CLAIMS: 0.4, ANSWERS: 0.1, QUESTIONS: 0.1, WRITTEN: 0.4}
    chosen: list[Example] = []
    for kind, share in shares.items():
        rows = [(row, s.name) for s in SOURCES if s.kind == kind for row in held[s.name]]
        for row, name in random.Random(f"{seed}:{kind}").sample(
            rows, min(len(rows), int(share * count))
        ):
            premise = fit(row["premise"], row["hypothesis"], SHORT_WORDS)
            chosen.append(Example(premise, row["hypothesis"], CLASSES[row["label"]], False, name))
    return chosen


def batches(lengths: Sequence[int], budget: int, rng: random.Random) -> list[list[int]]:
    """Places sorted by length and cut so that a padded batch has at most `budget` tokens; in random order."""
    ready: list[list[int]] = []
    batch: list[int] = []
    for place in sorted(range(len(lengths)), key=lambda place: lengths[place]):
        if batch and (len(batch) + 1) * lengths[place] > budget:
            ready.append(batch)
            batch = []
        batch.append(place)
    if batch:
        ready.append(batch)
    rng.shuffle(ready)
    return ready
