"""Docs can't drift: what the code has is documented, links lead somewhere, and the README's commands run."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import signal
import subprocess
import sys
import tomllib
from pathlib import Path
from urllib.request import urlopen

import pytest
from click.testing import CliRunner

from answerkey.cli.commands import COMMANDS
from answerkey.cli.main import command_line
from answerkey.config.declare import settings_of
from answerkey.config.target_tables import SKILLS
from answerkey.demo.kpi_catalog import Kpi
from answerkey.metrics.registry import all_metrics
from answerkey.profiles.load import builtin_names

ROOT = Path(__file__).resolve().parents[1]
REFERENCE = ROOT / "docs" / "reference"
PAGES = [
    ROOT / "README.md",
    ROOT / "CHANGELOG.md",
    ROOT / "CONTRIBUTING.md",
    ROOT / "SECURITY.md",
    *sorted((ROOT / "docs").rglob("*.md")),
    *sorted((ROOT / "examples").rglob("*.md")),
]
README = (ROOT / "README.md").read_text(encoding="utf-8")
README_COMMANDS = [
    line.split("#")[0].strip()
    for block in re.findall(r"```sh\n(.*?)```", README, re.DOTALL)
    for line in block.splitlines()
]


def page(name: str) -> str:
    return (REFERENCE / f"{name}.md").read_text(encoding="utf-8")


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_and_option_is_documented(command: str) -> None:
    text = page("commands")
    assert f"## answerkey {command}\n" in text
    helped = CliRunner().invoke(command_line, [command, "--help"])
    assert helped.exit_code == 0
    assert "Example" in helped.output, f"answerkey {command} --help has no example"
    section = text.split(f"## answerkey {command}\n")[1].split("\n## ")[0]
    for option in set(re.findall(r"(?<![\w-])--[a-z][a-z-]+", helped.output)):
        assert option in section, (
            f"{option} of answerkey {command} is not in docs/reference/commands.md"
        )


@pytest.mark.parametrize("metric", [metric.name for metric in all_metrics()])
def test_every_metric_is_documented(metric: str) -> None:
    assert f"| `{metric}` |" in page("metrics")


@pytest.mark.parametrize("profile", builtin_names())
def test_every_profile_is_documented(profile: str) -> None:
    assert f"## {profile}\n" in page("profiles")


def test_every_key_of_a_kpi_catalogue_is_documented() -> None:
    text = (ROOT / "docs" / "how-to" / "kpi-bot.md").read_text(encoding="utf-8")
    for key in settings_of(Kpi):
        assert f"\n{key} = " in text, key
    for skill in SKILLS:
        assert f'"{skill}"' in text


def test_the_reference_is_what_the_code_says() -> None:
    done = subprocess.run(
        [sys.executable, str(ROOT / "tools" / "make_reference.py"), "--check"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("path", PAGES, ids=lambda path: str(path.relative_to(ROOT)))
def test_links_lead_somewhere(path: Path) -> None:
    for target in re.findall(r"\]\(([^)\s]+)\)", path.read_text(encoding="utf-8")):
        if "://" not in target and not target.startswith("#"):
            assert (path.parent / target.split("#")[0]).exists(), f"{path.name} links to {target}"


@pytest.mark.parametrize("path", PAGES, ids=lambda path: str(path.relative_to(ROOT)))
def test_toml_in_the_docs_is_toml(path: Path) -> None:
    for block in re.findall(r"```toml\n(.*?)```", path.read_text(encoding="utf-8"), re.DOTALL):
        assert tomllib.loads(block), f"{path.name} holds a TOML block that says nothing"


def test_commands_named_in_the_docs_exist() -> None:
    for path in PAGES:
        for name in re.findall(r"`answerkey ([a-z][a-z-]*)", path.read_text(encoding="utf-8")):
            assert name in COMMANDS, f"{path.name} names answerkey {name}"


def _commands_in(text: str) -> list[str]:
    """Every command that a page tells the reader to type: indented, in a shell block, or in inline code."""
    indented = re.findall(r"^(?: {4,}|\$ )?(answerkey [a-z].*)$", text, re.MULTILINE)
    inline = re.findall(r"`(answerkey [a-z][^`]*)`", text)
    return [
        part
        for line in indented + inline
        for part in re.split(r"&&|\|\||\||;", line.split(" #")[0])
    ]


@pytest.mark.parametrize(
    "path",
    [p for p in PAGES if p.parent != REFERENCE],
    ids=lambda path: str(path.relative_to(ROOT)),
)
def test_options_named_in_the_docs_exist(path: Path) -> None:
    for line in _commands_in(path.read_text(encoding="utf-8")):
        found = re.search(r"answerkey ([a-z]+)(.*)", line)
        options = re.findall(r"(?<![\w-])--[a-z][a-z-]+", found[2]) if found else []
        if found and options:
            is_group = found[1] == "models"
            sub = [word for word in found[2].split()[:1] if is_group or word in ("set", "show")]
            helped = CliRunner().invoke(command_line, [found[1], *sub, "--help"]).output
            assert all(option in helped for option in options), f"{path.name}: {line}"


def test_the_readme_is_short_and_shows_python_and_shell() -> None:
    assert len(README.splitlines()) <= 120
    assert README_COMMANDS[:4] == [
        "pip install .",
        "answerkey init mybot",
        "answerkey run mybot/suite.toml",
        "answerkey view mybot/results",
    ]


def test_the_readmes_python_prints_what_the_readme_shows(
    capsys: pytest.CaptureFixture[str],
) -> None:
    (python,) = re.findall(r"```python\n(.*?)```", README, re.DOTALL)
    exec(python, {})
    shown = re.findall(r"```text\n(.*?)```", README, re.DOTALL)[0]
    assert capsys.readouterr().out == shown


def test_contributing_gives_the_time_of_each_command() -> None:
    text = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    for target in ("demo", "quick", "test"):
        assert re.search(rf"\| `make {target}` \|.*\| .*min", text), target


def test_contributing_names_files_that_exist_and_at_most_three_for_each_change() -> None:
    text = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    rows = re.findall(
        r"^\| ([a-z `]+) \| (.+) \|$",
        text.split("## How do I add")[1].split("## Style")[0],
        re.MULTILINE,
    )
    assert len(rows) >= 10
    for change, files in rows:
        named = re.findall(r"`([a-z_/]+(?:\.[a-z]+|/))`", files)
        assert len(named) <= 3, change
        for name in named:
            assert (ROOT / "src" / "answerkey" / name).exists(), f"{change}: {name}"


# Packages whose modules all have a test file of their name, or a line in CONTRIBUTING.
TESTED_PACKAGES = sorted(
    str(folder.relative_to(ROOT / "src" / "answerkey"))
    for folder in {module.parent for module in (ROOT / "src" / "answerkey").rglob("*.py")}
    if folder.name not in ("answerkey", "cli", "starter")
)


def test_contributing_says_where_modules_are_tested() -> None:
    text = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    section = text.split("## Where modules are tested")[1].split("\n## ")[0]
    listed: set[str] = set()
    for modules, tests in re.findall(r"^\| (`.+) \| (`.+) \|$", section, re.MULTILINE):
        names = re.findall(r"`(.+?)`", modules)
        for name in names:
            assert (ROOT / "src" / "answerkey" / name).exists(), name
        for name in re.findall(r"`(.+?)`", tests):
            assert (ROOT / name).is_file(), name
        listed.update(names)
    for package in TESTED_PACKAGES:
        for module in sorted((ROOT / "src" / "answerkey" / package).glob("[!_]*.py")):
            name = f"{package}/{module.name}"
            has_file = (ROOT / "tests" / package / f"test_{module.name}").is_file()
            assert has_file or name in listed or f"{package}/" in listed, f"{name} is not tested"


def test_the_map_of_the_run_package_names_every_module_and_no_other() -> None:
    import answerkey.runs

    text = answerkey.runs.__doc__ or ""
    modules = {path.stem for path in (ROOT / "src/answerkey/runs").glob("[!_]*.py")}
    assert {name for name in modules if not re.search(rf"\b{name}\b", text)} == set()
    # The first word of a line of a list, or a name in backticks.
    listed = re.findall(r"^    ([a-z_0-9]+)(?= )|`([a-z_0-9]+)`", text, re.MULTILINE)
    assert {first or second for first, second in listed} - modules == set()


def test_the_make_targets_do_what_the_readme_says() -> None:
    if shutil.which("make") is None:
        pytest.skip("make is not installed")
    for target, part in (
        ("demo", "answerkey demo"),
        ("test", "pytest"),
        ("quick", "not slow"),
        ("lint", "ruff"),
        ("bench", "benchmarks"),
    ):
        plan = subprocess.run(
            ["make", "-n", target], cwd=ROOT, capture_output=True, text=True, check=True
        ).stdout
        assert part in plan


RUN_ELSEWHERE = ("pip install .",)


@pytest.mark.slow
@pytest.mark.network
def test_each_readme_command_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PATH", f"{Path(sys.executable).parent}:/usr/bin:/bin")
    ran = 0
    for command in README_COMMANDS:
        if command in RUN_ELSEWHERE:
            continue
        if "RUN_" in command:
            command = _with_runs(command, tmp_path)
        if command.startswith("answerkey view"):
            assert "my-bot" in _viewed(command)
        else:
            done = subprocess.run(
                ["bash", "-c", command], capture_output=True, text=True, check=False, timeout=300
            )
            assert done.returncode == 0, f"{command}\n{done.stdout}{done.stderr}"
        ran += 1
    assert ran >= 6


def _viewed(command: str) -> str:
    """The first page of the viewer, which is then stopped by Ctrl-C."""
    with subprocess.Popen(
        shlex.split(command), stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    ) as viewer:
        assert viewer.stdout is not None
        try:
            told = next(
                found
                for line in viewer.stdout
                if (found := re.search(r"http://127\.0\.0\.1:\d+\S*", line))
            )
            with urlopen(told[0], timeout=60) as page:
                return page.read().decode()
        finally:
            viewer.send_signal(signal.SIGINT)


def _with_runs(command: str, folder: Path) -> str:
    """RUN_A and RUN_B are the first run and one with the bug fixed."""
    bot = folder / "mybot" / "bot.py"
    bug, fix = "question.lower().split()\n", 'question.lower().strip("?").split()\n'
    if bug in bot.read_text():
        bot.write_text(bot.read_text().replace(bug, fix))
        subprocess.run(
            ["answerkey", "run", "mybot/suite.toml", "--quiet"], check=True, capture_output=True
        )
    runs = sorted(path.name for path in (folder / "mybot" / "results").iterdir())
    return command.replace("RUN_A", runs[0]).replace("RUN_B", runs[1])


@pytest.mark.slow
def test_the_site_builds_without_a_warning(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", str(tmp_path)]
    environment = {**os.environ, "NO_MKDOCS_2_WARNING": "1"}
    built = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True)
    assert built.returncode == 0, built.stderr
    assert "WARNING" not in built.stderr
    assert (tmp_path / "start.html").exists()
