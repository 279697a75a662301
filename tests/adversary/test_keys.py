"""A key that an endpoint, a bot or a program repeats, in whatever spelling, is in no file and in no output."""

from __future__ import annotations

import json
import sys
from base64 import b64encode
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest
from tests.adversary.attack import write_suite
from tests.support.loopback import Bot

from answerkey.secrets import Secrets

KEY = 'sk-a"b\\c/d+e&f=0123456789'
SPELLINGS = {
    "raw": KEY,
    "JSON": json.dumps(KEY)[1:-1],
    "JSON twice": json.dumps(json.dumps(KEY))[1:-1],
    "escapes": "".join(f"\\u{ord(char):04x}" for char in KEY),
    "percent": quote(KEY, safe=""),
    "base64": b64encode(f"user:{KEY}".encode()).decode(),
    "repr": repr(KEY),
    "upper case": KEY.upper(),
}
HTTP = 'url = "{url}"\nheaders = {{ Authorization = "Bearer ${{MY_KEY}}" }}'


@pytest.fixture(autouse=True)
def _key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MY_KEY", KEY)


def suite_with(folder: Path, target: str, more: str = "", bot: str = "", head: str = "") -> Path:
    suite = write_suite(folder, bot, 2, head=head, more=more)
    suite.write_text(suite.read_text().replace('call = "bot:answer"', target))
    return suite


def check(cli: Callable[..., Any], folder: Path, suite: Path, *options: str) -> None:
    """Every file below the folder and everything printed is free of the key; hiding it once more changes nothing."""
    hidden = Secrets([KEY])
    ended = cli("run", suite, "--no-charts", *options)
    assert ended.code in (0, 1, 3), ended.err
    run = next(folder.glob("results/*/run.json")).parent
    shown = [
        ended.out,
        ended.err,
        *(each for command in (("report", run), ("summary", run)) for each in (cli(*command).out,)),
    ]
    for text in shown:
        assert hidden.hide(text) == text
    for path in folder.rglob("*"):
        if path.is_file() and path.name not in ("bot.py", "program.py"):
            text = path.read_bytes().decode("utf-8", "replace")
            assert hidden.hide(text) == text, path
            for name, spelled in SPELLINGS.items():
                assert spelled not in text, (path, name)


def in_json(spelled: str, escaped: bool) -> bytes:
    """A reply that holds the text; `escaped`: with its escapes left for the reader of the JSON to undo."""
    text = spelled if escaped else json.dumps(spelled)[1:-1]
    return f'{{"answer": "you sent {text} to me", "sources": [{{"text": "{text}"}}], "route": "{text}"}}'.encode()


@pytest.mark.network
@pytest.mark.parametrize("spelling", SPELLINGS)
def test_a_target_that_repeats_the_key(
    tmp_path: Path, cli: Callable[..., Any], spelling: str
) -> None:
    spelled = SPELLINGS[spelling]
    replies: Iterator[Any] = iter(
        [
            (
                200,
                "application/json",
                in_json(spelled, spelling in ("JSON", "escapes", "JSON twice")),
            ),
            (500, "text/plain", f"bad {spelled}".encode()),
        ]
    )
    with Bot(lambda body: next(replies)) as bot:
        check(
            cli,
            tmp_path,
            suite_with(tmp_path, HTTP.format(url=bot.url), more="[run]\nworkers = 1\n"),
        )


@pytest.mark.network
@pytest.mark.parametrize("spelling", ["raw", "percent", "base64"])
@pytest.mark.parametrize("who", ["judge", "target"])
def test_a_redirect_whose_address_repeats_the_header(
    tmp_path: Path, cli: Callable[..., Any], who: str, spelling: str
) -> None:
    place = f"http://127.0.0.1:1/?was=Bearer {SPELLINGS[spelling]}"

    with Bot(lambda body: (302, "text/plain", b"", place)) as bot:
        judge = f'[judge]\nbase_url = "{bot.url}/v1"\nmodel = "m"\napi_key_env = "MY_KEY"\n'
        good = "def answer(question):\n    return 'It is fine.'\n"
        head = 'metrics = ["rubric.accuracy"]'
        judged = suite_with(tmp_path, 'call = "bot:answer"', more=judge, bot=good, head=head)
        check(
            cli,
            tmp_path,
            suite_with(tmp_path, HTTP.format(url=bot.url)) if who == "target" else judged,
        )
        assert bot.requests


@pytest.mark.parametrize("spelling", SPELLINGS)
def test_an_exception_that_carries_the_key(
    tmp_path: Path, cli: Callable[..., Any], spelling: str
) -> None:
    bot = f"def answer(question):\n    raise ValueError('refused: ' + {SPELLINGS[spelling]!r})\n"
    check(cli, tmp_path, suite_with(tmp_path, 'call = "bot:answer"', bot=bot))


def test_a_program_that_prints_the_key(tmp_path: Path, cli: Callable[..., Any]) -> None:
    (tmp_path / "program.py").write_text(f"import sys\nsys.stderr.write({KEY!r})\nsys.exit(3)\n")
    check(
        cli,
        tmp_path,
        suite_with(
            tmp_path, f'kind = "command"\nrun = [{json.dumps(sys.executable)}, "program.py"]'
        ),
    )
