-- run.sqlite, format 2: everything that a run asked, got, measured and decided.
--
-- `cases` and `scores` are small and made for questions: one row per case, and one per case and
-- metric. `answers` and `verdicts` have the same in full, as JSON: one row per answer, so several
-- per case where cases are repeated. run.json has the settings of the run.

-- Facts about the file: its format and the version of answerkey that began it.
CREATE TABLE meta (
    key TEXT PRIMARY KEY,
    value TEXT NOT NULL
) WITHOUT ROWID;

-- The newest answer to each question.
CREATE TABLE answers (
    place INTEGER PRIMARY KEY, -- n × repeats + repeat: the answers in the order of the cases
    n INTEGER NOT NULL,        -- position of the case in the suite, from 0
    repeat INTEGER NOT NULL,   -- 0 for the first answer to a case, 1 for the second …
    id TEXT NOT NULL,          -- of the case
    failed INTEGER NOT NULL,   -- 1: the target gave an error instead of an answer
    case_json TEXT NOT NULL,   -- the case: question, expected answers, own columns …
    response_json TEXT NOT NULL -- the answer: text, route, passages, seconds, error …
);
CREATE INDEX answers_failed ON answers (failed);

-- The scores and the verdict of each answer, in full.
CREATE TABLE verdicts (
    place INTEGER PRIMARY KEY, -- as in answers
    number INTEGER NOT NULL,   -- grows with each verdict that is written: what is new since the last look
    id TEXT NOT NULL,          -- of the case
    stage TEXT NOT NULL,       -- scored; error: no verdict, tried again on resume; stopped: the run stopped here
    status TEXT NOT NULL,      -- as in cases
    passed INTEGER NOT NULL,   -- as in cases
    score REAL,                -- as in cases
    scored_json TEXT NOT NULL  -- every score with its reason and details, and the verdict with its parts
);
CREATE UNIQUE INDEX verdicts_number ON verdicts (number);
CREATE INDEX verdicts_stage ON verdicts (stage, passed, score);

-- One row per case: what lists show and filter. With repeats the verdict is that of all answers.
CREATE TABLE cases (
    n INTEGER PRIMARY KEY,     -- position of the case in the suite, from 0
    id TEXT NOT NULL,
    type TEXT,
    source_file TEXT,          -- the file that the case was read from
    route TEXT,                -- that the target took
    expected_route TEXT,
    acceptable_route INTEGER NOT NULL, -- 1: the case allows this route besides the expected one
    seconds REAL,              -- response time
    answered INTEGER NOT NULL, -- 0: the target gave an error
    has_passages INTEGER NOT NULL,
    status TEXT NOT NULL,      -- the profile's word, such as PERFECT or FAILED; ERROR, SCORED or UNSCORED without a verdict
    passed INTEGER NOT NULL,
    score REAL,                -- of the profile, on its scale
    quality REAL,              -- the share of all points, from 0 to 1
    band TEXT NOT NULL,
    reason TEXT NOT NULL,      -- why the case failed, in a few words that many cases share
    kind TEXT NOT NULL,        -- of failure
    cause TEXT NOT NULL,       -- of failure
    error TEXT,
    error_kind TEXT,
    cluster TEXT,              -- cases that depend on each other share one
    attempts INTEGER NOT NULL, -- answers with a verdict, where cases are repeated; otherwise 0
    attempts_passed INTEGER NOT NULL,
    stage TEXT NOT NULL,       -- answered: no verdict yet; scored; error and stopped as in verdicts
    question TEXT NOT NULL     -- its beginning
);
CREATE INDEX cases_status ON cases (status);
CREATE INDEX cases_route ON cases (route);
CREATE INDEX cases_type ON cases (type);
CREATE INDEX cases_reason ON cases (reason);
-- The usual order of lists: errors, failed cases with the lowest score first, passed ones, those without a verdict.
CREATE INDEX cases_worst ON cases (
    status IN ('SCORED', 'UNSCORED'), status <> 'ERROR', passed, coalesce(score, 0.0), n
);

-- One row per case and metric. A value of NULL with state `not applicable` or `error` is no zero.
CREATE TABLE scores (
    n INTEGER NOT NULL,        -- as in cases
    metric TEXT NOT NULL,
    value REAL,                -- with repeats the mean
    state TEXT NOT NULL,       -- measured, not applicable, error
    PRIMARY KEY (n, metric)
) WITHOUT ROWID;

-- The metrics in the order of the suite.
CREATE TABLE metrics (
    number INTEGER PRIMARY KEY,
    metric TEXT NOT NULL UNIQUE
);

-- What the search of the viewer looks into: id, question and answer in lower case.
CREATE TABLE texts (
    n INTEGER PRIMARY KEY,     -- as in cases
    text TEXT NOT NULL
);

-- Labels that people gave, as they were when the reports were written; labels.jsonl has them all.
CREATE TABLE labels (
    id TEXT PRIMARY KEY,       -- of the case
    label REAL NOT NULL        -- 1 right, 0 wrong: the majority where several people labelled
) WITHOUT ROWID;
