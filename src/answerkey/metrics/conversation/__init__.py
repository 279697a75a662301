"""Whole conversations: resolved or not, asked again, contradicted, in the user's language."""
