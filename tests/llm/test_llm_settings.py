"""Settings of a language model: presets, checks that say what to do, and keys that never show."""

from __future__ import annotations

from typing import Any

import pytest

from answerkey.errors import SettingsError
from answerkey.llm.settings import PRESETS, read_settings
from answerkey.metrics.judge.judged_metrics import load_judge

HERE = {"base_url": "http://127.0.0.1:8080/v1", "model": "m"}


def test_defaults() -> None:
    settings = read_settings(HERE)
    assert (settings.concurrency, settings.requests_per_minute, settings.timeout, settings.temperature) == (
        20,
        0,
        30,
        0,
    )
    assert settings.price_in is None
    assert settings.url == "http://127.0.0.1:8080/v1/chat/completions"


@pytest.mark.parametrize(
    "written", ["http://x/v1/", "http://x/v1", "http://x/v1/chat/completions", " http://x/v1 "]
)
def test_the_address_as_people_write_it(written: str) -> None:
    assert read_settings({"base_url": written, "model": "m"}).url == "http://x/v1/chat/completions"


@pytest.mark.parametrize("preset", PRESETS)
def test_presets(preset: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("GROQ_API_KEY", "OPENAI_API_KEY"):
        monkeypatch.setenv(name, "key-of-" + name)
    settings = read_settings({"preset": preset, **({"model": "m"} if preset in {"ollama", "vllm"} else {})})
    assert settings.base_url.startswith("http")
    assert settings.model


def test_groq_is_what_the_preset_says(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GROQ_API_KEY", "gsk_1")
    settings = read_settings("groq")
    assert (settings.model, settings.api_key_env, settings.key) == (
        "llama-3.3-70b-versatile",
        "GROQ_API_KEY",
        "gsk_1",
    )
    assert read_settings({"preset": "groq", "model": "other"}).model == "other"


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({**HERE, "modle": "x"}, 'did you mean "model"'),
        ({**HERE, "api_key": "sk-secret"}, "api_key_env"),
        ({"preset": "grok"}, 'did you mean "groq"'),
        ({"preset": "ollama"}, "no model given"),
        ({"model": "m"}, "no base_url given"),
        ({**HERE, "base_url": "127.0.0.1:8080"}, "expected an address"),
        ({**HERE, "base_url": "http://me:pw@host/v1"}, "no user name or password"),
        ({**HERE, "base_url": "http://[::1"}, "not an address"),
        ({**HERE, "concurrency": 0}, "at least 1"),
        ({**HERE, "concurrency": 2.5}, "whole number"),
        ({**HERE, "timeout": "30"}, "expected a number"),
        ({**HERE, "timeout": float("nan")}, "expected a number"),
        ({**HERE, "temperature": -1}, "at least 0"),
        ({**HERE, "model": ""}, "no model given"),
        ({**HERE, "model": 7}, "expected a text"),
        ({**HERE, "api_key_env": "NOT_SET_ANYWHERE"}, "export NOT_SET_ANYWHERE"),
        ({**HERE, "api_key_env": "sk-abcdefghijklmnop"}, "not the key itself"),
        ({**HERE, "api_key_env": "gsk_abcdefghijklmnop"}, "not the key itself"),
    ],
)
def test_a_wrong_setting_is_one_clear_line(given: dict[str, Any], words: str) -> None:
    with pytest.raises(SettingsError) as caught:
        read_settings(given)
    assert words in str(caught.value)
    assert "\n" not in str(caught.value)
    assert "secret" not in str(caught.value)
    assert "abcdefghijklmnop" not in str(caught.value)


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({**HERE, "votes": 0}, "votes"),
        ({**HERE, "votes": True}, "votes"),
        ({**HERE, "cache": "yes"}, "true or false"),
        ({**HERE, "vots": 3}, 'did you mean "votes"'),
        ("locl", 'did you mean "local"'),
        ("gorq", 'did you mean "groq"'),
        ({"preset": "local", "votes": 3}, "has no settings"),
    ],
)
def test_a_wrong_judge_is_one_clear_line(given: Any, words: str) -> None:
    with pytest.raises(SettingsError, match=words):
        load_judge(given)


def test_a_key_with_a_line_break_is_refused_and_not_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MY_KEY", "sk-secret\nx: y")
    with pytest.raises(SettingsError) as caught:
        read_settings({**HERE, "api_key_env": "MY_KEY"})
    assert "secret" not in str(caught.value)
