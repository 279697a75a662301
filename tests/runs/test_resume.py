"""Which run `--resume` continues: by the suite recorded in run.json, the newest unfinished one, or a refusal."""

import fcntl
import json
import shutil
from datetime import UTC, datetime, timedelta

import pytest
from tests.support.stored_run import forget_after

from answerkey.runs.store import read_outcomes

CASES = [
    {"id": f"q{n}", "question": f"q {n}?", "expected": "yes", "answer": "no" if n == 1 else "yes"}
    for n in range(4)
]
SUITE = """
name = "{name}"
cases = ["cases.jsonl"]
metrics = ["keyword_recall"]
[profile]
name = "words"
version = 1
pass = 0.5
bands = [{{ name = "good", at = 0.5, status = "PASSED" }}, {{ name = "poor", at = 0.0, status = "FAILED" }}]
criteria = [{{ metric = "exact_match" }}]
[target]
kind = "recorded"
[embedding]
model = "none"
[run]
out = "results"
"""


@pytest.fixture
def world(cli, write, tmp_path):
    world = World(cli, write, tmp_path)
    yield world
    if world.lock:
        world.lock.close()


class World:
    """Suites whose second case fails, so that `--stop-on-fail` leaves an unfinished run."""

    def __init__(self, cli, write, folder):
        self.cli, self.write, self.folder, self.lock = cli, write, folder, None

    def suite(self, name="bot", folder="."):
        self.write(f"{folder}/cases.jsonl", CASES)
        return self.write(f"{folder}/{name}.toml", SUITE.format(name=name))

    def start(self, suite, *more, stop=True):
        """A new run; unfinished with `stop`."""
        out = suite.parent / "results"
        before = set(out.glob("*"))
        shown = self.cli(
            "run", suite, "--quiet", "--no-charts", *(["--stop-on-fail"] if stop else []), *more
        )
        assert shown.code == (1 if stop else 0), shown.err
        (new,) = set(out.glob("*")) - before
        return new

    def resume(self, suite, *more):
        """The folder that was continued, or the message of the refusal."""
        shown = self.cli("run", suite, "--resume", "--quiet", "--no-charts", *more)
        if shown.code:
            return shown.last_line
        folder = next(line for line in shown.err.splitlines() if line.startswith("run folder: "))
        return suite.parent / folder.removeprefix("run folder: ")

    def edit(self, run, **changes):
        path = run / "run.json"
        path.write_text(json.dumps(json.loads(path.read_text()) | changes))

    def created(self, run):
        return datetime.fromisoformat(json.loads((run / "run.json").read_text())["created"])


def two_suites_in_one_folder(world):
    mine, other = world.suite("a"), world.suite("b")
    wanted = world.start(mine)
    other_run = world.start(other)
    # A folder's name proves nothing: the other suite's run gets a name that begins like this one's.
    other_run.rename(other_run.with_name("a_29991231_235959"))
    return mine, wanted


def one_name_is_the_prefix_of_the_other(world):
    mine, other = world.suite("bot"), world.suite("bot_v2")
    wanted = world.start(mine)
    world.start(other)
    return mine, wanted


def a_rescore_in_between(world):
    mine = world.suite()
    wanted = world.start(mine)
    shown = world.cli("rescore", wanted, "--metrics", "token_f1", "--quiet", "--no-charts")
    assert shown.code in (0, 1, 3), shown.err
    return mine, wanted


def other_time_zones(world):
    """The older run was started where the clock showed a later hour."""
    mine = world.suite()
    older, wanted = world.start(mine), world.start(mine)
    east = world.created(wanted) - timedelta(hours=1) + timedelta(hours=9)
    world.edit(older, created=f"{east.replace(tzinfo=None).isoformat()}+09:00")
    return mine, wanted


def a_clock_set_back(world):
    """The first run was started while the clock was days ahead; the second one has a credible time."""
    mine = world.suite()
    first, wanted = world.start(mine), world.start(mine)
    world.edit(first, created=(datetime.now(UTC) + timedelta(days=3)).isoformat())
    return mine, wanted


def a_clock_set_back_between_two_runs(world):
    """A run that is started later is the later one, whatever the clock says."""
    mine = world.suite()
    first = world.start(mine)
    world.edit(first, created=(datetime.now(UTC) + timedelta(minutes=20)).isoformat())
    second = world.start(mine)
    assert world.created(second) > world.created(first)
    return mine, "INVALID"


def a_copied_folder(world):
    """A copy made as a backup is not the run; it is not even a run of this suite where the suite was copied too."""
    mine = world.suite()
    wanted = world.start(mine)
    shutil.copytree(wanted, wanted.with_name(f"{wanted.name}_copy"))
    shutil.copytree(wanted, wanted.with_name("bot_29990101_000000"))
    return mine, wanted


def two_copies_without_the_original(world):
    mine = world.suite()
    run = world.start(mine)
    shutil.copytree(run, run.with_name("copy_1"))
    run.rename(run.with_name("copy_2"))
    return mine, "INVALID"


def a_run_copied_from_another_project(world):
    other = world.suite(folder="other")
    mine = world.suite(folder="mine")
    theirs = world.start(other)
    wanted = world.start(mine)
    shutil.copytree(theirs, wanted.with_name("bot_29990101_000000"))
    return mine, wanted


def a_finished_and_an_unfinished_run(world):
    mine = world.suite()
    wanted = world.start(mine)
    world.start(mine, stop=False)
    return mine, wanted


def another_process_holds_the_lock(world):
    mine = world.suite()
    world.start(mine)
    newest = world.start(mine)
    world.lock = (newest / "run.lock").open("a+")
    fcntl.flock(world.lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    return mine, "INCOMPLETE"


@pytest.mark.parametrize(
    "confuse",
    [
        two_suites_in_one_folder, one_name_is_the_prefix_of_the_other, a_rescore_in_between, other_time_zones, a_clock_set_back,
        a_clock_set_back_between_two_runs, a_copied_folder, two_copies_without_the_original, a_run_copied_from_another_project,
        a_finished_and_an_unfinished_run, another_process_holds_the_lock,
    ],
    ids=lambda confuse: confuse.__name__,
)  # fmt: skip
def test_resume_takes_the_right_run_or_refuses(world, confuse):
    suite, wanted = confuse(world)
    before = {path: (path / "run.json").read_text() for path in suite.parent.glob("results/*")}
    found = world.resume(suite)
    if isinstance(wanted, str):
        assert str(found).startswith(f"{wanted}: ")
    else:
        assert found == wanted
    untouched = {path: (path / "run.json").read_text() for path in before if path != wanted}
    assert untouched == {path: text for path, text in before.items() if path != wanted}


def test_accept_changes_cannot_take_over_the_run_of_another_suite(world):
    """Not even where the other suite's run is the only one, and its file is gone."""
    other = world.suite("other")
    theirs = world.start(other)
    mine = world.suite("bot")
    theirs.rename(theirs.with_name("bot_20260101_000000"))
    found = world.resume(mine, "--accept-changes")
    assert found.name != "bot_20260101_000000"
    assert json.loads((found / "run.json").read_text())["name"] == "bot"


def test_a_moved_project_resumes_its_own_run(world):
    mine = world.suite(folder="here")
    run = world.start(mine)
    mine.parent.rename(world.folder / "there")
    moved = world.folder / "there" / "bot.toml"
    assert world.resume(moved) == world.folder / "there" / "results" / run.name


@pytest.mark.parametrize("command", ["rescore", "run"])
def test_a_rescore_killed_in_its_reports_gets_them_in_its_own_folder(world, command):
    run = world.start(world.suite(), stop=False)
    world.cli("rescore", run, "--metrics", "token_f1", "--quiet", "--no-charts")
    (made,) = (path.parent for path in run.parent.glob("*/run.json") if path.parent != run)
    (made / "report.txt").unlink()
    (made / ".run.json.999999.0a1b2c3d").touch()
    shown = world.cli(command, made, "--resume", "--quiet", "--no-charts")
    assert shown.code == 0, shown.err
    assert "nothing to resume" in shown.err
    assert (made / "report.txt").is_file()
    assert not list(made.glob(".run.json.*"))
    assert {path.parent for path in run.parent.glob("*/run.json")} == {run, made}


@pytest.mark.parametrize("how", ["rescore", "run the folder", "run the suite"])
def test_a_killed_rescore_can_be_resumed(world, how):
    suite = world.suite()
    run = world.start(suite, stop=False)
    asked = ("rescore", run, "--metrics", "token_f1", "--quiet", "--no-charts")
    assert world.cli(*asked).code == 0
    (half,) = set(suite.parent.glob("results/*")) - {run}
    forget_after(half, 2)  # as kill -9 leaves it
    manifest = json.loads((half / "run.json").read_text())
    manifest.pop("records", None)
    (half / "run.json").write_text(json.dumps(manifest | {"partial": "in progress"}))
    commands = {
        "rescore": (*asked, "--resume"),
        "run the folder": ("run", half, "--resume", "--quiet", "--no-charts"),
        "run the suite": ("run", suite, "--resume", "--quiet", "--no-charts"),
    }
    shown = world.cli(*commands[how])
    assert shown.code == 0, shown.err
    assert len(list(suite.parent.glob("results/*"))) == 2
    summary = json.loads((half / "summary.json").read_text())
    assert summary["totals"]["cases"] == 4
    assert summary["partial"] == ""
    assert "token_f1" in summary["average_scores"]


def test_cases_in_another_order_are_refused_or_keep_their_answers(world):
    suite = world.suite()
    run = world.start(suite, stop=False)
    forget_after(run, 2)
    world.edit(run, partial="in progress")
    world.write("cases.jsonl", CASES[::-1])
    assert "the order of the cases changed since this run began" in world.resume(suite)
    assert world.resume(suite, "--accept-changes") == run
    assert [outcome.case.id for outcome in read_outcomes(run)] == ["q0", "q1", "q3", "q2"]


def test_after_an_accepted_change_the_answers_stay_with_their_cases(world):
    """The positions of a run are then not those of the case file, however often it is resumed."""
    suite = world.suite()
    run = world.start(suite, stop=False)
    forget_after(run, 2)
    world.edit(run, partial="in progress")
    first = {"id": "new", "question": "new?", "expected": "yes", "answer": "yes"}
    world.write("cases.jsonl", [first, *CASES])
    assert world.resume(suite, "--accept-changes", "--resume-limit", "1") == run
    assert world.resume(suite) == run
    ids = [outcome.case.id for outcome in read_outcomes(run)]
    assert sorted(ids) == ["new", "q0", "q1", "q2", "q3"]
