"""A metric of your own: a plain function with a decorator, in a module that the suite names."""

from answerkey import Case, Response, metric


@metric("names_its_period", needs=("answer",), empty="0 for an answer that names no month or year")
def names_its_period(case: Case, response: Response) -> float:
    """1 when the answer says which year it is about."""
    return float("20" in (response.answer or ""))
