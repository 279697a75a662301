"""The commands in groups, as `answerkey --help` shows them; each is imported when it is called."""

from __future__ import annotations

from importlib import import_module

import click

GROUPS: dict[str, dict[str, str]] = {
    "Start": {
        "demo": "Run the shipped example offline: three bots, scored, compared, reported.",
        "init": "Write a suite to start from.",
        "doctor": "Check the installation, and test the judge.",
    },
    "Run": {
        "run": "Run a suite: ask the target, score the answers, write the reports.",
        "score": "Score answers that are already in files; no suite needed.",
        "rescore": "Score the answers of a run again with another profile, judge or model.",
        "watch": "Score new answers of logs, and alarm when the bot gets worse.",
        "check": "Assess one interaction, read as JSON from standard input.",
    },
    "Look": {
        "summary": "Print the report of a run, or its results per route, type, …",
        "view": "Browse runs on a local page.",
        "report": "Rewrite the reports of a run.",
        "compare": "Is run B better than run A? What changed, by how much, and is it real?",
        "prefer": "Ask a judge which of two runs gives the better answers.",
        "baseline": "Set or show the run that others are compared with.",
    },
    "Trust": {
        "calibrate": "Measure how well a metric or judge agrees with human labels.",
        "label-next": "List the cases whose human labels would help most, and the corrected rate.",
        "models": "List, fetch, check and remove entailment and embedding models.",
        "metrics": "List the metrics.",
        "profiles": "List the scoring profiles, or show one.",
    },
    "Retrieval": {
        "sweep": "Compare dense, sparse and hybrid retrieval for every α and K.",
        "diagnose": "Find out why retrieval scores are low.",
        "verify": "Check that indexed chunks are on the PDF pages they name.",
        "rank": "Compute ranking metrics from files of labels and rankings.",
    },
    "Data": {
        "cases": "Validate and list cases; choose some of a trace or log and write them to a file.",
        "generate": "Make test cases from documents, offline or with a judge model.",
        "audit": "Is the test set right? Wrong labels, duplicates, contradictions, with fixes.",
        "export": "Write the cases of a run as JSON lines, CSV, Parquet or SQLite.",
        "skill": "Print instructions for coding agents.",
        "completion": "Print the shell completion script.",
    },
}
COMMANDS = {name: summary for group in GROUPS.values() for name, summary in group.items()}

# Modules of the commands that are not in a module of their own name.
_MODULES = {
    "init": "demo",
    "run": "run.command",
    "rescore": "score",
    "report": "summary",
    "prefer": "compare",
    "baseline": "compare",
    "sweep": "retrieval",
    "diagnose": "retrieval",
    "verify": "retrieval",
    "label-next": "label_next",
    "metrics": "catalogue",
    "profiles": "catalogue",
    "completion": "main",
    "export": "export_run",
}


def load_command(name: str) -> click.Command:
    """Import a command; `label-next` is the function `label_next_command` of its module."""
    module = import_module(f"answerkey.cli.{_MODULES.get(name, name)}")
    return getattr(module, f"{name.replace('-', '_')}_command")
