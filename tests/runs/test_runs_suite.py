"""A slip in the suite is found when it is read, with the key and what was expected, whether or not the run needs it."""

import pytest

from answerkey.errors import SettingsError
from answerkey.runs.suite import load_suite

PLAIN = 'cases = ["c.jsonl"]\n'


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("name = 5", "name = 5: expected text"),
        ("profile = []", r"profile = \[\]: expected text or a table"),
        ("profil = 'rag'", 'did you mean "profile"'),
        ("judge = 5", "judge = 5: expected text or a table"),
        ("[judge]\nmodle = 'x'", 'no setting "modle"; did you mean "model"'),
        ("[embedding]\ntread = 2", 'no setting "tread"; did you mean "threads"'),
        ("[embedding]\nmodel = 2", "model = 2: expected text"),
        ("[retrieval]\nalpha_s = [1]", 'no setting "alpha_s"; did you mean "alphas"'),
        ("[run]\nworker = 2", 'did you mean "workers"'),
        ("[run]\nworkers = nan", "workers = nan: expected a whole number of 1 or more"),
        ("[run]\nstop_below = 'x'", 'stop_below = "x": expected a number'),
        ("[run]\nout = 5", "out = 5: expected text"),
        ("[gate]\nrequires = []", 'did you mean "require"'),
    ],
)
def test_a_slip_is_found_when_the_suite_is_read(write, text, told):
    with pytest.raises(SettingsError, match=told):
        load_suite(write("suite.toml", PLAIN + text))


def test_a_folder_stands_for_the_suite_in_it(write, tmp_path):
    with pytest.raises(SettingsError, match=r"a folder without a suite\.toml; .*answerkey init"):
        load_suite(tmp_path)
    write("bot.toml", PLAIN)
    with pytest.raises(SettingsError, match=r"name the suite's file, such as bot\.toml"):
        load_suite(tmp_path)
    assert load_suite(write("suite.toml", PLAIN).parent).cases == ("c.jsonl",)


def test_every_table_may_be_given(write):
    text = (
        PLAIN
        + '[judge]\npreset = "groq"\nvotes = 3\n[embedding]\nthreads = 1\n[retrieval]\nks = [3]\n[run]\nstop_below = 70\n'
    )
    suite = load_suite(write("suite.toml", text))
    assert (suite.run.stop_below, suite.retrieval) == (70, {"sweep": {"ks": [3]}})
    assert "ks is now retrieval.sweep.ks" in suite.notices[0]


def test_an_override_wins_over_the_old_name_of_a_setting(write):
    suite = write("suite.toml", PLAIN + '[retrieval]\ndocuments = "d"\nks = [3]\n')
    for name in ("retrieval.ks", "retrieval.sweep.ks"):
        assert load_suite(suite, {name: [5]}).retrieval["sweep"] == {"ks": [5]}
