"""Names and shapes of values, for files, live responses, live checks and stores alike.

`columns` knows the names, `values` reads one cell, `passages` and `labels` read passages, sources
and ids, `tables` reads the rows of files, `responses` turns a row or a reply into a response. It is
a low package of its own, below `cases`: settings, bots, stores and rankings read the same shapes.
"""
