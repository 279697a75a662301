"""Fit the local judge's numbers and write docs/validity_tables.md, from the labelled sets alone.

    python tools/train_local_judge.py --data DIR

DIR holds one folder per set with `dev.jsonl` in it, and `nli/` (see tools/local_judge/data.py). The first run with a new
entailment model takes about 20 minutes, most of them for the model; what it says is kept in --keep, so that a second run
takes minutes. The seed makes it repeatable. `--only` fits one part and leaves the rest of the page as it is.

After a new entailment model, `--model-only --share 0.25` is the short way: it fits only the parts that use the model, on a
quarter of the questions, prints the figures and leaves the page as it is.
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
os.environ.setdefault(
    "OMP_NUM_THREADS", "1"
)  # the fits are small: more threads wait for each other

import numpy as np  # noqa: E402
from tools.local_judge import correctness_study, grounding_study  # noqa: E402
from tools.local_judge.data import (  # noqa: E402
    CORPORA,
    FITTED_SETS,
    GROUNDING_SETS,
    MEASURED_SETS,
    SANITY_SET,
    corpus,
    grounding_rows,
    with_edits,
)
from tools.local_judge.grounding_study import Table, answer_scores, table  # noqa: E402
from tools.local_judge.measure import (  # noqa: E402
    Array,
    Measured,
    accuracy,
    auroc,
    calibration_error,
    gain,
    interval,
)
from tools.local_judge.report import Line, filled  # noqa: E402
from tools.local_judge.written_study import written_lines  # noqa: E402
from tools.train_entailment.sources import fraction  # noqa: E402

from answerkey.cache import DiskCache  # noqa: E402
from answerkey.entailment.packaged import PACKAGED, EntailmentModel  # noqa: E402
from answerkey.language.sentences import pieces  # noqa: E402
from answerkey.metrics.agreement.answer_agreement import rule_odds  # noqa: E402
from answerkey.metrics.boosted_trees import load_fitted, load_numbers  # noqa: E402
from answerkey.metrics.grounding.groundedness import MODEL_FEATURE, probability  # noqa: E402

METRICS = ROOT / "src" / "answerkey" / "metrics"
STEMS_LISTED = 3000
EDITS_A_SET = 400


def main() -> None:
    options = _options()
    tables: dict[str, list[Line]] = {}
    if options.only != "agreement":
        tables |= fit_grounding(options)
    if options.only != "groundedness":
        tables |= fit_agreement(options)
    if options.model_only:
        print(filled("".join(_place(name) for name in tables), tables))
        return
    docs = ROOT / "docs" / "validity_tables.md"
    docs.write_text(filled(docs.read_text(encoding="utf-8"), tables), encoding="utf-8")
    _say("wrote docs/validity_tables.md")


def _place(name: str) -> str:
    return f"<!-- table {name} -->\n<!-- end -->\n"


def fit_grounding(options: argparse.Namespace) -> dict[str, list[Line]]:
    seed = options.seed
    if not options.model_only:
        _say("how informative each word is")
        _write("grounding/rarity", {"stems": rarity(options.data)})
    options.keep.mkdir(parents=True, exist_ok=True)
    model = EntailmentModel(options.model, DiskCache(options.keep / "entailment.sqlite"))
    model.runner.threads = (
        1  # for a machine with other work; more threads would wait for each other
    )
    tables = {
        name: _table(name, model, options) for name in (*FITTED_SETS, *MEASURED_SETS, SANITY_SET)
    }
    fitted: dict[str, Any] = {}
    for name, by_model in (("by_words", False), ("by_model", True)):
        _say(f"fitting {name}")
        own = grounding_study.cross_validated(tables, by_model, seed)
        fitted[name] = (own, grounding_study.left_out(tables, by_model, seed))
        if by_model or not options.model_only:
            _write(f"grounding/{name}", grounding_study.written(tables, own, by_model, seed))
    _say("measuring")
    return {
        "groundedness": grounding_lines(tables, fitted, seed),
        "groundedness_sentences": sentence_lines(tables["ragtruth_qa"], fitted, seed),
        "groundedness_calibration": calibration_lines(tables, fitted),
    }


def fit_agreement(options: argparse.Namespace) -> dict[str, list[Line]]:
    _say("fitting agreement")
    file = METRICS / "agreement" / "fitted" / "agreement.json"
    before = json.loads(file.read_text(encoding="utf-8")) if file.exists() else {}
    if not options.model_only:
        # The features ask for it.
        _write("agreement/agreement", before | {"rarity": correctness_study.rarity(options.data)})
    answers = correctness_study.read_answers(options.data, options.share)
    scores = correctness_study.cross_validated(answers, options.seed)
    _say("asking the entailment model about the answers")
    second = correctness_study.second(answers, scores, options.seed)
    numbers = correctness_study.written(answers, scores, second, options.seed)
    if options.model_only:
        numbers = before | {"with_model": numbers["with_model"]}
    _write("agreement/agreement", numbers)
    _say("measuring agreement")
    return {
        "answer_agreement": correctness_lines(answers, scores, second, options.seed),
        "answer_agreement_written": written_lines(options.seed),
    }


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--data", type=Path, required=True, help="the folder of the labelled sets")
    parser.add_argument(
        "--model", type=Path, default=PACKAGED, help="the folder of the entailment model"
    )
    parser.add_argument(
        "--keep",
        type=Path,
        default=Path.home() / ".cache" / "answerkey" / "training",
        help="where its outputs are kept",
    )
    parser.add_argument("--only", choices=("groundedness", "agreement"), help="fit this part alone")
    parser.add_argument(
        "--model-only", action="store_true", help="fit only the parts that use the entailment model"
    )
    parser.add_argument(
        "--share", type=float, default=1.0, help="the share of the questions to fit on, by hash"
    )
    parser.add_argument("--seed", type=int, default=7)
    return parser.parse_args()


def rarity(data: Path) -> dict[str, float]:
    """For the commonest stems of all passages: log(sentences / sentences with it), over that of a stem seen twice."""
    texts = {
        text
        for name in GROUNDING_SETS
        for row in grounding_rows(data, name)
        for text in row.contexts
    }
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
    rows = [
        row
        for row in grounding_rows(options.data, name)
        if fraction(f"share {row.group}") < options.share
    ]
    return table(
        with_edits(rows, EDITS_A_SET, options.seed) if name in FITTED_SETS else rows, model
    )


def grounding_lines(
    tables: Mapping[str, Table], fitted: Mapping[str, Any], seed: int
) -> list[Line]:
    """Each set, the mean over those that are fitted on, and the gain by the model."""
    lines: list[Line] = []
    compared: list[Measured] = []
    for name, data in tables.items():
        real, groups = data.real, [row.group for row in data.rows if not row.edited]
        labels = data.answers[real]
        figures: dict[str, tuple[float, ...]] = {}
        for column, model, which in (
            ("set left out", "by_model", 1),
            ("left out, by words", "by_words", 1),
            ("own fold", "by_model", 0),
        ):
            scores = fitted[model][which].get(name)
            whole = None if scores is None else answer_scores(scores, data)[real]
            figures[column] = (
                ()
                if whole is None
                else (auroc(labels, whole), *interval(labels, whole, groups, auroc, seed))
            )
        figures["model alone"] = (auroc(labels, -_least(data, MODEL_FEATURE)[real]),)
        figures["words found"] = (auroc(labels, -_least(data, "recall_all")[real]),)
        lengths = np.array([len(row.answer) for row in data.rows if not row.edited], dtype=float)
        figures["length"] = (auroc(labels, lengths),)
        figures["share unsupported"] = (float(labels.mean()),)
        lines.append(Line(name, int(real.sum()), figures))
        if name in GROUNDING_SETS:
            pair = (
                answer_scores(fitted[model][1][name], data)[real]
                for model in ("by_model", "by_words")
            )
            compared.append((labels, *pair, groups))
    fitted_on = [line for line in lines if line.name in GROUNDING_SETS]
    mean = {
        column: (float(np.mean([line.figures[column][0] for line in fitted_on])),)
        for column in lines[0].figures
    }
    lines.insert(
        len(fitted_on), Line("**mean of the five**", sum(line.count for line in fitted_on), mean)
    )
    difference: dict[str, tuple[float, ...]] = {
        **dict.fromkeys(mean, ()),
        "set left out": gain(compared, seed),
    }
    lines.insert(
        len(fitted_on) + 1,
        Line("gain over words alone", sum(line.count for line in fitted_on), difference),
    )
    return lines


def _least(data: Table, feature: str) -> Array:
    least = np.full(len(data.rows), 99.0)
    np.minimum.at(least, data.owner, data.values[feature])
    return least


def sentence_lines(data: Table, fitted: Mapping[str, Any], seed: int) -> list[Line]:
    known = (data.labels >= 0) & ~data.edited
    labels = data.labels[known].astype(float)
    groups = [data.rows[n].group for n in data.owner[known]]
    lines: list[Line] = []
    for title, model in (("groundedness", "by_model"), ("groundedness:words", "by_words")):
        figures = {
            column: (
                auroc(labels, scores[known]),
                *interval(labels, scores[known], groups, auroc, seed),
            )
            for column, scores in zip(
                ("own fold", "set left out"),
                (which["ragtruth_qa"] for which in fitted[model]),
                strict=True,
            )
        }
        figures["length"] = (auroc(labels, data.values["length"][known]),)
        lines.append(Line(title, int(known.sum()), figures))
    return lines


def calibration_lines(tables: Mapping[str, Table], fitted: Mapping[str, Any]) -> list[Line]:
    """The expected calibration error of each set, by the curve fitted on all and on the others."""
    lines: list[Line] = []
    for name in GROUNDING_SETS:
        data, figures = tables[name], dict[str, tuple[float, ...]]()
        for model in ("by_model", "by_words"):
            own, left_out = fitted[model]
            others = {other: scores for other, scores in own.items() if other != name}
            for column, scores, fit_on in (("own fold", own, own), ("left out", left_out, others)):
                curve = grounding_study.curves(tables, fit_on)["answer"]
                given = probability(answer_scores(scores[name], data)[data.real], curve)
                title = column if model == "by_model" else f"{column}, by words"
                figures[title] = (calibration_error(data.answers[data.real], given),)
        lines.append(Line(name, int(data.real.sum()), figures))
    return lines


def correctness_lines(
    answers: correctness_study.Answers, by_words: Array, second: correctness_study.Second, seed: int
) -> list[Line]:
    """EVOUNA, whole and by answering system, and the written answers that the entailment model has not seen."""
    scores = by_words.copy()
    scores[second.places] = second.scores
    models = np.array(answers.models)
    systems = sorted(set(models[answers.real]))
    chosen = [("all", answers.real), *((name, answers.real & (models == name)) for name in systems)]
    lines: list[Line] = []
    for name, mask in [*chosen, ("answers written for it", answers.held & (models == "written"))]:
        rules = np.array(
            [rule_odds(f) for f, used in zip(answers.found, mask, strict=True) if used]
        )
        labels, given, words = (
            answers.labels[mask],
            _chance(scores[mask] + rules),
            _chance(by_words[mask] + rules),
        )
        groups = [group for group, used in zip(answers.groups, mask, strict=True) if used]
        rule = np.maximum(answers.column("best_contains"), answers.column("squashed"))[mask]
        figures = {
            "accuracy": (accuracy(labels, given), *interval(labels, given, groups, accuracy, seed)),
            "AUROC": (auroc(labels, given), *interval(labels, given, groups, auroc, seed)),
            "AUROC, by words": (auroc(labels, words),),
            "rule: contains": (accuracy(labels, rule),),
            "always right": (float(labels.mean()),),
            "AUROC, length": (auroc(labels, -answers.lengths[mask]),),
        }
        lines.append(Line(name, int(mask.sum()), figures))
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
