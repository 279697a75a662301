"""Profiles: the scoring rules that turn scores into verdicts."""

from answerkey.profiles.decide import decide_verdict as decide_verdict
from answerkey.profiles.load import builtin_names as builtin_names
from answerkey.profiles.load import load_profile as load_profile
