"""variants.json is read back as it was written, and as far as possible where it is damaged."""

from __future__ import annotations

import json
from pathlib import Path

from answerkey.robustness.record import (
    KindRecord,
    PairMean,
    VariantsRecord,
    read_variants,
    read_variants_record,
)
from answerkey.robustness.text import variants_section
from answerkey.runs.summary import GateResult

RECORD = VariantsRecord(
    run="results/x/variants/y",
    partial="interrupted",
    kinds={
        "typos": KindRecord(
            pairs=12,
            scored_pairs=11,
            unscored=1,
            pass_rate_original=1.0,
            pass_rate_variant=0.75,
            drop=0.25,
            drop_ci95=(0.1, 0.4),
            p=0.03,
            newly_failing=("q1~typos",),
            consistency=PairMean(12, 0.8, (0.7, 0.9)),
            routed_pairs=4,
            rerouted=("q2~typos",),
        )
    },
    without_variant={"typos": 2},
    conversation_turns_left_out=3,
    gates=(GateResult("variants.typos.drop <= 0.05", 0.25, (0.1, 0.4), passed=False),),
)


def test_a_record_survives_its_file(tmp_path: Path) -> None:
    (tmp_path / "variants.json").write_text(json.dumps(RECORD.to_json()))
    assert read_variants(tmp_path) == RECORD


def test_parts_that_cannot_be_read_are_left_out() -> None:
    value = {**RECORD.to_json(), "gates": "none", "without_variant": [1]}
    record = read_variants_record(value)
    assert record is not None
    assert record.gates == ()
    assert record.without_variant == {}
    assert record.kinds == RECORD.kinds


def test_the_section_says_everything_in_words() -> None:
    assert variants_section(RECORD).splitlines() == [
        "Variants: the same questions as people type or speak them",
        "  typos: 100 % → 75 % pass (11 pairs, 1 not scored); drop 25 points, 95 % interval 10 to 40, p 0.03",
        "    agreement with the answer to the original: 0.80, 95 % interval 0.70–0.90 (12 pairs)",
        "    another route: 1 of 4",
        "    newly failing: q1~typos",
        "  typos: 2 cases without such a variant",
        "  3 turns of conversations left out",
        "  not all variants were asked: interrupted",
        "  FAIL variants.typos.drop <= 0.05 (0.25)",
    ]
