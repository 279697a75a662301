"""Who started a run."""

from __future__ import annotations

import getpass

import pytest

from answerkey.runs.started_by import starter_name


@pytest.fixture(autouse=True)
def no_names(monkeypatch: pytest.MonkeyPatch) -> None:
    for variable in ("ANSWERKEY_USER", "GITHUB_ACTOR", "GITLAB_USER_LOGIN"):
        monkeypatch.delenv(variable, raising=False)
    monkeypatch.setattr(getpass, "getuser", lambda: "login")


def test_the_login_name_is_the_last_choice(monkeypatch: pytest.MonkeyPatch) -> None:
    assert starter_name() == "login"
    monkeypatch.setenv("GITHUB_ACTOR", "octocat")
    assert starter_name() == "octocat"
    monkeypatch.setenv("ANSWERKEY_USER", "Ana Lang")
    assert starter_name() == "Ana Lang"


def test_an_empty_name_is_not_recorded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ANSWERKEY_USER", "")
    assert starter_name() is None


def test_a_user_without_a_name(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse() -> str:
        raise KeyError("getpwuid(): uid not found: 1000")

    monkeypatch.setattr(getpass, "getuser", refuse)
    assert starter_name() is None
