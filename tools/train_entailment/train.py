"""Training that can stop at any time: warm-up, a constant rate, and a decay branch that leaves the constant phase be.

The constant phase writes a checkpoint every ten minutes and continues from the newest. `decay` starts from the newest
of those (or from its own, where it was interrupted) and lets the rate fall to 0 over the given minutes.
"""

from __future__ import annotations

import json
import os
import random
import signal
import time
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import onnxruntime
import torch
from tokenizers import Tokenizer
from tools.train_entailment.data import (
    LATE,
    STABLE,
    Example,
    Split,
    Stream,
    batches,
    held_groups,
    held_sample,
    read,
    split,
)
from tools.train_entailment.model import (
    CrossEncoder,
    batch_tensors,
    from_export,
    from_weights,
    loss_of,
)
from tools.train_entailment.sources import BY_NAME
from torch import Tensor

SHORT_TOKENS = 144
LONG_TOKENS = 256
KEPT = 2
Encoded = list[tuple[list[int], list[int]]]


@dataclass(frozen=True)
class Settings:
    seed: int = 7
    rate: float = 1.5e-4
    warmup_pairs: int = 6000
    budget: int = 2048
    smoothing: float = 0.03
    weight_decay: float = 0.01
    ema: float = 0.999
    every_seconds: float = 600
    held_rows: int = 1500
    bfloat16: bool = True
    # The share of the loss that follows the teacher's probabilities, where there is a teacher.
    teacher_share: float = 0.4


class Encoder:
    """Pairs to token ids, cut at 144 tokens or, for the long ones, at 256."""

    def __init__(self, weights: Path) -> None:
        self.tokenizer = Tokenizer.from_file(str(weights / "tokenizer.json"))
        self.tokenizer.no_padding()

    def encode(self, examples: Sequence[Example]) -> Encoded:
        encoded: Encoded = [([], [])] * len(examples)
        for long, tokens in ((False, SHORT_TOKENS), (True, LONG_TOKENS)):
            # The longer text is cut: nearly always the premise, which `fit` has already cut to sentences.
            self.tokenizer.enable_truncation(tokens, strategy="longest_first")
            places = [place for place, example in enumerate(examples) if example.long == long]
            pairs = [(examples[place].premise, examples[place].hypothesis) for place in places]
            for place, found in zip(places, self.tokenizer.encode_batch(pairs), strict=True):
                encoded[place] = (found.ids, found.type_ids)
        return encoded


class Teacher:
    """An exported entailment model with the same vocabulary; its probabilities are soft labels."""

    def __init__(self, path: Path) -> None:
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = 1  # as the training itself: the machine has other work
        self.session = onnxruntime.InferenceSession(path, options)

    def probabilities(self, ids: Tensor, mask: Tensor, types: Tensor) -> Tensor:
        names = ("input_ids", "attention_mask", "token_type_ids")
        inputs = {
            name: tensor.to(torch.int32).numpy()
            for name, tensor in zip(names, (ids, mask, types), strict=True)
        }
        (logits,) = self.session.run(["logits"], inputs)
        return torch.softmax(torch.from_numpy(logits), -1)


class Trainer:
    """One phase of training; `folder` has its checkpoints."""

    def __init__(
        self,
        work: Path,
        folder: str,
        weights: Path,
        data: Path,
        settings: Settings,
        teacher: Path | None = None,
    ) -> None:
        torch.set_num_threads(1)
        torch.set_flush_denormal(True)
        self.work, self.folder, self.settings = work, work / folder, settings
        self.folder.mkdir(parents=True, exist_ok=True)
        self.encoder = Encoder(weights)
        self.teacher = Teacher(teacher) if teacher else None
        self.model = from_weights(weights, settings.seed)
        rows = split(read(data))
        self.split = rows
        _write_split(work, rows)
        self.checked = held_sample(rows.held, settings.held_rows, settings.seed)
        self.checked_encoded = self.encoder.encode(self.checked)
        self.parameters = [p for p in self.model.parameters() if p.requires_grad]
        plain = [p for p in self.parameters if p.ndim <= 1]
        wide = [p for p in self.parameters if p.ndim > 1]
        groups = [
            {"params": wide, "weight_decay": settings.weight_decay},
            {"params": plain, "weight_decay": 0.0},
        ]
        self.optimizer = torch.optim.AdamW(groups, lr=settings.rate, betas=(0.9, 0.98), fused=True)
        self.ema = [p.detach().clone() for p in self.parameters]
        self.at: dict[str, Any] = {
            "chunk": 0,
            "batch": 0,
            "step": 0,
            "pairs": 0,
            "tokens": 0,
            "seconds": 0.0,
        }
        self.at["spent"] = 0.0  # seconds of this phase alone
        self.losses: list[float] = []
        self.stopping = self.late = False
        signal.signal(signal.SIGTERM, lambda *_: setattr(self, "stopping", True))

    def run(self, late: bool, minutes: float | None) -> None:
        """Train until the minutes are over, or until SIGTERM; the rate falls to 0 if `late`."""
        self.late = late
        mix = LATE if late else STABLE
        stream = Stream(self.split.train, mix, self.settings.seed)
        logged, pairs = time.time(), self.at["pairs"]
        began = time.time()
        for batch in self._batches(stream):
            part = self.at["spent"] / (60 * minutes) if minutes else 0.0
            if part >= 1 or self.stopping:
                break
            self._step(batch, self._rate(1 - part if late else 1.0))
            now = time.time()
            if self.at["step"] % 100 == 0:
                recent = self.losses[-100:]
                print(
                    f"step {self.at['step']}, pairs {self.at['pairs']}, loss {sum(recent) / len(recent):.4f}",
                    flush=True,
                )
            seconds = min(now - began, 10.0)  # a stopped process (SIGSTOP) spends no time
            self.at["spent"] += seconds
            self.at["seconds"] += seconds
            began = now
            if now - logged > self.settings.every_seconds or self.at["step"] in (25, 100, 250):
                self._log(self.at["pairs"] - pairs, now - logged)
                if now - logged > self.settings.every_seconds:
                    self.save()
                logged, pairs = time.time(), self.at["pairs"]
                began = logged
        self._log(self.at["pairs"] - pairs, time.time() - logged)
        self.save()

    def _batches(self, stream: Stream) -> Iterator[list[tuple[list[int], list[int], int]]]:
        """From the saved position on; `_step` moves it, so that a batch counts once it was trained on."""
        while True:
            chunk = stream.chunk(self.at["chunk"])
            encoded = self.encoder.encode(chunk)
            rng = random.Random(f"{self.settings.seed}:batches:{self.at['chunk']}")
            ready = batches([len(ids) for ids, _ in encoded], self.settings.budget, rng)
            for batch in ready[self.at["batch"] :]:
                yield [(*encoded[place], chunk[place].label) for place in batch]
            self.at["chunk"] += 1
            self.at["batch"] = 0

    def _rate(self, factor: float) -> float:
        return (
            self.settings.rate
            * factor
            * min(1.0, (self.at["pairs"] + 1) / self.settings.warmup_pairs)
        )

    def _step(self, batch: list[tuple[list[int], list[int], int]], rate: float) -> None:
        inputs = batch_tensors([(ids, types) for ids, types, _ in batch])
        wanted = torch.tensor([label for *_, label in batch])
        for group in self.optimizer.param_groups:
            group["lr"] = rate
        with torch.autocast("cpu", torch.bfloat16, enabled=self.settings.bfloat16):
            logits = self.model(*inputs)
        loss = loss_of(logits, wanted, self.settings.smoothing)
        if self.teacher:
            share = self.settings.teacher_share
            soft = self.teacher.probabilities(*inputs)
            agreement = -(soft * torch.log_softmax(logits, -1)).sum(-1).mean()
            loss = (1 - share) * loss + share * agreement
        self.optimizer.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(self.parameters, 1.0)
        self.optimizer.step()
        self.at["batch"] += 1
        step = self.at["step"] = self.at["step"] + 1
        keep = min(self.settings.ema, (1 + step) / (10 + step))
        torch._foreach_lerp_(self.ema, [p.detach() for p in self.parameters], 1 - keep)
        self.at["pairs"] += len(batch)
        self.at["tokens"] += int(inputs[1].sum())
        self.losses.append(float(loss.detach()))

    def averaged(self) -> CrossEncoder:
        """A copy of the model with the averaged weights."""
        copy = CrossEncoder(len(self.model.layers))
        copy.load_state_dict(self.model.state_dict())
        trained = [p for p in copy.parameters() if p.requires_grad]
        with torch.no_grad():
            for target, value in zip(trained, self.ema, strict=True):
                target.copy_(value)
        return copy

    def _log(self, pairs: int, seconds: float) -> None:
        # At a constant rate the average is ahead of the last weights; when the rate has fallen it lags behind.
        model = self.model if self.late else self.averaged()
        losses, self.losses = self.losses or [float("nan")], []
        line = {
            **{name: round(value, 1) for name, value in self.at.items()},
            "loss": round(sum(losses) / len(losses), 4),
            "rate": f"{self.optimizer.param_groups[0]['lr']:.2e}",
            "pairs_per_second": round(pairs / max(seconds, 1e-9), 1),
            "held_out": accuracy(model, self.checked, self.checked_encoded, self.settings.bfloat16),
        }
        with (self.folder / "log.jsonl").open("a", encoding="utf-8") as file:
            file.write(json.dumps(line) + "\n")
        print(json.dumps(line), flush=True)

    def save(self) -> None:
        """Write a checkpoint aside, rename it, and keep the last two."""
        path = self.folder / f"step-{self.at['step']:08d}.pt"
        state = {
            "model": self.model.trained(),
            "ema": self.averaged().trained(),
            "optimizer": self.optimizer.state_dict(),
            "at": self.at,
            "settings": asdict(self.settings),
        }
        aside = path.with_suffix(".part")
        torch.save(state, aside)
        os.replace(aside, path)
        for old in sorted(self.folder.glob("step-*.pt"))[:-KEPT]:
            old.unlink()

    def begin_with(self, model: CrossEncoder) -> None:
        """Start from the weights of another model, with a new optimizer."""
        self.model.load_state_dict(model.state_dict())
        self.ema = [p.detach().clone() for p in self.parameters]

    def load(self, path: Path) -> None:
        state = torch.load(path, weights_only=True)
        self.model.load_state_dict(state["model"], strict=False)
        self.optimizer.load_state_dict(state["optimizer"])
        named = [name for name, p in self.model.named_parameters() if p.requires_grad]
        self.ema = [state["ema"][name].clone() for name in named]
        self.at = state["at"]


def newest(folder: Path) -> Path | None:
    """The newest whole checkpoint of a phase."""
    found = sorted(folder.glob("step-*.pt"))
    return found[-1] if found else None


def stable(
    work: Path,
    weights: Path,
    data: Path,
    settings: Settings,
    minutes: float | None,
    start: Path | None = None,
    teacher: Path | None = None,
) -> None:
    """The constant phase: from its newest checkpoint, else from the exported model `start`, else from the weights."""
    trainer = Trainer(work, "stable", weights, data, settings, teacher)
    path = newest(trainer.folder)
    if path:
        trainer.load(path)
        trainer.at["spent"] = 0.0
    elif start:
        trainer.begin_with(from_export(start, weights))
    trainer.run(late=False, minutes=minutes)


def decay(
    work: Path,
    name: str,
    weights: Path,
    data: Path,
    settings: Settings,
    minutes: float,
    teacher: Path | None = None,
) -> None:
    """The decay branch `name`, from its own newest checkpoint or else from the newest of the constant phase."""
    trainer = Trainer(work, name, weights, data, settings, teacher)
    own, start = newest(trainer.folder), newest(work / "stable")
    if own:
        trainer.load(own)
    elif start:
        trainer.load(start)
        trainer.at["spent"] = 0.0
    else:
        raise SystemExit(f"no checkpoint in {work / 'stable'}: run train first")
    trainer.run(late=True, minutes=minutes)


def average(works: Sequence[Path], name: str, out: Path) -> None:
    """The mean of the newest checkpoints of phases that began with the same weights and ran side by side."""
    states = [
        torch.load(found, weights_only=True) for work in works if (found := newest(work / name))
    ]
    first = states[0]
    for part in ("model", "ema"):
        first[part] = {
            key: torch.stack([s[part][key] for s in states]).mean(0) for key in first[part]
        }
    for place, moments in first["optimizer"]["state"].items():
        for key in ("exp_avg", "exp_avg_sq"):
            moments[key] = torch.stack([s["optimizer"]["state"][place][key] for s in states]).mean(
                0
            )
    for key in ("pairs", "tokens", "seconds"):
        first["at"][key] = sum(state["at"][key] for state in states)
    (out / name).mkdir(parents=True)
    torch.save(first, out / name / f"step-{first['at']['step']:08d}.pt")


@torch.no_grad()
def probabilities(model: CrossEncoder, encoded: Encoded, bfloat16: bool = False) -> torch.Tensor:
    """Softmax of the logits, in the order given; computed in batches sorted by length."""
    out = torch.zeros(len(encoded), 3)
    for batch in batches([len(ids) for ids, _ in encoded], 4096, random.Random(0)):
        with torch.autocast("cpu", torch.bfloat16, enabled=bfloat16):
            logits = model(*batch_tensors([encoded[place] for place in batch]))
        out[batch] = torch.softmax(logits, -1)
    return out


def accuracy(
    model: CrossEncoder, examples: Sequence[Example], encoded: Encoded, bfloat16: bool = False
) -> dict[str, float]:
    """Supported or not at 0.5, over all rows and per kind."""
    supported = probabilities(model, encoded, bfloat16)[:, 0] > 0.5
    right = [
        bool(s) == (example.label == 0) for s, example in zip(supported, examples, strict=True)
    ]
    kinds: dict[str, list[bool]] = {"all": right}
    for example, correct in zip(examples, right, strict=True):
        kinds.setdefault(BY_NAME[example.source].kind, []).append(correct)
    return {kind: round(sum(found) / len(found), 4) for kind, found in kinds.items()}


def _write_split(work: Path, rows: Split) -> None:
    """What is trained on and what isn't, beside the checkpoints."""
    facts = {
        "train": {name: len(part) for name, part in rows.train.items()},
        "held_out": {name: len(part) for name, part in rows.held.items()},
        "held_out_groups": held_groups(rows.held),
    }
    (work / "split.json").write_text(json.dumps(facts, indent=1) + "\n", encoding="utf-8")
