"""`answerkey profiles`: the built-in scoring profiles."""

from __future__ import annotations

from dataclasses import asdict

import click

from answerkey.cli.output import json_option, print_json, show
from answerkey.profiles import builtin_names, load_profile
from answerkey.profiles.load import builtin_text, words_text
from answerkey.types import Json, Profile


@click.group("profiles", invoke_without_command=True)
@json_option
@click.pass_context
def command(ctx: click.Context, as_json: bool) -> None:
    """List the built-in scoring profiles, or print one as TOML to start your own from.

    \b
    Example:
      answerkey profiles
      answerkey profiles show route-aware > my-profile.toml
    """
    if ctx.invoked_subcommand is not None:
        return
    listed = [profile_listing(load_profile(name)) for name in builtin_names()]
    if as_json:
        print_json(listed)
        return
    for entry in listed:
        show(
            f"{entry['name']:<14} version {entry['version']}  pass {entry['pass']:g} of {entry['scale']:g}  {entry['summary']}"
        )
        show(f"{'':<14} {', '.join(entry['metrics'])}")


@command.command("show")
@click.argument("name")
@click.option(
    "--words", is_flag=True, help="Also print the default word lists, which a profile can replace under [words]."
)
def show_one(name: str, words: bool) -> None:
    """Print the TOML of a built-in profile.

    \b
    Example:
      answerkey profiles show rubric
    """
    text = builtin_text(name)
    show(text.rstrip() + (f"\n\n[words]\n{words_text()}".rstrip() if words else ""))


def profile_listing(profile: Profile) -> Json:
    return {
        "name": profile.name,
        "version": profile.version,
        "summary": profile.summary,
        "digest": profile.digest,
        "scale": profile.scale,
        "route_weight": profile.route_weight,
        "metrics": list(profile.metrics),
        "pass": profile.rules.pass_mark,
        "bands": [asdict(band) for band in profile.rules.bands],
    }
