"""Keys and personal data are taken out of texts; other texts stay as they are."""

from __future__ import annotations

import pytest

from answerkey.cases.hide import hide_text

SECRETS = [
    "sk-abcdefghij0123456789",
    "sk-ant-api03-abcdefghij0123456789",
    "AKIAIOSFODNN7EXAMPLE",
    "ghp_abcdefghijklmnopqrst0123",
    "glpat-abcdefghij0123456789",
    "xoxb-1234567890-abcdef",
    "AIzaSyA0123456789abcdefghijklmnopqrstu",
    "hf_abcdefghijklmnopqrst",
    "pk-lf-1234567890abcdef-1234",
    "lsv2_pt_abcdefghij0123456789",
    "sk_live_abcdefghij012345",
    "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.abcdefghij",
]


@pytest.mark.parametrize("secret", SECRETS)
def test_a_key_is_replaced(secret: str) -> None:
    assert hide_text(f"My key is {secret}. Why?") == "My key is [secret]. Why?"


@pytest.mark.parametrize(
    ("text", "hidden"),
    [
        ("Authorization: Bearer abcdefghij0123456789", "Authorization: Bearer [secret]"),
        ("postgres://ann:hunter22@db/x", "postgres://ann:[secret]@db/x"),
        ('{"api_key": "abcdefgh1234"}', '{"api_key": "[secret]"}'),
        ("password = correcthorse1", "password = [secret]"),
        ("access_token: abcdefgh1234", "access_token: [secret]"),
    ],
)
def test_only_the_value_is_replaced(text: str, hidden: str) -> None:
    assert hide_text(text) == hidden


@pytest.mark.parametrize(
    "text",
    [
        "The task-force met.",
        "Ask-me-anything sessions",
        "How do I reset my password?",
        "https://x.org/a:b@c",
        "RM 99,852.83",
    ],
)
def test_other_texts_stay(text: str) -> None:
    assert hide_text(text, ["emails", "phones"]) == text


@pytest.mark.parametrize(
    "number",
    ["+49 228 1234567", "(0228) 123 4567", "555-123-4567", "+1 (555) 123-4567", "0228/1234567"],
)
def test_a_phone_number_is_replaced(number: str) -> None:
    assert hide_text(f"Call {number} now", ["phones"]) == "Call [phone] now"


def test_addresses_stay_without_the_option() -> None:
    assert hide_text("ann@example.org") == "ann@example.org"
    assert hide_text("ann@example.org", ["emails"]) == "[email]"
