"""Rows, bots and judges for tests of `ak.evaluate`."""

from __future__ import annotations

import asyncio
from typing import Any

import answerkey as ak

ROWS: list[dict[str, Any]] = [
    {"id": "q1", "question": "How long can I return goods?", "expected": "30 days", "answer": "30 days.", "contexts": ["Goods may be returned within 30 days."]},
    {"id": "q2", "question": "What does delivery cost?", "expected": "RM 8", "answer": "It costs RM 80.", "contexts": ["Standard delivery costs RM 8."]},
    {"id": "q3", "question": "When do points expire?", "expected": "After 24 months", "answer": "After 24 months.", "contexts": ["Points expire after 24 months."]},
]  # fmt: skip


METRICS = ["token_f1", "exact_match"]


RUBRIC = (
    '{"accuracy": 5, "completeness": 4, "citation_quality": 3, "coherence": 3, "reasoning": "fine"}'
)


def quiet(data: Any = ROWS, metrics: Any = METRICS, **options: Any) -> ak.Run:
    return ak.evaluate(data, metrics, progress=False, **options)


async def async_bot(question: str) -> str:
    await asyncio.sleep(0.001)
    return "30 days"


def length(case: ak.Case, response: ak.Response) -> int:
    return len(response.answer or "")


async def slowly(case: ak.Case, response: ak.Response) -> ak.Score:
    await asyncio.sleep(0.001)
    return ak.Score(0.5, "halfway")


async def async_judge(prompt: str) -> str:
    await asyncio.sleep(0.001)
    return RUBRIC
