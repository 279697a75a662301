"""Files of other tools, one module per tool, each with `detects(value)` and `rows(value, …)`.

ragas and deepeval need only their column names, which coerce/columns.toml lists.
"""
