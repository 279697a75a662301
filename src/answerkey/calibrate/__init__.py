"""Does a metric agree with people? Agreement, threshold, reliability, and the baselines that unmask a confound."""
