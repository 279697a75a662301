"""Fit the local judge's numbers and write docs/validity.md, from the labelled sets alone.

    python tools/train_local_judge.py --data DIR

DIR holds one folder per set with `dev.jsonl` in it, and `nli/` (see tools/local_judge/data.py). The first run with a new
entailment model takes about 20 minutes, most of them for the model; what it says is kept in --keep, so that a second run
takes minutes. The seed makes it repeatable. `--only` fits one part and leaves the rest of the page as it is.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import sys
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))
os.environ.setdefault("OMP_NUM_THREADS", "1")  # the fits are small: more threads wait for each other

import numpy as np  # noqa: E402
from tools.local_judge import correctness_study, grounding_study  # noqa: E402
from tools.local_judge.data import (  # noqa: E402
    CORPORA,
    GROUNDING_SETS,
    MEASURED_SETS,
    SANITY_SET,
    corpus,
    grounding_rows,
    with_edits,
)
from tools.local_judge.grounding_study import COVERAGE, COVERAGE_BY_WORDS, Table, answer_scores, table  # noqa: E402
from tools.local_judge.measure import Array, accuracy, auroc, interval  # noqa: E402
from tools.local_judge.report import Line, near_chance, page, with_agreement  # noqa: E402
from tools.local_judge.written_study import written_lines  # noqa: E402

from answerkey.cache import DiskCache  # noqa: E402
from answerkey.metrics.boosted_trees import load_fitted, load_numbers  # noqa: E402
from answerkey.metrics.entailment.model import PACKAGED, EntailmentModel  # noqa: E402
from answerkey.metrics.grounding.groundedness import probability  # noqa: E402
from answerkey.metrics.sentences import pieces  # noqa: E402

METRICS = ROOT / "src" / "answerkey" / "metrics"
STEMS_LISTED = 3000
EDITS_A_SET = 400


def main() -> None:
    options = _options()
    agreement = fit_agreement(options)
    docs = ROOT / "docs" / "validity.md"
    docs.parent.mkdir(exist_ok=True)
    if options.only == "agreement":
        docs.write_text(with_agreement(docs.read_text(encoding="utf-8"), agreement), encoding="utf-8")
    else:
        grounding, facts = fit_grounding(options)
        docs.write_text(page({**grounding, **agreement}, facts), encoding="utf-8")
    _say("wrote docs/validity.md")


def fit_grounding(options: argparse.Namespace) -> tuple[dict[str, list[Line]], dict[str, str]]:
    seed = options.seed
    _say("how informative each word is")
    _write("grounding/rarity", {"stems": rarity(options.data)})
    options.keep.mkdir(parents=True, exist_ok=True)
    model = EntailmentModel(options.model, DiskCache(options.keep / "entailment.sqlite"))
    tables = {name: _table(name, model, options) for name in (*GROUNDING_SETS, *MEASURED_SETS, SANITY_SET)}
    fitted: dict[str, Any] = {}
    for name, uses in (("by_words", COVERAGE_BY_WORDS), ("by_model", COVERAGE)):
        _say(f"fitting {name}")
        found = (grounding_study.cross_validated(tables, uses, seed), grounding_study.left_out(tables, uses, seed))
        # With the model the detector takes the mean of both, as `answerkey.metrics.grounding.groundedness` does.
        by_words = fitted.get("by_words", found)
        fitted[name] = tuple(
            {key: (scores[key] + others[key]) / 2 for key in scores}
            for scores, others in zip(found, by_words, strict=True)
        )
        _write(f"grounding/{name}", grounding_study.written(tables, fitted[name][0], uses, seed))
    _say("measuring")
    grounded = grounding_lines(tables, fitted, seed)
    lines = {"answers": grounded, "sentences": sentence_lines(tables["ragtruth_qa"], fitted, seed)}
    return lines, grounding_facts(tables, fitted, grounded)


def fit_agreement(options: argparse.Namespace) -> dict[str, list[Line]]:
    _say("fitting agreement")
    file = METRICS / "agreement" / "fitted" / "agreement.json"
    before = json.loads(file.read_text(encoding="utf-8")) if file.exists() else {}
    _write(
        "agreement/agreement", before | {"rarity": correctness_study.rarity(options.data)}
    )  # the features ask for it
    answers = correctness_study.read_answers(options.data, options.seed)
    scores = correctness_study.cross_validated(answers, options.seed)
    _write("agreement/agreement", correctness_study.written(answers, scores, options.seed))
    _say("measuring agreement")
    return {"correctness": correctness_lines(answers, scores, options.seed), "written": written_lines(options.seed)}


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True, help="the folder of the labelled sets")
    parser.add_argument("--model", type=Path, default=PACKAGED, help="the folder of the entailment model")
    parser.add_argument(
        "--keep",
        type=Path,
        default=Path.home() / ".cache" / "answerkey" / "training",
        help="where its outputs are kept",
    )
    parser.add_argument("--only", choices=("agreement",), help="fit this part alone")
    parser.add_argument("--seed", type=int, default=7)
    return parser.parse_args()


def rarity(data: Path) -> dict[str, float]:
    """For the commonest stems of all passages: log(sentences / sentences with it), over that of a stem seen twice."""
    texts = {text for name in GROUNDING_SETS for row in grounding_rows(data, name) for text in row.contexts}
    texts |= {document for name in CORPORA for document in corpus(data, name)}
    seen: Counter[str] = Counter()
    count = 0
    for text in sorted(texts):
        for piece in pieces(text):
            count += 1
            seen.update(set(piece.stems))
    most = math.log(count / 2)
    common = sorted(seen.items(), key=lambda item: (-item[1], item[0]))[:STEMS_LISTED]
    return {stem: round(math.log(count / times) / most, 2) for stem, times in common}


def _table(name: str, model: EntailmentModel, options: argparse.Namespace) -> Table:
    _say(f"features of {name}")
    rows = grounding_rows(options.data, name)
    return table(with_edits(rows, EDITS_A_SET, options.seed) if name in GROUNDING_SETS else rows, model)


def grounding_lines(tables: Mapping[str, Table], fitted: Mapping[str, Any], seed: int) -> list[Line]:
    lines: list[Line] = []
    for name, data in tables.items():
        real = data.real
        labels, groups = data.answers[real], [row.group for row in data.rows if not row.edited]
        figures: dict[str, tuple[float, ...]] = {}
        for column, model, which in (
            ("own fold", "by_meaning", 0),
            ("set left out", "by_meaning", 1),
            ("left out, by words", "by_words", 1),
        ):
            scores = fitted[model][which].get(name)
            if scores is None:
                figures[column] = ()
                continue
            whole = answer_scores(scores, data)[real]
            figures[column] = (auroc(labels, whole), *interval(labels, whole, groups, auroc, seed))
        figures["cosine"] = (auroc(labels, -_least(data, "cosine_best")[real]),)
        figures["length"] = (
            auroc(labels, np.array([len(row.answer) for row in data.rows if not row.edited], dtype=float)),
        )
        figures["share unsupported"] = (float(labels.mean()),)
        lines.append(Line(name, int(real.sum()), figures))
    return lines


def _least(data: Table, feature: str) -> Array:
    least = np.ones(len(data.rows))
    np.minimum.at(least, data.owner, data.values[feature])
    return least


def sentence_lines(data: Table, fitted: Mapping[str, Any], seed: int) -> list[Line]:
    known = (data.labels >= 0) & ~data.edited
    labels = data.labels[known].astype(float)
    groups = [data.rows[n].group for n in data.owner[known]]
    lines: list[Line] = []
    for title, model in (("words and meaning", "by_meaning"), ("by words", "by_words")):
        figures = {
            column: (auroc(labels, scores[known]), *interval(labels, scores[known], groups, auroc, seed))
            for column, scores in zip(
                ("own fold", "set left out"), (which["ragtruth_qa"] for which in fitted[model]), strict=True
            )
        }
        figures["length"] = (auroc(labels, data.values["length"][known]),)
        lines.append(Line(title, int(known.sum()), figures))
    return lines


def grounding_facts(tables: Mapping[str, Table], fitted: Mapping[str, Any], lines: list[Line]) -> dict[str, str]:
    human = [line for line in lines if line.name != SANITY_SET]
    mean = lambda column: f"{np.mean([line.figures[column][0] for line in human]):.3f}"  # noqa: E731
    own = fitted["by_meaning"][0]
    curve = grounding_study.curves(tables, own)["answer"]
    errors = [
        _calibration_error(tables[name], probability(answer_scores(own[name], tables[name]), curve)) for name in own
    ]
    return {
        "loso_mean": mean("set left out"),
        "loso_words_mean": mean("left out, by words"),
        "length_mean": mean("length"),
        "calibration": ", ".join(f"{name} {error:.2f}" for name, error in zip(own, errors, strict=True)),
        "weak": near_chance(human, "set left out"),
    }


def _calibration_error(data: Table, given: Array) -> float:
    """Mean gap between probability and share of unsupported over ten equal bins, weighted by their rows."""
    real = data.real
    labels, bins = data.answers[real], np.minimum((given[real] * 10).astype(int), 9)
    return float(sum(abs((given[real] - labels)[bins == n].sum()) for n in range(10)) / len(labels))


def correctness_lines(answers: correctness_study.Answers, scores: Array, seed: int) -> list[Line]:
    others = correctness_study.other_models(answers, seed)
    models = np.array(answers.models)
    chosen = [("all", answers.real), *((name, answers.real & (models == name)) for name in others)]
    lines: list[Line] = []
    for name, mask in chosen:
        rules = answers.rules[mask]
        labels, given = answers.labels[mask], _chance(scores[mask] + rules)
        groups = [group for group, used in zip(answers.groups, mask, strict=True) if used]
        rule = np.maximum(answers.column("best_contains"), answers.column("squashed"))[mask]
        lines.append(
            Line(
                name,
                int(mask.sum()),
                {
                    "accuracy": (accuracy(labels, given), *interval(labels, given, groups, accuracy, seed)),
                    "AUROC": (auroc(labels, given), *interval(labels, given, groups, auroc, seed)),
                    "accuracy, new system": (accuracy(labels, _chance(others[name] + rules)),)
                    if name in others
                    else (),
                    "rule: contains": (accuracy(labels, rule),),
                    "always right": (float(labels.mean()),),
                    "AUROC, length": (auroc(labels, -answers.lengths[mask]),),
                },
            )
        )
    return lines


def _chance(log_odds: Array) -> Array:
    return 1 / (1 + np.exp(-log_odds))


def _write(name: str, numbers: dict[str, Any]) -> None:
    package, file = name.split("/")
    text = json.dumps(numbers, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    (METRICS / package / "fitted" / f"{file}.json").write_text(text + "\n", encoding="utf-8")
    load_numbers.cache_clear()
    load_fitted.cache_clear()


def _say(what: str) -> None:
    print(what, file=sys.stderr, flush=True)


if __name__ == "__main__":
    main()
