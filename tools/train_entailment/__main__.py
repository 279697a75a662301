"""python -m tools.train_entailment train | average | decay | export | evaluate | ship; see README.md beside this file."""

from __future__ import annotations

import argparse
import json
import shutil
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def arguments() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m tools.train_entailment", description=__doc__)
    commands = parser.add_subparsers(dest="command", required=True)
    train = commands.add_parser(
        "train", help="the constant phase; continues from its newest checkpoint"
    )
    decay = commands.add_parser("decay", help="let the rate fall to 0, from the newest checkpoint")
    for command in (train, decay):
        command.add_argument(
            "--data", type=Path, required=True, help="the folder with the .jsonl.xz files"
        )
        command.add_argument(
            "--weights", type=Path, required=True, help="the folder with model.safetensors"
        )
        command.add_argument(
            "--work", type=Path, required=True, help="where checkpoints and logs go"
        )
    train.add_argument(
        "--minutes", type=float, help="stop after this time; default: when SIGTERM arrives"
    )
    train.add_argument(
        "--start",
        type=Path,
        help="an exported entailment.onnx to continue from, without a checkpoint",
    )
    for command in (train, decay):
        command.add_argument(
            "--seed", type=int, default=7, help="another seed draws the rows in another order"
        )
        command.add_argument(
            "--rate", type=float, default=1.5e-4, help="the learning rate; default 1.5e-4"
        )
        command.add_argument(
            "--teacher",
            type=Path,
            help="an exported entailment.onnx whose probabilities are learnt beside the labels",
        )
    decay.add_argument("--minutes", type=float, default=40)
    decay.add_argument("--name", default="decay", help="the branch's folder inside --work")
    average = commands.add_parser("average", help="the mean of phases that ran side by side")
    average.add_argument("works", type=Path, nargs="+", help="their --work folders")
    average.add_argument(
        "--name", default="stable", help="the phase: stable, or the name of a decay branch"
    )
    average.add_argument(
        "--out", type=Path, required=True, help="a new --work folder, to continue from"
    )
    export = commands.add_parser("export", help="a checkpoint as an int8 ONNX file")
    export.add_argument(
        "--data", type=Path, required=True, help="the folder with the .jsonl.xz files"
    )
    export.add_argument(
        "--weights", type=Path, required=True, help="the folder with model.safetensors"
    )
    export.add_argument("--work", type=Path, required=True)
    export.add_argument(
        "--name", default="decay", help="the phase: stable, or the name of a decay branch"
    )
    export.add_argument(
        "--use",
        choices=("average", "last"),
        help="which weights; default: the moving average of the stable phase, the last of a decay branch",
    )
    export.add_argument("--out", type=Path, required=True, help="the folder for the model's files")
    ship = commands.add_parser(
        "ship", help="copy an exported model into the package, with reference outputs for the tests"
    )
    ship.add_argument("--model", type=Path, required=True, help="the folder that export wrote")
    evaluate = commands.add_parser("evaluate", help="figures of an exported model")
    evaluate.add_argument(
        "--data", type=Path, required=True, help="the folder with the .jsonl.xz files"
    )
    evaluate.add_argument(
        "--sets", type=Path, required=True, help="the folder with the development sets"
    )
    evaluate.add_argument("--model", type=Path, required=True, help="the folder that export wrote")
    evaluate.add_argument("--most", type=int, default=400, help="held-out rows per source")
    evaluate.add_argument(
        "--rows", type=int, default=300, help="rows per development set; 0 leaves them out"
    )
    evaluate.add_argument("--markdown", action="store_true", help="tables; default: JSON")
    evaluate.add_argument(
        "--page",
        type=Path,
        help="a page whose table `entailment` is filled, such as docs/validity_tables.md",
    )
    return parser


def run_export(options: argparse.Namespace) -> None:
    from tools.train_entailment.export import write
    from tools.train_entailment.train import newest

    checkpoint = newest(options.work / options.name)
    if checkpoint is None:
        raise SystemExit(f"no checkpoint in {options.work / options.name}")
    use = options.use or ("average" if options.name == "stable" else "last")
    write(checkpoint, options.weights, options.data, options.out, averaged=use == "average")


def run_evaluate(options: argparse.Namespace) -> None:
    from tools.local_judge.report import filled
    from tools.train_entailment.evaluate import lines, markdown, report

    found = report(options.model, options.data, options.sets, options.most, options.rows)
    if options.page:
        options.page.write_text(
            filled(options.page.read_text(encoding="utf-8"), {"entailment": lines(found)}), "utf-8"
        )
    print(markdown(found) if options.markdown else json.dumps(found, indent=1))


def run_ship(options: argparse.Namespace) -> None:
    from tools.train_entailment.evaluate import FACTS

    from answerkey.entailment.packaged import CARD, GRAPH, PACKAGED, EntailmentModel

    PACKAGED.mkdir(exist_ok=True)
    for name in (GRAPH, CARD, "NOTICE.txt"):
        shutil.copyfile(options.model / name, PACKAGED / name)
    model = EntailmentModel(PACKAGED)
    facts = [json.loads(line) for line in FACTS.read_text(encoding="utf-8").splitlines()[:10]]
    pairs = [(row["premise"], row[which]) for row in facts for which in ("right", "wrong")]
    rows = [
        {"pair": pair, "logits": [round(float(number), 4) for number in row]}
        for pair, row in zip(pairs, model.logits(pairs), strict=True)
    ]
    text = json.dumps({"sha256": model.digest, "rows": rows}, indent=1, ensure_ascii=False)
    (ROOT / "tests/entailment/reference_outputs.json").write_text(text + "\n", encoding="utf-8")


def main() -> None:
    options = arguments().parse_args()
    if options.command == "ship":
        run_ship(options)
    elif options.command == "export":
        run_export(options)
    elif options.command == "evaluate":
        run_evaluate(options)
    else:
        run_training(options)


def run_training(options: argparse.Namespace) -> None:
    from tools.train_entailment import train

    if options.command == "average":
        train.average(options.works, options.name, options.out)
        return
    settings = train.Settings(seed=options.seed, rate=options.rate)
    if options.command == "train":
        train.stable(
            options.work,
            options.weights,
            options.data,
            settings,
            options.minutes,
            options.start,
            options.teacher,
        )
    else:
        train.decay(
            options.work,
            options.name,
            options.weights,
            options.data,
            settings,
            options.minutes,
            options.teacher,
        )


if __name__ == "__main__":
    main()
