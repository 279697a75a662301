"""Where a run can happen besides this process: a Ray cluster, with Parquet parts instead of journals."""
