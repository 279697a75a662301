"""Every error a user can meet, in one tree.

    AnswerkeyError
    ├── InputError         a file, row or value that cannot be used           exit 2
    ├── SettingsError      a suite, option, name or profile that is wrong     exit 2
    ├── MissingPackage     an extra that has to be installed first            exit 2
    └── IncompleteError    the run could not be completed                     exit 3
        ├── EndpointError  a bot, judge or store that does not answer
        └── StorageError   a folder that cannot be written, locked or read

The message is one line: what was found, what was expected, what to do. Anything outside the
tree is a bug: exit 70, with the traceback.
"""

from collections.abc import Iterable
from dataclasses import dataclass

EXIT_OK = 0
EXIT_GATE = 1
EXIT_INPUT = 2
EXIT_INCOMPLETE = 3
# The codes of sysexits.h (internal software error) and of shells (128 + SIGINT).
EXIT_BUG = 70
EXIT_INTERRUPTED = 130

_WORDS = {
    EXIT_OK: "PASS",
    EXIT_GATE: "FAIL",
    EXIT_INPUT: "INVALID",
    EXIT_INCOMPLETE: "INCOMPLETE",
    EXIT_BUG: "BUG",
    EXIT_INTERRUPTED: "INTERRUPTED",
}


@dataclass(frozen=True, slots=True)
class Ending:
    """How a command ends: the exit code, and a last line that begins with the word for it.

    >>> Ending(1, "1 of 2 gates failed").line
    'FAIL: 1 of 2 gates failed'
    """

    code: int
    sentence: str
    gated: bool = True

    @property
    def word(self) -> str:
        """PASS, FAIL, INVALID, INCOMPLETE, BUG or INTERRUPTED; DONE without a gate."""
        if self.code == EXIT_OK and not self.gated:
            return "DONE"
        return _WORDS[self.code]

    @property
    def line(self) -> str:
        return f"{self.word}: {self.sentence}"


class AnswerkeyError(Exception):
    """The base of all errors: one line for the user, and the exit code of the command line."""

    exit_code = EXIT_INPUT


class InputError(AnswerkeyError): ...


class SettingsError(AnswerkeyError): ...


class MissingPackage(AnswerkeyError):
    def __init__(self, package: str, extra: str) -> None:
        # answerkey itself is installed already, so that pip only adds the packages of the extra: this
        # works although answerkey is on no package index.
        super().__init__(f"{package} is not installed: pip install 'answerkey[{extra}]'")


class IncompleteError(AnswerkeyError):
    """`run` is what was done before the run stopped, where there is something."""

    exit_code = EXIT_INCOMPLETE

    def __init__(self, message: str = "", run: object = None) -> None:
        super().__init__(message)
        self.run = run


class EndpointError(IncompleteError): ...


class StorageError(IncompleteError): ...


def did_you_mean(word: str, names: Iterable[str]) -> str:
    """`; did you mean "recall@5"?`, or nothing where no name is near."""
    from difflib import get_close_matches

    by_lower_case = {name.lower(): name for name in names}
    matches = get_close_matches(word.lower(), by_lower_case, n=3, cutoff=0.6)
    if not matches:
        return ""
    # Exchanged letters are the most frequent slip: "modle" means "model", not "mode".
    matches.sort(key=lambda match: sorted(match) != sorted(word.lower()))
    return f'; did you mean "{by_lower_case[matches[0]]}"?'
