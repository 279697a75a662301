"""A watch on a bot in production: is it still as good as in the run that it is compared with?

logs ─► new answers (state.py) ─► sample, scored ─► values per series (series.py) ─► evidence of
a change (evidence.py) ─► alarm
"""
