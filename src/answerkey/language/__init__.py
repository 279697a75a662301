"""What texts say, by rules: sentences, numbers, quantities, dates, refusals and claims.

Word lists are data: one file per language in `words/`, and the units of measurement in `units.toml`.
"""
