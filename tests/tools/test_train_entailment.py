"""What of the entailment trainer needs no torch: the division of rows, the mix, windows and hard negatives."""

from __future__ import annotations

import json
import random
import re
import subprocess
import sys
from collections import Counter
from pathlib import Path

import numpy as np
import pytest
from tools.train_entailment import changes, templates, written
from tools.train_entailment.data import CLASSES, STABLE, Mix, Pool, Stream, batches, pools, split
from tools.train_entailment.evaluate import FACTS, auroc
from tools.train_entailment.score import best_temperature, probabilities
from tools.train_entailment.sources import BY_NAME, HALVED, Row, is_held_out
from tools.train_entailment.windows import best_windows, fit, overlap, padded, sentences


def row(number: int, source: str, label: str = "entail", premise: str = "") -> Row:
    return {
        "premise": premise
        or f"Report {number}: The town of Alby has {number + 20} shops. It lies near Dorne.",
        "hypothesis": f"The town of Alby has {number + 20} shops.",
        "label": label,
        "source": source,
        "group": f"{source}:{number}",
    }


def made_rows(count: int = 400) -> dict[str, list[Row]]:
    labels = ("entail", "entail", "entail", "contradict")
    return {
        "fever_train": [row(n, "fever_train", labels[n % 4]) for n in range(count)],
        "lingnli": [
            row(n, "lingnli", ("entail", "neutral")[n % 2], f"Essay {n} praises the lake.")
            for n in range(count)
        ],
    }


def test_hold_out_depends_on_the_group_alone() -> None:
    rows = [row(number, "lingnli") for number in range(2000)]
    held = [is_held_out(one, "lingnli") for one in rows]
    assert held == [
        is_held_out({**one, "label": "neutral", "hypothesis": "x"}, "lingnli") for one in rows
    ]
    assert 0.02 < np.mean(held) < 0.04


def test_half_of_the_groups_of_evaluation_sets_is_held_out() -> None:
    for source in HALVED:
        assert 0.45 < np.mean([is_held_out(row(n, source), source) for n in range(1000)]) < 0.55


def test_no_premise_is_both_trained_on_and_held_out() -> None:
    found = split(made_rows())
    held = {one["premise"] for part in found.held.values() for one in part}
    assert held
    assert not held & {one["premise"] for part in found.train.values() for one in part}


def test_a_row_that_shares_a_held_out_premise_is_dropped() -> None:
    rows = made_rows()
    held = next(one for one in rows["lingnli"] if is_held_out(one, "lingnli"))
    copies = (
        row(number, "fever_train", premise=held["premise"].upper()) for number in range(9000, 9100)
    )
    copy = next(one for one in copies if not is_held_out(one, "fever_train"))
    found = split({**rows, "fever_train": [*rows["fever_train"], copy]})
    assert copy not in found.train["fever_train"]


def test_shares_sum_to_one_and_classes_are_balanced() -> None:
    found = pools(made_rows(), STABLE, seed=1)
    assert sum(share for _, share in found) == pytest.approx(
        1 - STABLE.changed - STABLE.copied - STABLE.templates
    )
    fever = {pool.name: share for pool, share in found if pool.name.startswith("fever")}
    ratio = fever["fever_train:supported"] / sum(fever.values())
    assert ratio == pytest.approx(BY_NAME["fever_train"].supported)


def test_a_pool_reads_every_row_once_each_round() -> None:
    pool = Pool("a", [row(number, "lingnli") for number in range(10)], seed=3)
    first, second = (
        [pool.at(n)["group"] for n in numbers] for numbers in (range(10), range(10, 20))
    )
    assert sorted(first) == sorted(second)
    assert first != second
    assert [pool.at(n)["group"] for n in range(10)] == first


def test_a_chunk_depends_on_its_number_and_the_seed() -> None:
    train = split(made_rows()).train
    one, again = (Stream(train, STABLE, seed=5, size=200) for _ in range(2))
    assert one.chunk(0) != one.chunk(1)
    assert again.chunk(1) == one.chunk(1)
    assert Stream(train, STABLE, seed=6, size=200).chunk(1) != one.chunk(1)


def test_a_chunk_has_the_share_of_made_rows() -> None:
    stream = Stream(split(made_rows()).train, Mix(changed=0.2, copied=0.1), seed=5, size=1000)
    counts = Counter(example.source for example in stream.chunk(0))
    assert 150 <= counts["changed"] <= 200
    assert 60 <= counts["copied"] <= 100


def test_batches_hold_every_row_once_within_the_budget() -> None:
    lengths = [random.Random(n).randint(5, 60) for n in range(300)]
    found = batches(lengths, 500, random.Random(0))
    assert sorted(place for batch in found for place in batch) == list(range(300))
    assert all(len(batch) * max(lengths[place] for place in batch) <= 500 for batch in found)


@pytest.mark.parametrize("text", ["12", "1,250", "1987", "3.5", "0", "1"])
def test_another_number_keeps_the_form(text: str) -> None:
    for seed in range(50):
        new = changes.another_number(text, random.Random(seed))
        assert new != text
        assert float(new.replace(",", "")) >= 0
        assert ("." in new) == ("." in text)
        if text == "1987":
            assert 1900 < int(new) < 2100


def test_negation_is_put_in_and_taken_out() -> None:
    rng = random.Random(0)
    put = changes.change_negation("The shop is open.", rng)
    assert put
    assert put[0] in {"The shop is not open.", "The shop is never open."}
    assert changes.change_negation("Dogs cannot enter.", rng) == ("Dogs can enter.", "contradict")
    assert changes.change_negation("It doesn't rain.", rng) == ("It does rain.", "contradict")
    assert changes.change_negation("Rain fell.", rng) is None


def test_antonyms_work_both_ways() -> None:
    assert changes.change_antonym("Sales increased.", random.Random(0)) == (
        "Sales decreased.",
        "contradict",
    )
    assert changes.change_antonym("Sales decreased.", random.Random(0)) == (
        "Sales increased.",
        "contradict",
    )
    assert all(word not in opposites for word, opposites in changes.antonyms().items())


def test_a_name_is_replaced_by_another_of_the_premise() -> None:
    premise = "In May Anna Berg met Carl Dorn in Oslo."
    made = changes.change_name("There Anna Berg was seen.", random.Random(0), premise, [])
    assert made
    assert made[1] == "not_entail"
    assert made[0] in {f"There {name} was seen." for name in ("Carl Dorn", "Oslo", "May")}


def test_names_change_places() -> None:
    made = changes.swap_names("Last year Brightwater Foods bought Kornhaus.", random.Random(0))
    assert made == ("Last year Kornhaus bought Brightwater Foods.", "not_entail")


def test_a_hard_negative_differs_and_is_never_supported() -> None:
    premise, statement = (
        "In 1990 Anna Berg opened 3 shops in Oslo.",
        "There are 3 shops that Anna Berg opened.",
    )
    for seed in range(60):
        made = changes.hard_negative(premise, statement, random.Random(seed), ["Carl Dorn"])
        assert made
        assert (made[0], made[1]) != (premise, statement)
        assert CLASSES[made[2]] != CLASSES["entail"]


def test_nothing_to_change_gives_none() -> None:
    assert changes.hard_negative("rain fell", "water came", random.Random(0)) is None


def test_sentences_keep_titles_and_initials_whole() -> None:
    assert sentences("Dr. Berg met J. Dorn. They spoke.") == [
        "Dr. Berg met J. Dorn.",
        "They spoke.",
    ]


def test_fit_keeps_what_the_hypothesis_is_about() -> None:
    filler = " ".join(f"Chapter {number} is about other matters entirely." for number in range(60))
    long = f"{filler} The harbour was rebuilt by Carl Dorn. {filler}"
    cut = fit(long, "Carl Dorn rebuilt the harbour.", 60)
    assert "Carl Dorn" in cut
    assert len(cut.split()) <= 60
    assert fit("Short text.", "Anything.", 60) == "Short text."


def test_best_windows_are_ordered_by_overlap() -> None:
    parts = ["Cats sleep.", "Dogs bark.", "Cows eat.", "Birds sing.", "Fish swim.", "Bees fly."]
    assert best_windows(parts, "Bees fly and fish swim.")[0] == 3


def test_padding_keeps_the_premise_and_the_limit() -> None:
    text = padded("The real evidence.", ["One other passage here."] * 9, 20, random.Random(0))
    assert "The real evidence." in text
    assert 3 < len(text.split()) <= 20


def test_overlap_ignores_function_words() -> None:
    assert overlap("Cats sleep at home.", "The cats sleep.") == 1.0
    assert overlap("Dogs bark.", "The cats sleep.") == 0.0


def test_temperature_undoes_a_scale() -> None:
    rng = np.random.default_rng(0)
    margin = rng.normal(0, 2, 4000)
    supported = rng.random(4000) < 1 / (1 + np.exp(-margin))
    logits = np.stack([2 * margin, np.zeros(4000), np.full(4000, -50.0)], 1)
    assert best_temperature(logits, supported) == pytest.approx(2, abs=0.25)
    assert probabilities(logits).sum(1) == pytest.approx(np.ones(4000))


def test_auroc_counts_ties_half() -> None:
    assert auroc(np.array([1, 0, 1, 0]), np.array([0.9, 0.1, 0.5, 0.5])) == pytest.approx(0.875)


def test_pairs_with_a_changed_fact() -> None:
    rows = [json.loads(line) for line in FACTS.read_text(encoding="utf-8").splitlines()]
    assert len(rows) == 80
    assert all(set(one) == {"premise", "right", "wrong", "kind"} for one in rows)
    assert all(one["right"] != one["wrong"] for one in rows)
    assert len({one["premise"] for one in rows}) == 80


def test_torch_is_not_imported() -> None:
    code = (
        "import sys; from tools.train_entailment import changes, data, evaluate, score, sources, windows;"
        "sys.exit('torch' in sys.modules or 'onnxruntime' in sys.modules)"
    )
    root = Path(__file__).resolve().parents[2]
    assert subprocess.run([sys.executable, "-c", code], cwd=root, check=False).returncode == 0


def test_pairs_from_templates_differ_from_their_premise_in_one_fact() -> None:
    rng = random.Random(3)
    pairs = [templates.pair(rng) for _ in range(500)]
    assert {label for *_, label in pairs} == {"entail", "contradict", "neutral", "not_entail"}
    assert not any("{" in premise + statement for premise, statement, _ in pairs)
    assert all(
        statement not in premise for premise, statement, label in pairs if label == "contradict"
    )
    assert pairs == [templates.pair(again) for again in [random.Random(3)] for _ in range(500)]


def test_every_slot_of_a_template_has_values() -> None:
    for template in templates.templates():
        letters = {letter for letter, _ in template.slots}
        for form in (*template.says, *template.denies):
            assert set(re.findall(r"{(\w)}", form)) <= letters, form
        assert bool(template.denies) == (template.kind == "flip")


def test_written_passages_and_answers_are_complete() -> None:
    for line in written.written_lines("passages"):
        assert set(line) == {"premise", "s", "c", "n"}
        assert all(line.values())
    questions = [line["question"] for line in written.written_lines("answers")]
    assert len(questions) == len(set(questions)) > 1000
    assert 0.15 < np.mean([written.is_question_held_out(question) for question in questions]) < 0.25


def test_the_expected_answer_itself_is_a_right_one() -> None:
    line = {
        "question": "How long?",
        "expected": "30 days",
        "right": ["A month"],
        "wrong": ["A week"],
    }
    assert written.answers_of(line) == [(True, "30 days"), (True, "A month"), (False, "A week")]
