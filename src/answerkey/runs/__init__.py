"""Run a suite and keep every outcome in a run folder."""
