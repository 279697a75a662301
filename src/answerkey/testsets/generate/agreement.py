"""Do made questions choose the same retrieval setting as real ones?"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np

from answerkey.config.retrieval_tables import RetrievalTable
from answerkey.embed import Embedder
from answerkey.experiments.label_check import check_labels, collect_labels
from answerkey.experiments.sweep import PreparedSweep, run_sweep
from answerkey.retrieval.bm25 import Formula, build_bm25
from answerkey.retrieval.chunks import Chunk
from answerkey.retrieval.corpus import Page
from answerkey.retrieval.fuse import Floats
from answerkey.retrieval.search_index import (
    SearchIndex,
    embed_chunks,
    exact_search,
    order_by_page,
)
from answerkey.retrieval.search_words import NONE, detect_language
from answerkey.types import Case

Step = Callable[[str], None]
LEAST_REAL = 30  # with fewer real questions the order of the settings is chance


@dataclass(frozen=True, slots=True)
class SettingAgreement:
    """Kendall's τ between the settings' nDCG on made and on real questions.

    `lost` is the nDCG on the real questions that is lost when the setting is chosen on the made
    ones.
    """

    tau: float
    lost: float
    settings: int
    real: int
    made: int
    best_made: str
    best_real: str


def kendall_tau(first: Sequence[float], second: Sequence[float]) -> float:
    """Kendall's τ-b: 1 for the same order, -1 for the reverse; ties count for neither side.

    >>> kendall_tau([1, 2, 3], [10, 20, 30])
    1.0
    """
    a = np.sign(np.subtract.outer(np.asarray(first), np.asarray(first)))
    b = np.sign(np.subtract.outer(np.asarray(second), np.asarray(second)))
    # τ-b leaves ties out of the scale on both sides.
    scale = float(np.sqrt((a != 0).sum() * (b != 0).sum()))
    if not scale:
        return 0.0
    return float((a * b).sum()) / scale


@dataclass(frozen=True, slots=True)
class SearchedCases:
    """Cases and the pages that they search; made cases search pages without titles."""

    cases: Sequence[Case]
    pages: Sequence[Page]


def compare_settings(
    made: SearchedCases, real: SearchedCases, embed: Embedder, step: Step = lambda _: None
) -> SettingAgreement:
    """How far both sides order retrieval settings alike.

    The settings are those of the standard sweep: 11 weights of dense search and reciprocal ranks,
    compared by nDCG@5.
    """
    # Each side searches its own pages: with titles in the texts the made questions, which are
    # titles, would be found by every setting.
    made_means, names = _mean_per_setting(made, embed, step)
    real_means, _ = _mean_per_setting(real, embed, step)
    best_made = int(np.argmax(made_means))
    best_real = int(np.argmax(real_means))
    return SettingAgreement(
        tau=kendall_tau(made_means.tolist(), real_means.tolist()),
        lost=float(real_means[best_real] - real_means[best_made]),
        settings=len(names),
        real=len(real.cases),
        made=len(made.cases),
        best_made=names[best_made],
        best_real=names[best_real],
    )


def _mean_per_setting(side: SearchedCases, embed: Embedder, step: Step) -> tuple[Floats, list[str]]:
    pages = [side.pages[n] for n in order_by_page([page.id for page in side.pages])]
    texts = [page.text for page in pages]
    dense = partial(exact_search, embed_chunks(texts, embed, step))
    chunks = tuple(
        Chunk(f"{page.id}:{n}", page.text, page.id, page.document, 0, len(page.text))
        for n, page in enumerate(pages)
    )
    language = detect_language(texts)
    index = SearchIndex(
        chunks=chunks,
        sparse=build_bm25(texts, Formula(language=language)).search,
        dense=dense,
        embed=embed,
        source="passages",
        language=language or NONE,
    )
    check = check_labels(collect_labels(side.cases), [page.id for page in pages])
    settings = RetrievalTable(documents=Path())  # the pages are read already; a source is required
    prepared = PreparedSweep(settings, list(side.cases), [index], check, [()] * len(side.cases))
    # Times are not compared here.
    sweep = run_sweep(prepared, timed=False)
    means = sweep.chosen[:, sweep.main][:, sweep.labelled].mean(axis=1)
    return means, [variant.name for variant in sweep.variants]
