"""The peer's side of benchmarks/scoring.py; run by the Python of the peer's own environment."""

import json
import re
import sys
from collections import Counter
from dataclasses import dataclass

from pydantic_evals import Case, Dataset
from pydantic_evals.evaluators import Evaluator, EvaluatorContext

NUMBER = re.compile(r"-?\d[\d,]*\.?\d*")


def as_users_write_them():
    from rouge_score.rouge_scorer import RougeScorer
    from sacrebleu.metrics.chrf import CHRF

    rouge, chrf = RougeScorer(["rougeL"]), CHRF()

    def f1(answer, expected):
        given, wanted = answer.lower().split(), expected.lower().split()
        same = (Counter(given) & Counter(wanted)).total()
        return 2 * same / max(len(given) + len(wanted), 1)

    def numbers(text):
        return [float(found.replace(",", "")) for found in NUMBER.findall(text)]

    polite = ("please", "thank", "sorry")
    return {
        "exact_match": lambda c: c.output.strip().lower() == c.expected_output.strip().lower(),
        "keyword_recall": lambda c: (
            len(set(c.output.lower().split()) & set(c.expected_output.lower().split()))
            / max(len(set(c.expected_output.lower().split())), 1)
        ),
        "token_f1": lambda c: f1(c.output, c.expected_output),
        "rouge_l": lambda c: rouge.score(c.expected_output, c.output)["rougeL"].fmeasure,
        "chrf": lambda c: chrf.sentence_score(c.output, [c.expected_output]).score,
        "answer_length": lambda c: len(c.output),
        "politeness": lambda c: min(0.5 * sum(word in c.output.lower() for word in polite), 1),
        "latency_ms": lambda c: c.metadata["response_time"] * 1000,
        "contains": lambda c: all(
            w in c.output for w in c.metadata["answer_criteria"]["must_contain"]
        ),
        "contains_any": lambda c: any(
            w in c.output for w in c.metadata["answer_criteria"]["must_contain_any"]
        ),
        "not_contains": lambda c: (
            not any(w in c.output for w in c.metadata["answer_criteria"]["must_not_contain"])
        ),
        "number_in_range": lambda c: any(10 <= n <= 20 for n in numbers(c.output)),
        "number_close": lambda c: any(abs(n - 12) <= 0.6 for n in numbers(c.output)),
        "regex": lambda c: bool(re.search("sales", c.output)),
        "citation_validity": lambda c: not re.findall(r"\[(\d+)\]", c.output),
        "citation_coverage": lambda c: (
            len(re.findall(r"\[\d+\]", c.output)) / max(c.output.count("."), 1)
        ),
        "abstention": lambda c: "sorry" in c.output.lower(),
    }


def our_functions():
    from answerkey.metrics.plan import make_plan
    from answerkey.profiles import load_profile
    from answerkey.types import AnswerCriteria, Response
    from answerkey.types import Case as OurCase

    rules = load_profile("route-aware")
    given = {"words": rules.words, "routes": rules.routes}

    def one(name):
        plan = make_plan([name], given)

        def evaluate(c):
            criteria = {
                k: tuple(v) if isinstance(v, list) else v
                for k, v in c.metadata["answer_criteria"].items()
            }
            case = OurCase(
                "c", c.inputs, expected=(c.expected_output,), criteria=AnswerCriteria(**criteria)
            )
            value = plan.score(
                [(case, Response(answer=c.output, seconds=c.metadata["response_time"]))]
            )[0][name].value
            return 0.0 if value is None else value

        return evaluate

    from benchmarks.scoring import METRICS

    return {name: one(name) for name in METRICS}


def evaluator(name, function):
    @dataclass
    class Made(Evaluator):
        def evaluate(self, ctx: EvaluatorContext):
            return function(ctx)

    Made.__name__ = Made.__qualname__ = name
    return Made()


def main():
    path, how = sys.argv[1:3]
    functions = as_users_write_them() if how == "users" else our_functions()
    with open(path) as file:
        rows = [json.loads(line) for line in file]
    answers = {row["id"]: row["answer"] for row in rows}
    cases = [
        Case(name=row["id"], inputs=row["id"], expected_output=row["expected"], metadata=row)
        for row in rows
    ]
    data = Dataset(
        name="scoring",
        cases=cases,
        evaluators=[evaluator(name, f) for name, f in functions.items()],
    )
    report = data.evaluate_sync(lambda key: answers[key], progress=False)
    assert len(report.cases) == len(rows)
    assert len(report.cases[0].scores) + len(report.cases[0].assertions) == len(functions), (
        report.failures
    )


main()
