"""Answers that were recorded, and a profile for them."""

ROWS = [
    {"id": "good", "question": "Who wrote Emma?", "expected": "Jane Austen", "answer": "jane  austen", "type": "books", "route": "docs", "expected_route": "docs", "response_time": 1.0},
    {"id": "bad", "question": "Who wrote Ulysses?", "expected": "James Joyce", "answer": "=cmd|' /C calc'!A0 <script>alert(1)</script>", "type": "books", "route": "sales_kpi", "expected_route": "docs", "response_time": 3.0},
    {"id": "none", "question": "No expected answer", "answer": "text"},
]  # fmt: skip
PROFILE = 'name = "words"\npass = 0.5\n[[criteria]]\nmetric = "token_f1"\n'
