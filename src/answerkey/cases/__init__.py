"""Room 1: questions, from any file that people keep them in."""

from answerkey.cases.load import load_cases as load_cases
from answerkey.cases.load import read_responses as read_responses
