"""Which sources are trained on, how often, and which rows are never trained on.

A source's weight is its share of the rows drawn, before scaling. `supported` is the share of supported rows among
them; None keeps the classes as they are. Weights follow the sizes, with caps: nothing small is drawn more than a few
times while a large set is still being read for the first time.
"""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass
from typing import TypedDict

HELD_SHARE = 0.03
_NOT_LETTERS = re.compile(r"[\W_]+")
# Half of the groups of these are for measuring groundedness with a set left out; the other half is trained on.
HALVED = ("lfqa_verification", "summac_parts", "xsum_hallucination")
GENERAL, CLAIMS, ANSWERS, QUESTIONS, WRITTEN = (
    "general",
    "claims",
    "answers",
    "questions",
    "written",
)
HELD_OF_WRITTEN = 0.2  # more: `answer_agreement` is fitted on the rows that the model has not seen


class Row(TypedDict):
    """One pair as the files have it."""

    premise: str
    hypothesis: str
    label: str
    source: str
    group: str


@dataclass(frozen=True)
class Source:
    """How one file is drawn from: `weight` in the stable phase, `late` while the rate falls."""

    name: str
    kind: str
    weight: float
    late: float
    supported: float | None = None


SOURCES = (
    Source("lingnli", GENERAL, 11.0, 10.0),
    Source("snli_ni", GENERAL, 5.0, 2.0),
    Source("snli_devtest", GENERAL, 3.5, 2.0),
    Source("snli_counterfactual", GENERAL, 2.5, 2.5),
    Source("mnli_ni", GENERAL, 8.0, 8.0),
    Source("mnli_dev_bin", GENERAL, 5.0, 5.0),
    Source("mnli_olora", GENERAL, 0.8, 1.0),
    Source("scitail", GENERAL, 2.6, 2.0),
    Source("rte", GENERAL, 1.4, 1.8),
    Source("paws_ni", GENERAL, 5.0, 6.0),
    Source("med", GENERAL, 1.0, 0.6),
    Source("monli", GENERAL, 0.6, 0.4),
    Source("mpe", GENERAL, 1.2, 0.6),
    Source("conjnli", GENERAL, 0.8, 0.4),
    Source("fever_train", CLAIMS, 24.0, 24.0, 0.65),
    Source("fever_nei_silver", CLAIMS, 4.5, 2.5),
    Source("fever_nli_bin", CLAIMS, 6.0, 8.0, 0.5),
    Source("fever_dev_rte", CLAIMS, 4.5, 6.0, 0.5),
    Source("fever_symmetric", CLAIMS, 0.6, 0.8, 0.5),
    Source("feverous_s_dev", CLAIMS, 1.6, 3.4, 0.5),
    Source("climate_fever", CLAIMS, 1.4, 1.8, 0.4),
    Source("covidfact", CLAIMS, 1.1, 1.2, 0.4),
    Source("healthver", CLAIMS, 1.0, 1.2, 0.4),
    Source("fm2", CLAIMS, 1.1, 1.6, 0.5),
    Source("scifact_train", CLAIMS, 0.3, 0.4, 0.45),
    Source("contractnli", CLAIMS, 0.7, 0.6, 0.5),
    Source("nli4ct", CLAIMS, 0.4, 0.4, 0.5),
    Source("citint", CLAIMS, 0.7, 0.6, 0.5),
    Source("lfqa_verification", ANSWERS, 1.0, 2.5, 0.5),
    Source("summac_parts", ANSWERS, 0.5, 1.3, 0.5),
    Source("xsum_hallucination", ANSWERS, 0.6, 1.2, 0.4),
    Source("bump", ANSWERS, 0.4, 0.8, 0.4),
    Source("shroom_clear", ANSWERS, 0.8, 1.2, 0.5),
    Source("factcg_cg2c_doc", ANSWERS, 1.0, 2.0, 0.5),
    Source("wikiqa_answerverif", ANSWERS, 0.5, 0.7, 0.5),
    Source("boolq_qa", QUESTIONS, 2.6, 2.6, 0.5),
    Source("multirc_qa", QUESTIONS, 0.6, 0.8, 0.5),
    Source("mctest_nli", QUESTIONS, 1.2, 1.0, 0.45),
    Source("written_passages", WRITTEN, 14.0, 22.0),
    Source("written_answers", WRITTEN, 14.0, 24.0, 0.5),
)

BY_NAME = {source.name: source for source in SOURCES}


def fraction(text: str) -> float:
    """A number in 0..1 that depends on the text alone, the same on every machine."""
    return int.from_bytes(hashlib.blake2b(text.encode(), digest_size=8).digest(), "big") / 2**64


def group_of(row: Row, source: str) -> str:
    """The row's group; a source with one group for everything is grouped by its premises."""
    return row["premise"] if source == "snli_counterfactual" else row["group"]


def is_held_out(row: Row, source: str) -> bool:
    """True for the 3 % of groups that measure the model, and for one half of the `HALVED` sets."""
    share = (
        0.5
        if source in HALVED
        else HELD_OF_WRITTEN
        if BY_NAME[source].kind == WRITTEN
        else HELD_SHARE
    )
    return fraction("held-out:" + group_of(row, source)) < share


def same_premise(row: Row) -> str:
    """Rows with the same value have the same premise, or nearly: several sources share documents."""
    return _NOT_LETTERS.sub("", row["premise"][:160].lower())[:80]


def same_claim(row: Row) -> str:
    """Rows with the same value state the same."""
    return _NOT_LETTERS.sub("", row["hypothesis"].lower())
