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


def answerkey(
    url, concurrency, names=("judge.relevance",), of_cases=(), errors_count=False, **settings
):
    """One call per case, whatever the metrics: `of_cases` are the criteria that each case has of its own."""
    from answerkey.coerce.requirements import as_requirements
    from answerkey.coerce.values import LIVE
    from answerkey.metrics.judge.judged_metrics import load_judge
    from answerkey.metrics.judge.own_criteria import read_criteria
    from answerkey.metrics.plan import make_plan
    from answerkey.types import Case, Requirement, Response

    judge = load_judge({"base_url": url, "model": "fake", "concurrency": concurrency, **settings})
    plan = make_plan(names, {"judge": judge, "criteria": read_criteria(CRITERIA)})

    checks = as_requirements(CHECKS if of_cases else None, "criteria", LIVE)

    def run(texts):
        pairs = []
        for n, text in enumerate(texts):
            own = (*(Requirement(f"{each} Case {n}.") for each in of_cases), *checks)
            pairs.append(
                (Case(f"c{n}", QUESTION, expected=(EXPECTED,), requirements=own), Response(text))
            )
        table = plan.score(pairs)
        return sum(
            all(s.value is not None or (errors_count and s.error) for s in row.values())
            for row in table
        )

    return run


CRITERIA = [
    {"name": "days", "ask": "The answer names the number of days."},
    {"name": "no_promise", "ask": "The answer makes no promise about delivery dates."},
    {"name": "tone", "ask": "The answer is friendly.", "kind": "0-5"},
]
CHECKS = [{"type": "icontains", "value": "30 days"}, {"type": "not-regex", "value": "sorry"}]
OF_SUITE = tuple(f"criterion.{each['name']}" for each in CRITERIA)
OF_CASES = ("It says where to read more.", "It does not mention a fee.")
# What we are asked to judge; the peers judge one rubric.
OURS = {
    "answerkey": {},
    "answerkey, criteria per suite": {"names": OF_SUITE},
    "answerkey, criteria per case": {"names": ("criteria",), "of_cases": OF_CASES},
    "answerkey, mixed kinds": {"names": (*OF_SUITE, "criteria"), "of_cases": OF_CASES},
}
BARE = "bare loop"
# Short, for a small model on a slow machine; its verdicts need not be right.
REAL = {"names": ("criterion.tone", "criteria"), "of_cases": OF_CASES[:1], "errors_count": True}


def bare_loop(url, concurrency):
    """The same prepared request on so many connections, and nothing done with the replies: what the endpoint allows."""
    import asyncio

    host, _, port = url.split("/")[2].partition(":")
    body = json.dumps(
        {"messages": [{"role": "user", "content": f"{QUESTION} {RUBRIC} " * 15}]}
    ).encode()
    head = (
        f"POST /v1/chat/completions HTTP/1.1\r\nHost: {host}\r\nContent-Length: {len(body)}\r\n\r\n"
    )

    async def ask_all(todo):
        async def worker():
            reader, writer = await asyncio.open_connection(host, int(port))
            done = 0
            for _ in todo:
                writer.write(head.encode() + body)
                fields = (await reader.readuntil(b"\r\n\r\n")).lower()
                await reader.readexactly(
                    int(fields.partition(b"content-length:")[2].split(b"\r\n")[0])
                )
                done += 1
            writer.close()
            return done

        return sum(await asyncio.gather(*[worker() for _ in range(concurrency)]))

    return lambda texts: asyncio.run(ask_all(iter(texts)))


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
            r.score is not None
            for r in pool.map(lambda text: judge.eval(output=text, expected=EXPECTED), texts)
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
        cases = [
            Case(name=f"c{n}", inputs=text, expected_output=EXPECTED)
            for n, text in enumerate(texts)
        ]
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

    shown = [
        SingleTurnParams.INPUT,
        SingleTurnParams.ACTUAL_OUTPUT,
        SingleTurnParams.EXPECTED_OUTPUT,
    ]
    model = LocalModel("fake", api_key="none", base_url=url)
    judge = GEval(name="fact", evaluation_steps=[RUBRIC], evaluation_params=shown, model=model)

    def run(texts):
        cases = [
            LLMTestCase(input=QUESTION, actual_output=text, expected_output=EXPECTED)
            for text in texts
        ]
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
    made = {
        "autoevals": autoevals,
        "pydantic-evals": pydantic_evals,
        "deepeval": deepeval,
        BARE: bare_loop,
    }
    run = (
        answerkey(url, concurrency, **OURS[name]) if name in OURS else made[name](url, concurrency)
    )
    run(["One to begin with."])
    began, used = time.perf_counter(), time.process_time()
    judged = run(answers(count))
    seconds, processor = time.perf_counter() - began, time.process_time() - used
    print(json.dumps({"judged": judged, "seconds": seconds, "processor": processor}))


if __name__ == "__main__":
    main()
