"""A small cross-encoder from the embedding model's weights: is a claim supported by the evidence beside it? Needs torch."""

from __future__ import annotations

import random
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
import torch
from tokenizers import Tokenizer
from tools.local_judge.measure import Array
from tools.local_judge.synthetic import Pair
from torch import nn
from torch.nn import functional as F
from transformers import BertModel

CLAIM_TOKENS, TOKENS, BATCH, FROZEN = 44, 96, 32, 3
START, END = 101, 102


class CrossEncoder(nn.Module):
    """A log-odds for each token of the claim; the claim's is that of any of them. The lowest layers stay as they are."""

    def __init__(self, model: Path) -> None:
        super().__init__()
        self.bert = BertModel.from_pretrained(model, add_pooling_layer=False)
        self.found = nn.Embedding(3, 384)  # not of the claim; a token that the evidence has too; one it has not
        nn.init.zeros_(self.found.weight)
        self.head = nn.Linear(384, 1)
        nn.init.constant_(self.head.bias, -4.0)
        for part in (self.bert.embeddings, *self.bert.encoder.layer[:FROZEN]):
            part.requires_grad_(False)
        self.tokenizer = Tokenizer.from_file(str(model / "tokenizer.json"))
        self.tokenizer.no_padding()
        self.tokenizer.no_truncation()

    def forward(self, batch: Mapping[str, torch.Tensor]) -> tuple[torch.Tensor, torch.Tensor]:
        mask = batch["mask"][:, None, None, :].expand(-1, 1, batch["mask"].shape[1], -1)
        with torch.no_grad():
            x = self.bert.embeddings(batch["ids"], token_type_ids=batch["types"])
            for layer in self.bert.encoder.layer[:FROZEN]:
                x = layer(x, mask)
        x = x + self.found(batch["found"])
        for layer in self.bert.encoder.layer[FROZEN:]:
            x = layer(x, mask)
        tokens = self.head(x).squeeze(-1)
        return torch.logsumexp(tokens.masked_fill(batch["found"] == 0, -1e4), dim=1), tokens

    def batch(self, pairs: Sequence[Pair]) -> dict[str, torch.Tensor]:
        claims = self.tokenizer.encode_batch([pair.claim for pair in pairs], add_special_tokens=False)
        shown = self.tokenizer.encode_batch([pair.evidence for pair in pairs], add_special_tokens=False)
        rows: dict[str, list[list[int]]] = {name: [] for name in ("ids", "types", "found", "changed", "mask")}
        for pair, claim, given in zip(pairs, claims, shown, strict=True):
            own = claim.ids[:CLAIM_TOKENS]
            theirs = given.ids[: TOKENS - 3 - len(own)]
            rest = [0] * (len(theirs) + 1)
            start, end = pair.changed or (0, 0)
            hit = [int(a < end and b > start) for a, b in claim.offsets[: len(own)]]
            rows["ids"].append([START, *own, END, *theirs, END])
            rows["types"].append([0] * (len(own) + 2) + [1] * len(rest))
            rows["found"].append([0, *(1 if token in theirs else 2 for token in own), 0, *rest])
            rows["changed"].append([0, *hit, 0, *rest])
            rows["mask"].append([1] * len(rows["ids"][-1]))
        longest = max(map(len, rows["ids"]))
        padded = {name: torch.tensor([row + [0] * (longest - len(row)) for row in rows[name]]) for name in rows}
        return padded | {"mask": padded["mask"].bool()}


def train(model: CrossEncoder, pairs: Sequence[Pair], rate: float, seed: int) -> None:
    """One pass in batches of like length, the rate rising over a tenth of it and then falling to nothing."""
    rng = random.Random(seed)
    torch.manual_seed(seed)
    pairs = rng.sample(pairs, len(pairs))
    batches: list[Sequence[Pair]] = []
    for start in range(0, len(pairs), 16 * BATCH):
        part = sorted(pairs[start : start + 16 * BATCH], key=_length)
        cut = [part[n : n + BATCH] for n in range(0, len(part), BATCH)]
        batches += rng.sample(cut, len(cut))
    learnt = [p for p in model.parameters() if p.requires_grad]
    optimiser = torch.optim.AdamW(learnt, lr=rate, weight_decay=0.01)
    steps = len(batches)
    schedule = torch.optim.lr_scheduler.LambdaLR(
        optimiser, lambda n: min((n + 1) / (0.1 * steps + 1), (steps - n) / (0.9 * steps + 1))
    )
    model.train()
    began, running = time.monotonic(), 0.7
    for number, part in enumerate(batches):
        batch = model.batch(part)
        whole, tokens = model(batch)
        loss = F.binary_cross_entropy_with_logits(whole, torch.tensor([float(p.label) for p in part]))
        where = (batch["found"] > 0) & torch.tensor([p.changed is not None for p in part])[:, None]
        if where.any():
            loss = loss + F.binary_cross_entropy_with_logits(
                tokens[where], batch["changed"][where].float(), pos_weight=torch.tensor(5.0)
            )
        optimiser.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(learnt, 1.0)
        optimiser.step()
        schedule.step()
        running = 0.95 * running + 0.05 * loss.item()
        if number % 20 == 19:
            speed = BATCH * (number + 1) / (time.monotonic() - began)
            print(f"  {number + 1}/{steps} loss {running:.3f}, {speed:.1f} pairs/s", file=sys.stderr, flush=True)


def _length(pair: Pair) -> int:
    return len(pair.claim) + len(pair.evidence)


@torch.no_grad()
def log_odds(model: CrossEncoder, pairs: Sequence[Pair]) -> Array:
    model.eval()
    order = sorted(range(len(pairs)), key=lambda n: _length(pairs[n]))
    scores = np.zeros(len(pairs))
    for start in range(0, len(order), BATCH):
        part = order[start : start + BATCH]
        scores[part] = model(model.batch([pairs[n] for n in part]))[0].numpy()
    return scores
