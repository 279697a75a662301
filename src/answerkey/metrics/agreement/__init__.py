"""Does the answer say what the expected answer says? (`answer_correctness`, a cosine, is in `semantic.py`.)"""
