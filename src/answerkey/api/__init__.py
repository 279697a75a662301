"""The Python interface: evaluate data and bots, open and compare runs, score single answers.

>>> import answerkey as ak
>>> run = ak.evaluate(data)  # doctest: +SKIP
"""
