"""Judged metrics: a language model or the local judge, its prompts and its exam."""
