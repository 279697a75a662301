"""Run a suite and keep every outcome in a run folder.

A run goes through these modules, in this order:

    suite        suite.toml as a value; `combinations`: one suite per target and prompt
    prepare      everything is loaded and checked before the first question; `survey`: one pass
                 over the cases, `left_out`: those that are not run
    execute      the loop: ask, score, store, until the end or a reason to stop (`control`)
    ask          questions to a live target, several at the same time; `simulated_user`
    score        metrics and the profile's verdict; `repeats`: several answers to one case
    store        the run folder: `manifest` (run.json), the database below, and a lock
    table        the cases as columns, which all figures are computed from; `stored_table`: the same
                 of a stored run
    summary      the figures with their intervals: `figures`, `means`, `disagreements`,
                 `failure_groups`
    gates        conditions on the figures; `gate_limits`: those that can never hold
    conclusion   the exit code and the last line

The database of a run. Only these modules know its tables:

    schema.sql   every table and column, with a comment
    database     creating, opening and closing it
    run_writer   answers and outcomes into the tables; `case_row`: the short row of a case
    run_reader   answers and outcomes from the tables; `case_list`: filtered and sorted lists
    repair       what can be read of a damaged one
    format1      runs of earlier versions, read into the tables of today
    records      cases, answers and verdicts as JSON
    state        how far each answer is, in memory
    memory_store a run without a folder

Runs that begin from another run:

    resume       what is left of a run that stopped; `newest`: which run a folder stands for
    rescore      the answers of a run with another profile, judge or metrics

Several processes. A shard is an ordinary run with some of the cases:

    divide       whether a run is divided, and who runs the shards
    shards       writes the shards, starts them and merges what they stored
    shard_worker runs one shard
    process_pool processes of this machine; `cluster`: a Ray cluster

Around a run: `progress` shows it, `thresholds` makes a profile of `groundedness>=0.7`,
`user_columns` keeps the names of the user's columns, `source_commit` reads the commit of the suite,
`started_by` who started the run,
`outcome_table` makes outcomes an Arrow table, `assertions` checks one answer in a test.
"""
