"""The page of one retrieval sweep: its charts, and its settings to filter."""

from __future__ import annotations

import re
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

import msgspec
from starlette.requests import Request
from starlette.responses import Response

from answerkey.coerce.values import is_list, is_mapping
from answerkey.config.declare import TomlTable
from answerkey.errors import InputError, StorageError, did_you_mean
from answerkey.files import read_json
from answerkey.reports.chart_style import BLUE, Spec, add_title, layer, name, number
from answerkey.text import short_label
from answerkey.viewer.library import SWEEP, RunLibrary
from answerkey.viewer.render import respond

_CHARTS_FILE = "charts.json"
_FILES = ("report.txt", "report.md", "evaluation_results.csv", "summary_statistics.csv")
_MOST_BARS = 20
_PLAIN_FIELDS = ("setting", "alpha", "k", "value", "chunking", "embedding")


def sweep_page(request: Request) -> Response:
    library: RunLibrary = request.app.state.library
    folder = library.sweep(request.path_params["sweep"])
    try:
        summary = read_json((folder / SWEEP).read_bytes())
        settings = _read_settings(summary)
    except (OSError, ValueError, LookupError, TypeError, AttributeError) as error:
        raise StorageError(f"{folder.name}/{SWEEP}: cannot be read: {error}") from None
    choices = {
        "metric": list(dict.fromkeys(metric for row in settings for metric in row["metrics"])),
        "type": list(dict.fromkeys(row["type"] for row in settings)),
        "k": list(dict.fromkeys(str(row["k"]) for row in settings)),
    }
    chosen = _read_choice(request, choices)
    rows = [
        row
        for row in settings
        if chosen["type"] in ("", row["type"]) and chosen["k"] in ("", str(row["k"]))
    ]
    metric = chosen["metric"]
    if metric:
        rows.sort(key=lambda row: -(row["metrics"].get(metric) or 0.0))
    data = {
        "sweep": library.key(folder),
        "summary": summary,
        "setup": _describe_setup(summary),
        "suite_lines": _suite_lines(summary),
        "choices": choices,
        "chosen": chosen,
        "rows": rows,
        "chosen_charts": _setting_chart(rows, metric or "f1") if any(chosen.values()) else {},
        "charts": _read_charts(folder),
        "files": [file for file in _FILES if (folder / file).is_file()],
    }
    return respond(request, "sweep.html", data)


def _describe_setup(summary: TomlTable) -> dict[str, str]:
    """What was searched, and how, in words; digests stay in sweep.json."""
    searched = summary.get("searched")
    if not is_mapping(searched):
        return {}
    setup: dict[str, str] = {}
    for key, value in searched.items():
        values = list(value) if is_list(value) else [value]
        text = ", ".join(_describe_value(each) for each in values)
        if text:
            setup[str(key).replace("_", " ")] = text
    return setup


def _describe_value(value: object) -> str:
    if is_mapping(value):
        if value.get("name"):
            return str(value["name"])
        return " ".join(f"{key} {_describe_value(each)}" for key, each in value.items())
    if isinstance(value, bool):
        return "yes" if value else "no"
    return str(value)


def _suite_lines(summary: TomlTable) -> list[str]:
    """The lines of a suite that give the setting to use: the best one, or the default to keep."""
    best = summary.get("best")
    if not is_mapping(best):
        return []
    setting: object = best
    if best.get("keep_default"):
        setting = best.get("default")
    if not is_mapping(setting) or setting.get("k") is None:
        return []
    lines = ["[target]", f"k = {setting['k']}", "", "[retrieval]"]
    if setting.get("alpha") is None:
        lines.append('fusion = "rrf"')
    else:
        lines.append(f"alpha = {setting['alpha']:g}")
    cut = re.fullmatch(r"(\w+) (\d+)/(\d+)", str(setting.get("chunking", "")))
    if cut:
        lines += ["", "[retrieval.chunks]", f'by = "{cut[1]}"']
        lines += [f"size = {cut[2]}", f"overlap = {cut[3]}"]
    return lines


def _read_choice(request: Request, choices: dict[str, list[str]]) -> dict[str, str]:
    chosen = {key: request.query_params.get(key, "") for key in choices}
    for key, value in chosen.items():
        if value and value not in choices[key]:
            raise InputError(f'{key}: no "{value[:40]}"{did_you_mean(value, choices[key])}')
    return chosen


def _read_charts(folder: Path) -> dict[str, Spec]:
    """Empty for a sweep without charts or with a damaged file."""
    with suppress(OSError, ValueError):
        stored = read_json((folder / _CHARTS_FILE).read_bytes())
        return msgspec.convert(stored, dict[str, Spec])
    return {}


def _read_settings(summary: TomlTable) -> list[TomlTable]:
    """Every setting of sweep.json with its metrics by plain name, best first."""
    rows: list[TomlTable] = []
    times = summary.get("milliseconds", {})
    for setting in msgspec.convert(summary.get("settings", []), list[TomlTable]):
        metrics = {key.partition("@")[0]: value for key, value in setting.items() if "@" in key}
        row: TomlTable = {key: setting.get(key) for key in _PLAIN_FIELDS}
        row["type"] = _retrieval_type(setting.get("alpha"))
        row["metrics"] = metrics
        row["time"] = times.get(row["setting"])
        rows.append(row)
    return sorted(rows, key=lambda row: -(row["value"] or row["metrics"].get("f1") or 0.0))


def _retrieval_type(alpha: float | None) -> str:
    if alpha is None:
        return "fusion"
    return {0.0: "sparse", 1.0: "dense"}.get(alpha, "hybrid")


def _setting_chart(rows: Sequence[TomlTable], metric: str) -> dict[str, Spec]:
    """The best settings by a metric, as bars; empty if no setting has the metric."""
    values = [
        {
            "setting": short_label(f"{row['setting']}, K = {row['k']}"),
            "value": row["metrics"][metric],
        }
        for row in rows
        if row["metrics"].get(metric) is not None
    ]
    if not values:
        return {}
    y = name("setting", axis={"labelLimit": 260})
    bars = layer("bar", {"x": number("value", metric), "y": y}, color=BLUE, tooltip=True)
    spec = {"data": {"values": values[:_MOST_BARS]}, "height": {"step": 22}, **bars}
    subtitle = f"{len(values)} settings"
    if len(values) > _MOST_BARS:
        subtitle = f"the first {_MOST_BARS} of {len(values)} settings"
    return {"chosen": add_title(f"{metric} of the chosen settings", spec, subtitle)}
