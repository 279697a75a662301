"""What people call things and how they shape them: one place for files, live responses, live checks and stores.

`columns` knows the names, `values` reads one cell, `passages` reads passages, sources and labels, `rows` makes
cases and responses from whole rows.
"""
