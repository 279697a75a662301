"""A custom metric: a plain function with a decorator, in a module that the suite names."""

from answerkey import Case, Response, metric


@metric("names_its_period", needs=("answer",), empty="0 for an answer that names no month or year")
def names_its_period(case: Case, response: Response) -> float:
    """1 if the answer names the year it is about."""
    return float("20" in (response.answer or ""))
