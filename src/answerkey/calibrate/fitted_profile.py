"""The fit of a profile for programs, for people, and as a profile of its own."""

from __future__ import annotations

from answerkey.calibrate.agreement import Agreement
from answerkey.calibrate.profile_fit import MOST_ROUTES, ProfileFit, name_group
from answerkey.text import format_count
from answerkey.types import Profile


def fit_json(fit: ProfileFit) -> dict[str, object]:
    """The fit for programs."""
    return {
        "rows": fit.rows,
        "unscored": fit.unscored,
        "before": _agreement_json(fit.before),
        "after": _agreement_json(fit.after),
        "is_better": fit.is_better,
        "rules": [
            {
                "group": rules.group or None,
                "rows": rules.rows,
                "weights": dict(rules.weights),
                "pass": rules.pass_mark,
                "note": rules.note,
            }
            for rules in fit.rules
        ],
    }


def _agreement_json(part: Agreement) -> dict[str, float | None]:
    return {"accuracy": part.accuracy, "tpr": part.tpr, "tnr": part.tnr, "kappa": part.kappa}


def fit_text(fit: ProfileFit, profile: Profile) -> str:
    """The fit for people: agreement before and after, then the weights."""
    lines = [
        f"{profile.name}: {format_count(fit.rows, 'labelled answer')}, "
        f"{fit.unscored} more without a verdict",
        _agreement_line("as it is", fit.before),
        _agreement_line("fitted (on rows left out of the fit)", fit.after),
    ]
    lines_of_group = {MOST_ROUTES: profile.rules, **profile.group_rules}
    for rules in fit.rules:
        lines.append(f"{name_group(rules.group)}, {format_count(rules.rows, 'row')}")
        if rules.note:
            lines.append(f"  stays as it is: {rules.note}")
            continue
        now = lines_of_group[rules.group]
        lines.append(f"  pass mark  {now.pass_mark:g} → {rules.pass_mark:g}")
        total = sum(line.weight for line in now.lines)
        for line in now.lines:
            if line.metric in rules.weights:
                new = rules.weights[line.metric]
                lines.append(f"  {line.metric}  {line.weight / total:.3f} → {new:.3f}")
    if not fit.is_better:
        lines.append("the fit is not better on rows left out: keep the profile as it is")
    return "\n".join(lines)


def _agreement_line(name: str, part: Agreement) -> str:
    def figure(value: float | None) -> str:
        return "-" if value is None else f"{value:.3f}"

    return (
        f"  {name}: accuracy {part.accuracy:.3f}, κ {figure(part.kappa)}, "
        f"good ones passed {figure(part.tpr)}, bad ones failed {figure(part.tnr)}"
    )


def fitted_toml(fit: ProfileFit, base: str, name: str, source: str) -> str:
    """A profile that begins with `base` and has the fitted weights and pass marks."""
    figures = f"κ {fit.before.kappa or 0:.3f} → {fit.after.kappa or 0:.3f} on rows left out"
    parts = [
        f"# Weights and pass marks fitted to {fit.rows} labels of {source} ({figures}).",
        f"base = {_quote(base)}",
        f"name = {_quote(name)}",
    ]
    # TOML wants the keys of the top before the first table.
    tables: list[str] = []
    for rules in fit.rules:
        if rules.note:
            continue
        if rules.group == MOST_ROUTES:
            parts.append(f"pass = {rules.pass_mark!r}")
            header = "[[criteria]]"
        else:
            # Quoted: the name of a group may have dots or blanks.
            group = _quote(rules.group)
            tables.append(f"\n[on.{group}]\npass = {rules.pass_mark!r}")
            header = f"[[on.{group}.criteria]]"
        for metric, weight in rules.weights.items():
            tables.append(f"\n{header}\nmetric = {_quote(metric)}\nweight = {weight!r}")
    return "\n".join([*parts, *tables]) + "\n"


def _quote(text: str) -> str:
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'
