"""Does a metric agree with people? Agreement, threshold, reliability, and baselines to compare with."""
