"""Labels: which to give next, and the corrected pass rate in the reports."""

import json
from random import Random

import numpy as np
import pytest

from answerkey.corrected_rate import ppi_rate

PROFILE = """
name = "words"
version = 1
pass = 0.5
bands = [{ name = "good", at = 0.5, status = "PASSED" }, { name = "poor", at = 0.0, status = "FAILED" }]
criteria = [{ metric = "exact_match" }]
"""


@pytest.fixture
def run(cli, write, tmp_path):
    def make(column=False, count=120):
        random = Random(5)
        rows = []
        for n in range(count):
            right = random.random() < 0.7
            passes = right if random.random() < 0.85 else not right
            row = {
                "id": f"q{n}",
                "question": f"q {n}?",
                "expected": "yes",
                "answer": "yes" if passes else "no",
                "x_right": right,
            }
            rows.append(row | ({"label": int(right)} if column and n % 3 == 0 else {}))
        path, profile = write("rows.jsonl", rows), write("words.toml", PROFILE)
        shown = cli(
            "score", path, "--profile", profile, "--out", tmp_path / "out", "--no-charts", "--quiet"
        )
        assert shown.code == 0, shown.err
        return next((tmp_path / "out").glob("*")), rows

    return make


def expected_rate(rows):
    given = [row for n, row in enumerate(rows) if n % 3 == 0]
    rest = [row["answer"] == "yes" for n, row in enumerate(rows) if n % 3]
    return ppi_rate(
        [float(row["x_right"]) for row in given], [row["answer"] == "yes" for row in given], rest
    )


@pytest.mark.parametrize("source", ["labels.jsonl", "column", "file"])
def test_labels_from_the_viewer_a_column_or_a_file_correct_the_pass_rate(cli, run, write, source):
    folder, rows = run(column=source == "column")
    labels = [
        {"id": row["id"], "label": int(row["x_right"])} for n, row in enumerate(rows) if n % 3 == 0
    ]
    more = []
    if source == "labels.jsonl":
        (folder / "labels.jsonl").write_text("".join(json.dumps(label) + "\n" for label in labels))
    elif source == "file":
        more = [
            "--labels",
            write("given.csv", "id,label\n" + "".join(f"{r['id']},{r['label']}\n" for r in labels)),
        ]
    shown = cli("label-next", folder, "--json", *more)
    assert shown.code == 0, shown.err
    found, wanted = shown.json["corrected"], expected_rate(rows)
    assert found["method"] == "PPI++"
    assert (found["rate"], found["low"], found["high"]) == pytest.approx(
        (wanted.rate, wanted.low, wanted.high), abs=1e-12
    )
    assert shown.json["labels"] == 40
    assert len(shown.json["next"]) == 10
    assert not {case["id"] for case in shown.json["next"]} & {label["id"] for label in labels}
    assert shown.last_line.startswith("DONE: 40 of 120 cases are labelled")
    if source != "file":
        assert cli("report", folder).code == 0
        assert json.loads((folder / "summary.json").read_text())["corrected"][
            "rate"
        ] == pytest.approx(wanted.rate)
        for name in ("report.txt", "report.md", "report.html"):
            assert "corrected pass rate" in (folder / name).read_text(), name


def test_without_labels_it_lists_cases_and_says_what_is_missing(cli, run):
    folder, _ = run()
    shown = cli("label-next", folder, "--count", "3")
    assert shown.code == 0
    assert len(shown.out.strip().splitlines()) == 4
    assert "two labels are needed" in shown.out
    assert cli("label-next", folder, "--labels", folder / "run.json").code == 2


@pytest.mark.slow
def test_ppi_covers_the_truth_on_labelled_answers(shared_data):
    """Human labels of answers to open questions; the verdict is whether the reference stands in the answer."""
    lines = (shared_data / "evouna" / "dev.jsonl").read_text(encoding="utf-8").splitlines()
    rows = [json.loads(line) for line in lines]
    labels = np.array([float(row["label"]) for row in rows])
    verdicts = np.array(
        [any(ref.lower() in row["answer"].lower() for ref in row["reference"]) for row in rows]
    )
    truth, random = labels.mean(), np.random.default_rng(2024)
    covered = plain = narrower = 0
    draws = 1500
    for _ in range(draws):
        picked = random.choice(len(rows), 1100, replace=True)
        given, rest = picked[:100], picked[100:]
        found = ppi_rate(labels[given].tolist(), verdicts[given].tolist(), verdicts[rest].tolist())
        covered += found.low <= truth <= found.high
        half = 1.96 * labels[given].std() / 10
        plain += abs(labels[given].mean() - truth) <= half
        narrower += found.high - found.low < 2 * half
    print(
        f"PPI++ covers {covered / draws:.3f}, the labels alone {plain / draws:.3f}; narrower in {narrower / draws:.3f}"
    )
    assert 0.93 <= covered / draws <= 0.97
    assert narrower / draws > 0.95
