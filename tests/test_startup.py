"""Importing the package and asking for help load nothing heavy."""

import subprocess
import sys

import pytest

HEAVY = ("numpy", "scipy", "pandas", "pyarrow", "duckdb", "onnxruntime", "tokenizers", "rich", "httpx2", "altair", "starlette", "jinja2", "yaml", "bm25s", "rapidfuzz", "answerkey.metrics.overlap")  # fmt: skip


@pytest.mark.parametrize(
    "code",
    [
        "import answerkey",
        "from answerkey.cli.main import command_line; command_line(['--help'], standalone_mode=False)",
    ],
)
def test_nothing_heavy_is_loaded(code):
    told = f"{code}; import sys; print('LOADED', *(m for m in {HEAVY!r} if m in sys.modules))"
    done = subprocess.run([sys.executable, "-c", told], capture_output=True, text=True, check=True)
    assert done.stdout.strip().splitlines()[-1] == "LOADED"


def test_every_public_name_can_be_had():
    import answerkey

    for name in answerkey.__all__:
        assert getattr(answerkey, name) is not None


def test_every_command_has_help_with_an_example(cli):
    from answerkey.cli.commands import COMMANDS

    for name in COMMANDS:
        shown = cli(name, "--help")
        assert shown.code == 0, name
        assert "Example" in shown.out, f"answerkey {name} --help has no example"


def test_a_wrong_command_suggests_the_right_one(cli):
    shown = cli("scor")
    assert shown.code == 2
    assert 'did you mean "score"' in shown.err
