"""Real span exports, compared with a table that was written by hand from the files."""

from __future__ import annotations

import logging
from pathlib import Path
from typing import Any

import pytest

from answerkey.cases import read_cases
from answerkey.errors import InputError
from answerkey.types import Case

TABLE: dict[str, dict[str, Any]] = {
    "claude_live_spans.json": {
        "question": "Look up the weather in New York and Seattle, then calculate the temperature difference.",
        "answer": "New York is 89°F and Seattle is 72°F. The temperature difference is 17°F — New York is warmer.",
        "tools": ["Agent", "Agent", "Bash", "Bash", "Agent", "Bash"],
        "session": "mock-session-001",
        "seconds": 28.86119,
        "tokens": (132, 850),
        "model": "us.anthropic.claude-sonnet-4-6",
    },
    "openai_agents_genai_adot_spans.json": {
        "question": "What is 42 * 7, and what's the weather in Seattle?",
        "answer": "The product of 42 and 7 is 294. \n\nAs for the weather in Seattle, I recommend checking a "
        "current weather service or website for real-time information.",
        "tools": ["multiply_numbers"],
        "session": "7cdeb989-856d-4e70-9b40-02b70cb12287",
        "seconds": 4.082443359,
        "tokens": (148 + 257 + 287, 47 + 19 + 36),
        "model": "gpt-4o-2024-08-06",
    },
    "openai_agents_openinference_live_spans.json": {
        "question": "What is 42 multiplied by 17, then divided by 3?",
        "answer": "The result of \\( 42 \\) multiplied by \\( 17 \\), then divided by \\( 3 \\), is **238**.",
        "tools": ["ask_math_specialist", "multiply_numbers", "divide_numbers", "divide_numbers"],
        "session": None,
        "seconds": 6.365975808,
        "tokens": (1228, 194),
        "model": "gpt-4o-mini-2024-07-18",
    },
    "otel_genai_convention_spans.json": {
        "question": "What's the weather in Paris and London?",
        "answer": "The weather in Paris is rainy at 57°F. I was unable to retrieve London's weather due to a service timeout.",
        "tools": ["get_weather", "get_weather"],
        "session": "conv_otel_test_001",
        "seconds": 6.0,
        "tokens": (80 + 120, 25 + 35),
        "model": "gpt-4o",
    },
    "smolagents_live_spans.json": {
        "question": "What is the population of Tokyo?",
        "answer": "The population of Tokyo is approximately 14 million people as of 2023. (The city proper has over "
        "14 million residents, while the greater Tokyo metropolitan area has approximately 37 million people.)",
        "tools": ["web_search", "final_answer"],
        "session": None,
        "seconds": 4.07129398,
        "tokens": (6256, 163),
        "model": "bedrock/us.anthropic.claude-haiku-4-5-20251001-v1:0",
    },
}
TWEETS_BY_DAY = (
    "{'01': 15, '02': 12, '03': 17, '04': 10, '05': 13, '06': 8, '07': 16, '08': 15, '09': 20, "
    "'10': 25, '11': 18, '12': 22, '13': 17, '14': 19, '15': 21, '16': 16, '17': 14, '18': 20, "
    "'19': 18, '20': 16, '21': 22, '22': 19, '23': 17, '24': 15, '25': 13, '26': 14, '27': 16, "
    "'28': 18, '29': 20, '30': 15, '31': 12}"
)
# The prompt tokens are the sum over the model calls of each file.
TRAIL = {
    "3637c5845140adbf29c565923c20e94d": (
        "7.50 dollars",
        99.569137,
        457 + 1428 + 3492 + 4517 + 1810,
    ),
    "41b597524173272503073a0799ac523c": ("Guava", 25.560753, 434 + 1377 + 3413 + 1353),
    "4a8d094e92433f1ba1da21f602c417d9": ("diamond", 58.307908, 412 + 1255 + 3302 + 3945 + 1551),
    "53dba4241b22d5039c9c119871c7c8b4": ("56000", 47.881181, 6527),
    "62df2a06b647ca730391602dbf62f843": (TWEETS_BY_DAY, 75.215672, 399 + 1272 + 3455 + 1653),
    "99f6b447779ba86b3cff2caede832d59": ("[(7, 9)]", 56.710224, 611 + 1700 + 3932 + 2573),
    "cbefff615c15f4de61bd0ffd1ce97d2e": ("563.9", 69.319535, 474 + 1564 + 3692 + 4448 + 1807),
    "f75d18151ad96809e922a80ebe2a171e": ("citation count", 46.963202, 394 + 1371 + 3433 + 1267),
}


@pytest.fixture
def traces(shared_data: Path) -> Path:
    if not (shared_data / "traces").is_dir():
        pytest.skip("the folder of real traces is not beside the repository")
    return shared_data / "traces"


def _tools(case: Case) -> list[dict[str, Any]]:
    assert case.recorded is not None
    tools: Any = getattr(case.recorded, "tools", None) or case.extra.get("tools") or []
    return [
        tool
        if isinstance(tool, dict)
        else {
            name: getattr(tool, name)
            for name in ("name", "arguments", "result", "error", "seconds")
        }
        for tool in tools
    ]


@pytest.mark.parametrize("name", TABLE)
def test_values_of_a_span_export(traces: Path, name: str) -> None:
    (case,) = read_cases([traces / name])
    expected = TABLE[name]
    assert case.recorded is not None
    assert case.question == expected["question"]
    assert case.recorded.answer == expected["answer"]
    assert case.recorded.error is None
    assert [tool["name"] for tool in _tools(case)] == expected["tools"]
    assert case.extra.get("conversation") == expected["session"]
    assert case.recorded.seconds == pytest.approx(expected["seconds"], abs=1e-6)
    assert (case.recorded.prompt_tokens, case.recorded.completion_tokens) == expected["tokens"]
    assert case.extra["model"] == expected["model"]
    assert case.recorded.passages == ()


def test_arguments_results_and_errors_of_tools(traces: Path) -> None:
    (case,) = read_cases([traces / "otel_genai_convention_spans.json"])
    paris, london = _tools(case)
    assert paris["arguments"] == {"location": "Paris"}
    assert paris["result"] == "rainy, 57°F"
    assert paris["error"] is None
    assert paris["seconds"] == 1.0
    assert london["arguments"] == {"location": "London"}
    assert london["result"] is None
    assert london["error"] == "TimeoutError"
    (case,) = read_cases([traces / "smolagents_live_spans.json"])
    search, final = _tools(case)
    assert search["arguments"] == {"query": "population of Tokyo"}
    assert str(search["result"]).startswith("## Search Results")
    assert list(final["arguments"]) == ["answer"]


def test_messages_in_the_body_of_events(traces: Path) -> None:
    weather, joke = read_cases([traces / "openinference_adot_spans.json"])
    assert weather.question == "What is the weather in Alaska?"
    assert weather.recorded is not None
    assert weather.recorded.answer == "The weather in Alaska is -5C and snowy."
    assert weather.recorded.seconds == 5.0
    (tool,) = _tools(weather)
    assert tool["name"] == "get_weather"
    assert tool["arguments"] == {"city": "Alaska"}
    assert tool["result"] == "Weather in Alaska: -5C, snowy"
    assert joke.question == "Tell me a joke"
    assert joke.recorded is not None
    assert joke.recorded.answer == "Why did the chicken cross the road? To get to the other side!"
    assert joke.recorded.seconds == 2.0


def test_a_file_without_content_names_the_setting(traces: Path) -> None:
    with pytest.raises(
        InputError, match=r"2 traces with 3 spans, but no question.*OpenAIInstrumentor"
    ):
        list(read_cases([traces / "autogen_live_spans.json"]))


@pytest.mark.parametrize("name", TRAIL)
def test_values_of_an_agent_trace(traces: Path, name: str) -> None:
    (case,) = read_cases([traces / "trail" / f"{name}.json"])
    answer, seconds, prompt_tokens = TRAIL[name]
    assert case.id == name
    assert case.question.startswith("You have one question to answer.")
    assert case.recorded is not None
    assert case.recorded.answer == answer
    assert case.recorded.seconds == pytest.approx(seconds, abs=1e-6)
    assert case.recorded.prompt_tokens == prompt_tokens
    assert [tool["name"] for tool in _tools(case)] == ["final_answer"]
    assert case.extra["model"] == "o3-mini"


def test_missing_recordings_are_reported(traces: Path, caplog: pytest.LogCaptureFixture) -> None:
    from answerkey.coerce.decode import warn_once

    warn_once.cache_clear()
    with caplog.at_level(logging.WARNING):
        list(read_cases([traces / "smolagents_live_spans.json"]))
    assert "not recorded: passages (record the retriever" in caplog.text
    assert "session (set the attribute session.id" in caplog.text
    assert "tokens" not in caplog.text
