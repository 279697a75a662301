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

EXIT_OK, EXIT_GATE, EXIT_INPUT, EXIT_INCOMPLETE, EXIT_BUG, EXIT_INTERRUPTED = 0, 1, 2, 3, 70, 130
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
        """PASS, FAIL, INVALID, INCOMPLETE, BUG or INTERRUPTED; DONE for success where no gate was set."""
        return "DONE" if self.code == EXIT_OK and not self.gated else _WORDS[self.code]

    @property
    def line(self) -> str:
        return f"{self.word}: {self.sentence}"


class AnswerkeyError(Exception):
    """The base of all errors; its message is one line for the user, `exit_code` that of the command line."""

    exit_code = EXIT_INPUT


class InputError(AnswerkeyError): ...


class SettingsError(AnswerkeyError): ...


class MissingPackage(AnswerkeyError):
    def __init__(self, package: str, extra: str) -> None:
        super().__init__(f"{package} is not installed: pip install 'answerkey[{extra}]'")


class IncompleteError(AnswerkeyError):
    """`run` is what was done before the run stopped, where there is something."""

    exit_code = EXIT_INCOMPLETE

    def __init__(self, message: str = "", run: object = None) -> None:
        super().__init__(message)
        self.run = run


class EndpointError(IncompleteError): ...


class StorageError(IncompleteError): ...


def did_you_mean(word: str, known: Iterable[str]) -> str:
    """`; did you mean "recall@5"?`, or nothing where no known word is near."""
    from difflib import get_close_matches

    names = {k.lower(): k for k in known}
    near = get_close_matches(word.lower(), names, n=1, cutoff=0.6)
    return f'; did you mean "{names[near[0]]}"?' if near else ""
