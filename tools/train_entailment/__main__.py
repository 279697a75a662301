"""python -m tools.train_entailment train | decay | export | evaluate; see README.md beside this file."""

from __future__ import annotations

import argparse
from pathlib import Path


def arguments() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m tools.train_entailment", description=__doc__)
    commands = parser.add_subparsers(dest="command", required=True)
    train = commands.add_parser("train", help="the constant phase; continues from its newest checkpoint")
    decay = commands.add_parser("decay", help="let the rate fall to 0, from the newest checkpoint")
    for command in (train, decay):
        command.add_argument("--data", type=Path, required=True, help="the folder with the .jsonl.xz files")
        command.add_argument("--weights", type=Path, required=True, help="the folder with model.safetensors")
        command.add_argument("--work", type=Path, required=True, help="where checkpoints and logs go")
    train.add_argument("--minutes", type=float, help="stop after this time; default: when SIGTERM arrives")
    decay.add_argument("--minutes", type=float, default=40)
    decay.add_argument("--name", default="decay", help="the branch's folder inside --work")
    return parser


def main() -> None:
    options = arguments().parse_args()
    from tools.train_entailment import train

    settings = train.Settings()
    if options.command == "train":
        train.stable(options.work, options.weights, options.data, settings, options.minutes)
    elif options.command == "decay":
        train.decay(options.work, options.name, options.weights, options.data, settings, options.minutes)


if __name__ == "__main__":
    main()
