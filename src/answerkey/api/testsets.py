"""`ak.audit`: is the test set right? `ak.generate`: cases from documents."""

from __future__ import annotations

from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from typing import cast

from answerkey.api.adapters import name_of
from answerkey.api.rows import cases_of
from answerkey.config.tables import PACKAGED_NAME
from answerkey.embed import Embedder, load_embedder
from answerkey.entailment.load import load_pair_model
from answerkey.errors import SettingsError
from answerkey.llm import load_chat
from answerkey.llm.chat import Chat
from answerkey.llm.function_chat import FunctionChat
from answerkey.testsets.audit.accepted import Key, audit_file, read_accepted
from answerkey.testsets.audit.document_set import find_documents, read_documents
from answerkey.testsets.audit.findings import REPORTED_FROM, Audit
from answerkey.testsets.audit.run_audit import audit_cases
from answerkey.testsets.generate.offline import GenerateSettings, RealQuestions, generate_offline
from answerkey.testsets.generate.report import GenerationReport
from answerkey.testsets.generate.source_passages import split_passages
from answerkey.testsets.generate.with_judge import JudgeOptions, generate_with_judge
from answerkey.testsets.generate.write_cases import check_case_file, write_made_cases


def audit(
    cases: object,
    documents: object = None,
    *,
    at_least: float = REPORTED_FROM,
    embedding: str = "",
    entailment: str = PACKAGED_NAME,
) -> Audit:
    """Check a test set: wrong labels, contradictions, duplicates, questions that name nothing.

    - `cases`: a list of dicts or of `Case`, a data frame, a path or a glob. Findings that were
      accepted in `audit.jsonl` beside a path are left out.
    - `documents`: what the answers come from: a folder of text, Markdown or PDF, a BEIR folder, a
      JSON file of chunks, a suite with [retrieval], or a list of passages. Without it only the
      questions and expected answers are compared.
    - `at_least`: the lowest probability of a finding to report.
    - `embedding`: a model name; "none" compares words only. `entailment`: the model that decides
      whether a passage supports an answer.

    >>> rows = [{"question": "How long is it?", "expected": "30 days"}]
    >>> [finding.kind.value for finding in audit(rows).findings]
    ['names nothing']
    """
    accepted: frozenset[Key] = frozenset()
    if isinstance(cases, (str, Path)):
        accepted = read_accepted(audit_file([cases]))
        documents = documents or find_documents([cases])
    return audit_cases(
        cases_of(cases, None),
        documents=None if documents is None else read_documents(documents),
        embed=_load_model(embedding),
        accepted=accepted,
        at_least=at_least,
        pair_model=load_pair_model(entailment),
    )


def generate(
    documents: object,
    *,
    out: str | Path | None = None,
    count: int | None = None,
    judge: object = None,
    kinds: Sequence[str] = (),
    like: object = None,
    seed: int = 0,
    embedding: str = "",
    step: Callable[[str], None] | None = None,
    confirm: Callable[[str], bool] | None = None,
) -> GenerationReport:
    """Make test cases from documents.

    Without a judge these are retrieval cases: headings, FAQ questions, captions, link and alt
    texts and definitions as queries, with the passage as the label. With a judge, questions with
    answers and verbatim quotes, each of which passed five checks.

    - `documents`: as in `audit`. `out`: the case file to write, a new `.jsonl`;
      `cases.passages.jsonl` beside it has the passages without the titles that serve as queries.
    - `judge`: a preset, a dict of settings, a chat client, or a function from prompt to text. A
      generation that stops leaves a journal beside `out`, and the same call resumes it.
    - `like`: real questions, to compare word overlap and, with 30 or more labelled ones, the order
      of retrieval settings.
    - `step`: called with each line of progress.
    - `confirm`: called with the expected cost before the first call; False stops.

    >>> docs = [{"id": "a", "text": "# Leave days\\nEvery employee has 28 days of leave a year."}]
    >>> [case.question for case in generate(docs, embedding="none").cases]
    ['Leave days']
    """
    report_progress = step or _ignore
    path = None if out is None else Path(out)
    # Checked first: afterwards the judge would have been paid for nothing.
    if path is not None:
        check_case_file(path)
    pages = read_documents(documents)
    settings = GenerateSettings(count, tuple(kinds), seed)
    real = RealQuestions()
    if like is not None:
        real = RealQuestions(cases_of(like, None), pages)
    embed = _load_model(embedding)
    if judge is None:
        report = generate_offline(pages, settings, real=real, embed=embed, step=report_progress)
    else:
        journal = path and path.with_name(f"{path.stem}.generation.jsonl")
        with _open_chat(judge) as chat:
            options = JudgeOptions(chat, journal, confirm)
            report = generate_with_judge(
                pages, settings, options, real=real, embed=embed, step=report_progress
            )
    if path is not None:
        write_made_cases(path, report.cases, split_passages(pages))
        # The journal serves to resume; once the cases are written it is of no use.
        path.with_name(f"{path.stem}.generation.jsonl").unlink(missing_ok=True)
    return report


def _ignore(_: str) -> None:
    """Drop the progress."""


def _load_model(name: str) -> Embedder | None:
    """The embedding model; None for "none"."""
    if name == "none":
        return None
    if name:
        return load_embedder(name)
    return load_embedder()


@contextmanager
def _open_chat(judge: object) -> Generator[Chat]:
    """A chat client from a preset, settings, a client or a function; closed if it was made here."""
    if hasattr(judge, "complete"):
        yield cast("Chat", judge)
        return
    if isinstance(judge, (str, Mapping)):
        chat: Chat = load_chat(cast("str | Mapping[str, object]", judge))
    elif callable(judge):
        chat = FunctionChat(judge, name_of(judge))
    else:
        raise SettingsError(
            f"judge: found {type(judge).__name__}, expected a preset, settings, or a function from "
            "prompt to text"
        )
    with closing(chat):
        yield chat
