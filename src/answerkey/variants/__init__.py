"""Variants of a question: the same question as people type or speak it, with the same expectation."""
