"""A small bot to start from: replace `answer` with a call to your own bot.

The function may also take the history (a list of earlier turns), be `async`, or return a dict such as
{"answer": "…", "passages": ["…"], "route": "docs"}.
"""

KNOWN = {
    "return": "Goods may be returned within 30 days of purchase.",
    "receipt": "Without a receipt you get store credit instead of a refund.",
    "refund": "Refunds arrive within 5 working days.",
    "sale": "Sale items can be exchanged but not refunded.",
    "delivery": "Standard delivery costs RM 8. It is free for orders of RM 150 or more.",
    "express": "Express delivery takes one working day and costs RM 20.",
    "abroad": "We deliver to Malaysia, Singapore and Brunei.",
    "points": "Points expire 24 months after they were earned.",
    "member": "Membership is free for everyone over 18.",
    "voucher": "A voucher is valid for 12 months and can be used once.",
    "open": "The stores are open from 10 am to 10 pm every day.",
    "parking": "Parking is free for the first two hours.",
    "pets": "Dogs on a leash are welcome in all stores except the food hall.",
    "warranty": "Electrical goods have a warranty of two years.",
    "repair": "Repairs take about ten working days.",
}


def answer(question: str) -> str:
    # The bug to fix: "warranty?" is not "warranty". Use question.lower().strip("?").split() instead.
    words = question.lower().split()
    return next((text for word, text in KNOWN.items() if word in words), "I do not know.")
