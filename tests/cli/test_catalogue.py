"""`answerkey metrics` and `answerkey profiles`: what they list."""

from __future__ import annotations

from collections.abc import Callable

from answerkey.metrics.registry import PROVIDED, all_metrics
from answerkey.profiles import builtin_names


def test_every_metric_is_listed_with_its_settings_and_tools(cli: Callable) -> None:
    rows = {row["name"]: row for row in cli("metrics", "--json").json}
    assert set(rows) == {metric.name for metric in all_metrics()}
    # Other tests of the same process may have registered metrics of their own.
    builtin = {m.name for m in all_metrics() if m.module.startswith("answerkey.")}
    for name in builtin:
        row = rows[name]
        assert not PROVIDED.intersection(row["settings"]), name  # a user cannot set these
        assert row["summary"], name
    assert rows["number_close"]["settings"] == ["decimal", "tolerance"]
    assert rows["groundedness"]["settings"] == ["without_passages"]
    assert rows["judge.safety"]["tools"] == ["judge"]


def test_the_list_for_people_has_every_metric_under_its_package(cli: Callable) -> None:
    shown = cli("metrics").out
    for metric in all_metrics():
        assert f"  {metric.name} " in shown
        assert f"\n{metric.package}\n" in shown


def test_profiles_are_listed_and_shown(cli: Callable) -> None:
    assert [row["name"] for row in cli("profiles", "--json").json] == list(builtin_names())
    shown = cli("profiles", "show", "rag").out
    assert 'name = "rag"' in shown
    assert "# Word lists that [words] can replace" in shown
    assert "\n[words]\n" in cli("profiles", "show", "rag", "--words").out
