"""Questions, from any file that people keep them in."""

from answerkey.cases.loader import read_cases as read_cases
from answerkey.cases.loader import read_responses as read_responses
