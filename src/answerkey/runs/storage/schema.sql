-- run.sqlite: every answer, score and verdict of a run. PRAGMA user_version is the version of this schema.
-- A position `n` counts the cases of the suite from 0; `repeat` counts the answers to one case from 0.
-- A commit is made for each batch of answers, before the next question is asked.

-- One row per answer: the newest one to each question.
CREATE TABLE answers (
    at INTEGER PRIMARY KEY AUTOINCREMENT,  -- grows with every answer; one that replaces another is new
    n INTEGER NOT NULL,                    -- position of the case
    repeat INTEGER NOT NULL,               -- 0 unless the case is asked several times
    id TEXT NOT NULL,                      -- id of the case
    question TEXT NOT NULL,
    answer TEXT,                           -- NULL where the target gave none
    error TEXT,                            -- why there is no answer
    seconds REAL,                          -- NULL where the time is not known
    state TEXT NOT NULL,                   -- ask (again), answered (not scored), finished, stopped (at a failure)
    UNIQUE (n, repeat)
);

-- The whole case and response of each answer, as JSON.
CREATE TABLE answer_details (
    n INTEGER NOT NULL,
    repeat INTEGER NOT NULL,
    case_json TEXT NOT NULL,
    response_json TEXT NOT NULL,
    PRIMARY KEY (n, repeat)
);

-- The scores (with reasons and details) and the verdict of each answer, as JSON.
CREATE TABLE score_details (
    at INTEGER PRIMARY KEY AUTOINCREMENT,  -- grows with every scoring
    n INTEGER NOT NULL,
    repeat INTEGER NOT NULL,
    scores_json TEXT NOT NULL,
    verdict_json TEXT NOT NULL,
    UNIQUE (n, repeat)
);

-- One row per case: what lists show and figures are computed from. With repeats, all answers combined.
CREATE TABLE cases (
    n INTEGER PRIMARY KEY,
    id TEXT NOT NULL,
    type TEXT,
    source_file TEXT,
    route TEXT,                            -- that the target reported
    expected_route TEXT,
    acceptable_route INTEGER NOT NULL,     -- 1: the route is one of the acceptable ones
    seconds REAL,
    answered INTEGER NOT NULL,             -- 0: the target gave no response
    has_passages INTEGER NOT NULL,
    status TEXT NOT NULL,                  -- PERFECT, ACCEPTABLE, PASSED, FAILED, ERROR, SCORED or UNSCORED
    passed INTEGER NOT NULL,
    score REAL,                            -- on the profile's scale; NULL where nothing was decided
    quality REAL,
    band TEXT NOT NULL,
    reason TEXT NOT NULL,                  -- why it failed, in words that many cases share
    kind TEXT NOT NULL,                    -- how the answer fails, such as: wrong figure
    cause TEXT NOT NULL,                   -- where the failure comes from, such as: not retrieved
    error TEXT,                            -- the message of a case that ended in an error
    error_kind TEXT,                       -- the same for errors with the same cause
    cluster TEXT,                          -- cases of one cluster depend on each other
    attempts INTEGER NOT NULL,             -- answers, where the case is asked several times; otherwise 0
    attempts_passed INTEGER NOT NULL,
    stage TEXT NOT NULL                    -- answered (not scored yet), stopped (asked again on resume), scored
);

-- One row per case and one column per metric, which is added when the metric is first measured.
-- NULL is not 0: the metric was not applicable, not measured, or failed (see score_errors).
CREATE TABLE scores (n INTEGER PRIMARY KEY);

-- The metrics of a run, in order, and their columns in `scores`.
CREATE TABLE metrics (
    metric TEXT PRIMARY KEY,
    column_name TEXT NOT NULL
);

-- Why a metric has no value for a case.
CREATE TABLE score_errors (
    n INTEGER NOT NULL,
    metric TEXT NOT NULL,
    error TEXT,                            -- the message; NULL where the metric is not applicable
    PRIMARY KEY (n, metric)
) WITHOUT ROWID;

-- Who wrote this file: answerkey (version), created (UTC).
CREATE TABLE meta (
    key TEXT PRIMARY KEY,
    value TEXT
);
