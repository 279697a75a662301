"""Questions, from any file that people keep them in."""

from answerkey.cases.loader import load_cases as load_cases
from answerkey.cases.loader import read_responses as read_responses
