"""Markdown of a bot as safe HTML.

Raw HTML stays text. Links and images are shown with their address, but lead nowhere: a page that
holds a bot's answer must not take its reader to a place that the bot chose.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from html import escape
from typing import Any

from markdown_it import MarkdownIt
from markdown_it.token import Token
from markupsafe import Markup

from answerkey.reports.word_marks import DiffPart, WordMarks
from answerkey.text import printable

# Longer texts are shown as plain text: parsing takes about a second per megabyte.
LONGEST = 20_000
_PLAIN_TAGS = {
    "heading_open": '<p class="md-heading">',
    "heading_close": "</p>\n",
    "th_open": "<th>",
    "td_open": "<td>",
}
_MARK_CLASSES = {"missing": "missing", "added": "added-word", "other": "other"}


def render_markdown(text: str, marks: WordMarks | None = None) -> Markup | None:
    """The text as HTML; None for plain text, which needs no rendering, and for very long text.

    >>> render_markdown("see **25 days**")
    Markup('<p>see <strong>25 days</strong></p>\\n')
    """
    if len(text) > LONGEST:
        return None
    parser = _parser()
    tokens = parser.parse(text)
    if not _has_formatting(tokens):
        return None
    html = parser.renderer.render(tokens, parser.options, {"marks": marks})
    # An entity such as &#x202e; becomes a control character only while it is rendered.
    return Markup(printable(html))


@cache
def _parser() -> MarkdownIt:
    parser = MarkdownIt("commonmark", {"html": False, "maxNesting": 20}).enable("table")
    # Without the check of the address, a javascript: link is recognised as a link, and is then
    # shown with its address like any other.
    parser.validateLink = lambda url: True
    parser.add_render_rule("text", _render_text)
    parser.add_render_rule("link_open", _render_link_open)
    parser.add_render_rule("link_close", _render_link_close)
    parser.add_render_rule("image", _render_image)
    parser.add_render_rule("fence", _render_code)
    parser.add_render_rule("code_block", _render_code)
    # A heading of an answer is no heading of the page. The alignment of a column would be an
    # inline style, which the page's policy forbids.
    for name, html in _PLAIN_TAGS.items():
        parser.add_render_rule(name, _constant_rule(html))
    return parser


def _constant_rule(html: str) -> Any:
    def render(self: Any, tokens: Sequence[Token], at: int, options: Any, env: Any) -> str:
        return html

    return render


def _has_formatting(tokens: Sequence[Token]) -> bool:
    """Whether anything but paragraphs of plain text was recognised."""
    for token in tokens:
        if token.type not in ("paragraph_open", "paragraph_close", "inline"):
            return True
        children = token.children or ()
        if any(child.type not in ("text", "softbreak") for child in children):
            return True
    return False


def _render_text(
    self: Any, tokens: Sequence[Token], at: int, options: Any, env: Mapping[str, Any]
) -> str:
    marks: WordMarks | None = env.get("marks")
    content = tokens[at].content
    if marks is None:
        return escape(content)
    return "".join(map(_mark_html, marks.split(content)))


def _mark_html(part: DiffPart) -> str:
    text = escape(part.text)
    if part.kind not in _MARK_CLASSES:
        return text
    return f'<mark class="{_MARK_CLASSES[part.kind]}">{text}</mark>'


def _render_link_open(self: Any, tokens: Sequence[Token], at: int, options: Any, env: Any) -> str:
    return '<span class="inert-link">'


def _render_link_close(self: Any, tokens: Sequence[Token], at: int, options: Any, env: Any) -> str:
    opening = _opening_link(tokens, at)
    if opening:
        address = str(opening.attrGet("href") or "")
    else:
        address = ""
    if tokens[at - 1].content == address:  # <https://example.org> is its own address
        return "</span>"
    return f' <span class="address">({escape(address)})</span></span>'


def _opening_link(tokens: Sequence[Token], closing: int) -> Token | None:
    for token in reversed(tokens[:closing]):
        if token.type == "link_open":
            return token
    return None


def _render_image(self: Any, tokens: Sequence[Token], at: int, options: Any, env: Any) -> str:
    token = tokens[at]
    address = escape(str(token.attrGet("src") or ""))
    return f'<span class="inert-link">[image: {escape(token.content)}]</span> ({address})'


def _render_code(self: Any, tokens: Sequence[Token], at: int, options: Any, env: Any) -> str:
    return f'<pre tabindex="0"><code>{escape(tokens[at].content)}</code></pre>\n'
