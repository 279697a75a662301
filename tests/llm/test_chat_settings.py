"""Settings of a language model: presets, checks that say what to do, and keys that never show."""

from __future__ import annotations

from typing import Any

import pytest

from answerkey.config.tables import PRESETS, ChatTable
from answerkey.errors import SettingsError
from answerkey.llm.chat_settings import read_chat
from answerkey.llm.endpoint import Endpoint
from answerkey.metrics.judge.judged_metrics import load_judge

HERE = {"base_url": "http://127.0.0.1:8080/v1", "model": "m"}


def read_settings(given: Any) -> ChatTable:
    return read_chat(given, ChatTable, "[judge]")


def test_defaults() -> None:
    settings = read_settings(HERE)
    assert (
        settings.concurrency,
        settings.requests_per_minute,
        settings.timeout,
        settings.temperature,
    ) == (
        20,
        0,
        30,
        0,
    )
    assert settings.price_in is None
    assert settings.base_url == "http://127.0.0.1:8080/v1"


@pytest.mark.parametrize(
    "written", ["http://x/v1/", "http://x/v1", "http://x/v1/chat/completions", " http://x/v1 "]
)
def test_the_address_as_people_write_it(written: str) -> None:
    assert read_settings({"base_url": written, "model": "m"}).base_url == "http://x/v1"


@pytest.mark.parametrize("preset", PRESETS)
def test_presets(preset: str, monkeypatch: pytest.MonkeyPatch) -> None:
    if variable := PRESETS[preset].get("api_key_env"):
        monkeypatch.setenv(variable, "key-of-" + variable)
    needed = {"base_url": "https://me.openai.azure.com/openai/v1", "model": "m"}
    missing = {key: value for key, value in needed.items() if key not in PRESETS[preset]}
    settings = read_settings({"preset": preset, **missing})
    assert settings.base_url.startswith("http")
    assert settings.model


def test_groq_is_what_the_preset_says(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GROQ_API_KEY", "gsk_1")
    settings = read_settings("groq")
    assert (settings.model, settings.api_key_env) == ("openai/gpt-oss-120b", "GROQ_API_KEY")
    assert read_settings({"preset": "groq", "model": "other"}).model == "other"


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({**HERE, "modle": "x"}, 'did you mean "model"'),
        ({**HERE, "api_key": "sk-secret"}, "api_key_env"),
        ({"preset": "grok"}, 'did you mean "groq"'),
        ({"preset": "ollama"}, "needs model"),
        ({"model": "m"}, "needs base_url"),
        ({**HERE, "base_url": "127.0.0.1:8080"}, "expected an address"),
        ({**HERE, "base_url": "http://me:pw@host/v1"}, "holds a password"),
        ({**HERE, "base_url": "http://[::1"}, "expected an address"),
        ({**HERE, "concurrency": 0}, "of 1 or more"),
        ({**HERE, "concurrency": 2.5}, "whole number"),
        ({**HERE, "timeout": "30"}, "expected a number"),
        ({**HERE, "timeout": float("nan")}, "expected a number"),
        ({**HERE, "temperature": -1}, "of 0 or more"),
        ({**HERE, "model": ""}, "expected text on one line"),
        ({**HERE, "model": 7}, "expected text"),
        ({**HERE, "api_key_env": "NOT_SET_ANYWHERE"}, "export NOT_SET_ANYWHERE"),
        ({**HERE, "api_key_env": "sk-abcdefghijklmnop"}, "not the key itself"),
        ({**HERE, "api_key_env": "gsk_abcdefghijklmnop"}, "not the key itself"),
    ],
)
def test_a_wrong_setting_is_one_clear_line(given: dict[str, Any], words: str) -> None:
    with pytest.raises(SettingsError) as caught:
        Endpoint(read_settings(given))
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
        Endpoint(read_settings({**HERE, "api_key_env": "MY_KEY"}))
    assert "secret" not in str(caught.value)
