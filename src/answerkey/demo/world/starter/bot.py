"""A bot to begin with: replace `answer` by a call of your own.

It may also take the history (a list of earlier turns), be `async`, or return a dict such as
{"answer": "…", "passages": ["…"], "route": "docs"}.
"""

KNOWN = {
    "returned": "Goods may be returned within 30 days of purchase.",
    "delivery": "Standard delivery costs RM 8. It is free for orders of RM 150 or more.",
    "points": "Points expire 12 months after they were earned.",  # wrong: answerkey will find it
}


def answer(question: str) -> str:
    words = question.lower().strip("?").split()
    return next((text for word, text in KNOWN.items() if word in words), "I do not know.")
