"""Who starts a run, as run.json records it and the viewer shows it."""

from __future__ import annotations

import getpass
import os

# In CI the login name is that of the machine; these are set to the person behind the job.
_CI_VARIABLES = ("GITHUB_ACTOR", "GITLAB_USER_LOGIN")
_VARIABLE = "ANSWERKEY_USER"


def starter_name() -> str | None:
    """ANSWERKEY_USER, else the person behind a CI job, else the login name; None if there is none.

    An empty ANSWERKEY_USER keeps the name out of the run.
    """
    if _VARIABLE in os.environ:
        return os.environ[_VARIABLE].strip() or None
    for variable in _CI_VARIABLES:
        if os.environ.get(variable):
            return os.environ[variable]
    try:
        return getpass.getuser()
    except (OSError, KeyError, ImportError):  # a container whose user has no name
        return None
