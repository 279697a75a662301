"""Fitting and measuring the local judge: used by `tools/train_local_judge.py` only, never installed."""
