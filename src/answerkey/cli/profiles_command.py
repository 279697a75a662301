"""`answerkey profiles`: the rulers that are built in, and the TOML of one."""

from __future__ import annotations

import click

from answerkey.cli.shared import json_option, print_json, show


@click.group("profiles", invoke_without_command=True)
@json_option
@click.pass_context
def command(ctx: click.Context, as_json: bool) -> None:
    """List the built-in profiles, or show one as TOML to start your own from.

    \b
    Example:
      answerkey profiles
      answerkey profiles show route-aware > my-profile.toml
    """
    if ctx.invoked_subcommand is not None:
        return
    from answerkey.cli.listing import profile_listing
    from answerkey.profiles import builtin_names, load_profile

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
    "--words", is_flag=True, help="The default word lists, which a profile may replace under [words]."
)
def show_one(name: str, words: bool) -> None:
    """Print the TOML of a built-in profile.

    \b
    Example:
      answerkey profiles show rubric
    """
    from answerkey.profiles.load import builtin_text, words_text

    text = builtin_text(name)
    show(text.rstrip() + (f"\n\n[words]\n{words_text()}".rstrip() if words else ""))
