"""The benchmarks: what each shows, how it is called in `make bench`, in full and quickly, and how long it may take."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Benchmark:
    """`seconds` are patterns of the beginnings of two printed lines whose times tell who is faster: the peer's, then ours.

    `sizes` are those of `make bench`, which takes 40 minutes at most; `full` are those of the targets.
    """

    shows: str
    beside: str
    sizes: tuple[str, ...] = ()
    full: tuple[str, ...] = ()
    quick: tuple[str, ...] = ()
    minutes: int = 8
    full_minutes: int = 60
    needs_data: bool = False
    seconds: tuple[str, str] | None = None


BENCHMARKS = {
    "startup": Benchmark(
        "import, `--help`", "autoevals, pydantic-evals, deepeval, inspect, ragas", quick=("--rounds", "3")
    ),
    "commands": Benchmark(
        "a small run, a judged run and the demo, as typed", "`python -c pass`; the ideal", quick=("--rounds", "1")
    ),
    "scoring": Benchmark(
        "17 deterministic metrics on recorded cases", "pydantic-evals",
        quick=("--cases", "10000"),
    ),
    "embedding": Benchmark(
        "embeddings; the five embedding metrics", "sentence-transformers; a plain script",
        sizes=("--texts", "150", "--cases", "200"), quick=("--texts", "60", "--cases", "40"),
    ),
    "judge": Benchmark(
        "the path to a judge of 200 ms: one question, criteria of the suite and of cases",
        "autoevals, pydantic-evals, deepeval; a bare loop against llama.cpp",
        sizes=("--real", "4"), full=("--real", "16"), quick=("--cases", "100", "--rounds", "1"),
        seconds=(r"autoevals [\d.]+", r"answerkey [\d.]+"),
    ),
    "ranking": Benchmark("32 ranking metrics from dicts", "pytrec_eval"),
    "retrieval": Benchmark(
        "nDCG@10 of BM25, dense and hybrid", "the figures to reach",
        quick=("--collections", "cranfield"), needs_data=True,
    ),
    "sweep": Benchmark("11 α × 6 K × all metrics", "rank_bm25 + faiss in loops"),
    "chunk_sweep": Benchmark(
        "4 chunk sizes × 2 models × 11 α × 6 K on 2,000 pages", "the embedding alone",
        sizes=("--pages", "800", "--every", "40"), full=("--every", "20"), quick=("--pages", "200", "--every", "20"),
    ),
    "watch": Benchmark(
        "how soon a worse bot is noticed; false alarms over a whole watch", "150 answers and 5 %",
        sizes=("--shuffles", "300", "--delays", "100"), quick=("--shuffles", "20", "--delays", "10"), minutes=15,
        needs_data=True,
    ),
    "audit": Benchmark(
        "the audit of a test set", "embedding its passages once",
        sizes=("--cases", "200", "--passages", "1000"), full=("--cases", "1000", "--passages", "5000"),
        quick=("--cases", "40", "--passages", "200"),
    ),
    "coverage": Benchmark(
        "how often 95 % intervals cover the truth; false alarms of comparisons", "93 % and 5.5 %",
        sizes=("--runs", "400"), full=("--runs", "4000"), quick=("--runs", "100"), minutes=15,
    ),
    "compare": Benchmark("two runs of 100,000 cases × 10 metrics", "scipy, statsmodels"),
    "grounding": Benchmark(
        "groundedness and facts", "the plain embedding of the same texts",
        sizes=("--answers", "200", "--embedded", "40"), quick=("--answers", "50", "--embedded", "10"),
    ),
    "cluster": Benchmark(
        "two Ray nodes, one killed in the middle", "a local run", sizes=("--cases", "40000"), quick=("--cases", "20000")
    ),
    "assess": Benchmark("the runtime checks", "one embedding", quick=("--times", "300")),
    "live": Benchmark("a run against a bot of 50 ms", "a bare loop over threads", quick=("--cases", "400"),
                      seconds=("bare loop", "a run")),
    "resume": Benchmark("resuming after a kill", "starting from the beginning", quick=("--cases", "5000")),
    "viewer": Benchmark(
        "pages of a run of 10,000 cases, 100 MB of answers", "the targets: 300 ms per page, 150 ms per search, 250 MB",
        quick=("--cases", "1000"),
    ),
    "scale": Benchmark(
        "recorded interactions: cost per case, processes, memory, Ray", "itself at 10,000 and with one process; Ray",
        sizes=("--cases", "100000", "--ray"), full=("--cases", "1000000", "--ray"), quick=("--cases", "40000", "--ray"),
    ),
}  # fmt: skip
