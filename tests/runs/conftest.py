"""What the tests of runs share."""

import pytest
from tests.support.recorded import PROFILE, ROWS


@pytest.fixture
def scored(cli, write, tmp_path):
    def score(*more, rows=ROWS):
        path, profile = write("answers.jsonl", rows), write("words.toml", PROFILE)
        shown = cli(
            "score",
            path,
            "--profile",
            profile,
            "--metrics",
            "exact_match,keyword_recall",
            "--out",
            tmp_path / "out",
            *more,
        )
        return shown, max((tmp_path / "out").glob("score_*"), default=None)

    return score
