"""Markdown of a bot: shown with its formatting, and unable to do anything."""

from __future__ import annotations

from html.parser import HTMLParser
from pathlib import Path

import pytest

from answerkey.reports.word_marks import compare_words
from answerkey.viewer.rich_text import LONGEST, render_markdown

LINES = (Path(__file__).parent / "hostile_markdown.txt").read_text(encoding="utf-8").splitlines()
SAMPLES = [line.encode("latin-1", "backslashreplace").decode("unicode_escape") for line in LINES]
SAMPLES += [
    "| a |" * 1200 + "\n" + "|---|" * 1200 + "\n" + "| b |" * 1200,
    ">" * 5000 + " deep",
    "*" * 9000 + "a",
    "[" * 9000 + "a](b)",
]
_TAGS = {
    "p",
    "strong",
    "em",
    "code",
    "pre",
    "ul",
    "ol",
    "li",
    "blockquote",
    "table",
    "thead",
    "tbody",
    "tr",
    "th",
    "td",
    "span",
    "mark",
    "hr",
    "br",
}


class _Reader(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.problems: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag not in _TAGS:
            self.problems.append(tag)
        self.problems += [name for name, _ in attrs if name not in ("class", "tabindex", "start")]

    def handle_comment(self, data: str) -> None:
        self.problems.append("comment")

    def handle_decl(self, decl: str) -> None:
        self.problems.append("declaration")


def test_there_are_fifty_samples() -> None:
    assert len(set(SAMPLES)) >= 50


@pytest.mark.parametrize("text", SAMPLES, ids=range(len(SAMPLES)))
@pytest.mark.parametrize("prefix", ["", "**Note**\n\n"], ids=["alone", "in a text"])
def test_hostile_markdown_is_inert(text: str, prefix: str) -> None:
    html = render_markdown(prefix + text)
    assert html is not None or not prefix
    reader = _Reader()
    reader.feed(str(html or ""))
    reader.close()
    assert reader.problems == []
    assert not set(str(html)) & set("\x1b\x00\u202e\u2066")


def test_a_link_is_shown_with_its_address() -> None:
    html = render_markdown("see [the rules](https://example.org/a)")
    assert html is not None
    assert "the rules" in html
    assert "(https://example.org/a)" in html
    assert "<a" not in html


@pytest.mark.parametrize("text", ["", "Plain text.", "two\nlines", "2 < 3 & 4 > 1"])
def test_plain_text_needs_no_rendering(text: str) -> None:
    assert render_markdown(text) is None


def test_very_long_text_is_not_parsed() -> None:
    assert render_markdown("**a** " * LONGEST) is None


def test_words_are_marked_inside_the_formatting() -> None:
    _, marks = compare_words("25 days of leave", "You get **28 days** of leave")
    html = render_markdown("You get **28 days** of leave", marks)
    assert html is not None
    assert '<strong><mark class="other">28</mark> days</strong>' in html
