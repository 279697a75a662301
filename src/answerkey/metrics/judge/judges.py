"""Every way to name a judge: "local", a preset, settings, "module:function", a function, several of them as a jury."""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, cast

from answerkey.coerce.values import is_list, is_mapping, table_of
from answerkey.config.declare import read_table
from answerkey.config.tables import PRESETS, JudgeTable
from answerkey.embed import Embedder
from answerkey.errors import SettingsError
from answerkey.llm.function_chat import FUNCTION_TIMEOUT, FunctionChat
from answerkey.llm.reply_cache import ReplyCache
from answerkey.metrics.judge.judge_per_metric import JudgePerMetric
from answerkey.metrics.judge.judged_metrics import Judge
from answerkey.metrics.judge.jury import Jury
from answerkey.metrics.judge.model_judge import ModelJudge
from answerkey.metrics.judge.prompt import Frame, read_frame
from answerkey.metrics.judge.recorded_judge import RecordedJudge
from answerkey.metrics.recorded_scores import RECORDED_JUDGE
from answerkey.user_code import load_object

if TYPE_CHECKING:  # it brings numpy, which naming a judge does without
    from answerkey.entailment.pair_model import PairModel

LOCAL = ("local", {"preset": "local"})
_OF_CASCADE = ("when", "unsure", "check_share")
# Settings of a jury that count for each of its judges.
_OF_ALL = ("votes", "cache", "prompt", "context_window", "concurrency", "mode")


@dataclass(frozen=True, slots=True)
class JudgeContext:
    """The models of the local judge, and the folder of prompts and modules."""

    embed: Embedder | None
    pair_model: PairModel | None
    folder: Path


def make_judge(spec: object, context: JudgeContext) -> Judge:
    """The judge that `spec` names; raises SettingsError for anything else."""
    # A judge object passes through, as Python users bring one.
    if hasattr(spec, "rubric") and hasattr(spec, "judge"):
        return cast("Judge", spec)
    if isinstance(spec, str):
        # "http://…" has a colon too, but names no function.
        names_function = ":" in spec and "://" not in spec
        spec = {"call": spec} if names_function else {"preset": spec}
    if not is_mapping(spec):
        return function_judge(spec)
    table = dict(spec)
    per_metric = table.pop("per_metric", None)
    if per_metric:
        others = {
            str(name): make_judge(each, context) for name, each in table_of(per_metric).items()
        }
        return JudgePerMetric(make_judge(table, context), others)
    # Taken out of the table: the judge behind the cascade does not know these settings.
    cascade = {key: table.pop(key) for key in _OF_CASCADE if key in table}
    if cascade:
        return _cascade(cascade, table, context)
    if "jury" in table:
        return _jury(table, context)
    if table.get("preset") == "local":
        return _local_judge(table, context)
    if table == {"preset": RECORDED_JUDGE}:
        return RecordedJudge()
    if "call" in table:
        return _called_judge(table, context.folder)
    return _endpoint_judge(table, context.folder)


def _local_judge(table: Mapping[str, object], context: JudgeContext) -> Judge:
    extra = next((key for key in table if key != "preset"), None)
    if extra is not None:
        raise SettingsError(f'the local judge has no settings, found "{extra}"')
    # Imported here: it brings models, which other judges do without.
    from answerkey.metrics.judge.local_judge import LocalJudge

    return LocalJudge(context.embed, context.pair_model)


def _called_judge(table: Mapping[str, object], folder: Path) -> Judge:
    """A judge from a function that the settings name as `module:function`."""
    spec = str(table["call"])
    others = {key: value for key, value in table.items() if key != "call"}
    settings = read_table(JudgeTable, others, "[judge]", folder)
    function = load_object(spec, folder, "[judge] call")
    return function_judge(function, spec.rpartition(":")[2], settings, _frame(others, folder))


def _cascade(
    settings: Mapping[str, object], table: Mapping[str, object], context: JudgeContext
) -> Judge:
    """The judge of `table`, asked only where the local models are not sure."""
    read = read_table(JudgeTable, settings, "[judge]")
    if read.when == "always":
        extra = next((key for key in ("unsure", "check_share") if key in settings), None)
        if extra is not None:
            raise SettingsError(f'[judge] {extra} needs when = "unsure"')
        return make_judge(table, context)
    if table.get("preset") == "local":
        raise SettingsError(
            '[judge] when = "unsure" needs a language model to ask; the judge "local" is none'
        )
    # Imported here: they bring models, which a judge that is always asked does without.
    from answerkey.entailment.calibrated import CalibratedPairModel
    from answerkey.metrics.judge.cascade import DEFAULT_BAND, CascadeJudge
    from answerkey.metrics.judge.local_judge import LocalJudge

    band = read.unsure
    model = context.pair_model
    if band is None and isinstance(model, CalibratedPairModel) and model.card is not None:
        band = model.card.unsure
    band = band or DEFAULT_BAND
    if not 0 <= band[0] <= band[1] <= 1:
        raise SettingsError(
            f"[judge] unsure = {list(band)}: expected two probabilities, the lower one first"
        )
    local = LocalJudge(context.embed, model)
    return CascadeJudge(make_judge(table, context), local, band, read.check_share)


def _endpoint_judge(table: Mapping[str, object], folder: Path) -> Judge:
    # Imported here: it brings the HTTP stack, which the local judge does without.
    from answerkey.llm.chat_settings import read_chat
    from answerkey.llm.endpoint import Endpoint

    read = read_chat(table, JudgeTable, "[judge]", known=("local", RECORDED_JUDGE, *PRESETS))
    return ModelJudge(
        Endpoint(read),
        votes=read.votes,
        concurrency=read.concurrency,
        cache=ReplyCache() if read.cache else None,
        frame=_frame(table, folder),
        window=read.context_window,
        is_yes_no=read.is_yes_no,
    )


def function_judge(
    function: object, name: str = "", settings: JudgeTable | None = None, frame: Frame | None = None
) -> Judge:
    """A judge from a function of the prompt, sync or async, or from a chat model with `invoke`. Its replies are not cached."""
    # A method has attributes of its own; only objects are looked into for `invoke`.
    if inspect.isroutine(function):
        called = function
    else:
        called = getattr(function, "invoke", function)
    # A class can be called as well, but would return an object instead of a reply.
    if not callable(called) or isinstance(function, type):
        raise SettingsError(
            f'judge: found {type(function).__name__}, expected "local", a preset, settings, or a function of the prompt'
        )
    read = settings or JudgeTable(timeout=FUNCTION_TIMEOUT)
    chat = FunctionChat(called, name or name_of(function), read.timeout)
    return ModelJudge(
        chat,
        votes=read.votes,
        concurrency=read.concurrency,
        frame=frame,
        window=read.context_window,
        is_yes_no=read.is_yes_no,
    )


def name_of(thing: object) -> str:
    """How a function or object is called in reports."""
    return str(getattr(thing, "__name__", None) or type(thing).__name__)


def _jury(table: Mapping[str, object], context: JudgeContext) -> Judge:
    members = table["jury"]
    others = {key: value for key, value in table.items() if key != "jury"}
    if not is_list(members) or len(members) < 2:
        raise SettingsError(
            '[judge] jury: expected a list of two judges or more, such as ["groq", "ollama"]'
        )
    for key in others:
        if key not in _OF_ALL:
            raise SettingsError(
                f"[judge] {key} has no meaning beside jury; give it in the table of one of its judges"
            )
    return Jury([make_judge(_member_table(each, others), context) for each in members])


def _member_table(member: object, shared: Mapping[str, object]) -> object:
    """One judge of a jury, with the settings that count for each; the local judge has none."""
    if isinstance(member, str):
        key = "call" if ":" in member else "preset"
        member = {key: member}
    if not is_mapping(member) or member in LOCAL:
        return member
    return {**shared, **member}


def _frame(table: Mapping[str, object], folder: Path) -> Frame | None:
    path = table.get("prompt")
    if path:
        return read_frame(folder / str(path))
    return None
