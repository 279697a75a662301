"""Traces of bots and agents as cases: spans of OpenTelemetry, OpenInference, OpenLLMetry, Langfuse,
LangSmith and Phoenix.

    file ─► records (stream.py) ─► spans (records.py) ─► facts (facts.py) ─► turns (turns.py) ─► cases

The names of attributes are data: traces.toml.
"""
