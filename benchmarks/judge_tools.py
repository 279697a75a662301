"""One tool's side of benchmarks/judge.py; run by the Python of the tool's own environment.

Each function judges the cases with the tool's own runner where it has one, and returns how many got a score.
"""

import json
import sys
import time

QUESTION, EXPECTED = "How many days do I have to return an order?", "30 days from delivery."
RUBRIC = "The answer agrees with the expected answer."


def answers(count):
    return [f"You have 30 days, see page {n}." for n in range(count)]


def answerkey(url, concurrency):
    from answerkey.metrics.judge.judged_metrics import load_judge
    from answerkey.metrics.plan import make_plan
    from answerkey.types import Case, Response

    judge = load_judge({"base_url": url, "model": "fake", "concurrency": concurrency})
    plan = make_plan(["judge.relevance"], {"judge": judge})

    def run(texts):
        pairs = [(Case(f"c{n}", QUESTION, expected=(EXPECTED,)), Response(text)) for n, text in enumerate(texts)]
        return sum(row["judge.relevance"].value is not None for row in plan.score(pairs))

    return run


def autoevals(url, concurrency):
    from concurrent.futures import ThreadPoolExecutor

    from autoevals import LLMClassifier
    from openai import OpenAI

    client = OpenAI(base_url=url, api_key="none")
    prompt = f"Question: {QUESTION}\nExpected: {{{{expected}}}}\nAnswer: {{{{output}}}}\n{RUBRIC} A: yes, B: no."
    judge = LLMClassifier("fact", prompt, {"A": 1, "B": 0}, model="fake", client=client)
    pool = ThreadPoolExecutor(concurrency)

    def run(texts):
        return sum(
            r.score is not None for r in pool.map(lambda text: judge.eval(output=text, expected=EXPECTED), texts)
        )

    return run


def pydantic_evals(url, concurrency):
    from pydantic_ai.models.openai import OpenAIChatModel
    from pydantic_ai.providers.openai import OpenAIProvider
    from pydantic_evals import Case, Dataset
    from pydantic_evals.evaluators import LLMJudge

    model = OpenAIChatModel("fake", provider=OpenAIProvider(base_url=url, api_key="none"))
    judge = LLMJudge(
        RUBRIC,
        model=model,
        include_input=True,
        include_expected_output=True,
        score={"evaluation_name": "score"},
        assertion=False,
    )

    def run(texts):
        cases = [Case(name=f"c{n}", inputs=text, expected_output=EXPECTED) for n, text in enumerate(texts)]
        data = Dataset(name="judge", cases=cases, evaluators=[judge])
        report = data.evaluate_sync(lambda text: text, max_concurrency=concurrency, progress=False)
        return sum("score" in case.scores for case in report.cases)

    return run


def deepeval(url, concurrency):
    from deepeval import evaluate
    from deepeval.evaluate.configs import AsyncConfig, CacheConfig, DisplayConfig
    from deepeval.metrics import GEval
    from deepeval.models import LocalModel
    from deepeval.test_case import LLMTestCase, SingleTurnParams

    shown = [SingleTurnParams.INPUT, SingleTurnParams.ACTUAL_OUTPUT, SingleTurnParams.EXPECTED_OUTPUT]
    model = LocalModel("fake", api_key="none", base_url=url)
    judge = GEval(name="fact", evaluation_steps=[RUBRIC], evaluation_params=shown, model=model)

    def run(texts):
        cases = [LLMTestCase(input=QUESTION, actual_output=text, expected_output=EXPECTED) for text in texts]
        done = evaluate(
            cases,
            [judge],
            async_config=AsyncConfig(max_concurrent=concurrency),
            display_config=DisplayConfig(show_indicator=False, print_results=False),
            cache_config=CacheConfig(write_cache=False),
        )
        return sum(result.metrics_data[0].score is not None for result in done.test_results)

    return run


def main():
    name, url, count, concurrency = sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4])
    made = {"answerkey": answerkey, "autoevals": autoevals, "pydantic-evals": pydantic_evals, "deepeval": deepeval}
    run = made[name](url, concurrency)
    run(["One to begin with."])
    began, used = time.perf_counter(), time.process_time()
    judged = run(answers(count))
    seconds, processor = time.perf_counter() - began, time.process_time() - used
    print(json.dumps({"judged": judged, "seconds": seconds, "processor": processor}))


if __name__ == "__main__":
    main()
