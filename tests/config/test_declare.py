"""Settings are declared once: types, limits, defaults and help; every mistake is one line that says what to do."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path
from typing import Annotated, Any, Literal

import msgspec
import pytest

from answerkey.config.declare import (
    Table,
    about,
    check_settings,
    old_names,
    read_table,
    require_path,
    settings_of,
    toml_text,
    use_new_names,
)
from answerkey.config.retrieval_tables import RetrievalTable
from answerkey.config.tables import (
    EmbeddingTable,
    ExecutionTable,
    GateTable,
    JudgeTable,
    SuiteTable,
)
from answerkey.config.target_tables import TARGET_TABLES
from answerkey.demo.kpi_catalog import Kpi
from answerkey.errors import SettingsError
from answerkey.profiles.load import BandTable, CriterionTable, ProfileTable

EVERY_TABLE = [
    ExecutionTable,
    GateTable,
    JudgeTable,
    EmbeddingTable,
    RetrievalTable,
    SuiteTable,
    *TARGET_TABLES.values(),
]


class Bread(Table, frozen=True):
    flour: Annotated[Path, about("The kind of flour.")]
    grams: Annotated[int, about("How much.", ge=1)] = 500
    hours: Annotated[float, about("How long.", gt=0)] | None = None
    crust: Annotated[Literal["soft", "crisp"], about("What it is like.")] = "crisp"
    seeds: Annotated[tuple[str, ...], about("What is on top.")] = ()


class Toaster(Table, frozen=True):
    slots: Annotated[int, about("Slices at the same time.")] = 2


class Kitchen(Table, frozen=True):
    toaster: Annotated[Toaster | None, about("A toaster, if there is one.")] = None


def read(**given: Any) -> Bread:
    return read_table(Bread, {"flour": "rye", **given}, "[bread]", Path("mill"))


def test_values_come_in_their_types_with_defaults_and_paths_relative_to_the_folder() -> None:
    assert read(hours=3, seeds=["poppy"]) == Bread(Path("mill/rye"), 500, 3.0, "crisp", ("poppy",))
    assert isinstance(read(hours=3).hours, float)


@pytest.mark.parametrize(
    ("given", "line"),
    [
        ({"gram": 5}, '[bread] has no setting "gram"; did you mean "grams"?'),
        ({"zz": 5}, '[bread] has no setting "zz"; it has flour, grams, hours, crust, seeds'),
        ({"grams": 0}, "[bread] grams = 0: expected a whole number of 1 or more"),
        ({"grams": True}, "[bread] grams = true: expected a whole number of 1 or more"),
        ({"grams": 1.5}, "[bread] grams = 1.5: expected a whole number of 1 or more"),
        ({"hours": float("nan")}, "[bread] hours = nan: expected a number above 0"),
        ({"hours": float("inf")}, "[bread] hours = inf: expected a number above 0"),
        ({"hours": "3"}, '[bread] hours = "3": expected a number above 0'),
        ({"crust": "soff"}, '[bread] crust = "soff": expected soft or crisp; did you mean "soft"?'),
        ({"seeds": "poppy"}, '[bread] seeds = "poppy": expected a list of strings'),
        ({"seeds": [1]}, "[bread] seeds = [1]: expected a list of strings"),
        ({"flour": 3}, "[bread] flour = 3: expected a path"),
        ({"flour": ""}, '[bread] flour = "": expected a path'),
        ({"crust": "\x1b[31m\n"}, '[bread] crust = "\\u001b[31m\\u000a": expected soft or crisp'),
    ],
)
def test_a_mistake_is_one_line_with_what_was_found_and_expected(
    given: dict[str, Any], line: str
) -> None:
    with pytest.raises(SettingsError) as caught:
        read(**given)
    assert str(caught.value) == line


def test_an_optional_table_is_read_as_any_other() -> None:
    assert read_table(Kitchen, {"toaster": {"slots": 4}}, "[kitchen]").toaster == Toaster(4)
    assert read_table(Kitchen, {"toaster": None}, "[kitchen]").toaster is None
    with pytest.raises(SettingsError) as caught:
        read_table(Kitchen, {"toaster": {"slot": 4}}, "[kitchen]")
    line = '[kitchen.toaster] has no setting "slot"; did you mean "slots"?'
    assert str(caught.value) == line


def test_a_required_setting_is_named_with_its_help_and_only_a_table_is_a_table() -> None:
    with pytest.raises(SettingsError, match=r"^\[bread\] needs flour: the kind of flour$"):
        read_table(Bread, {}, "[bread]")
    with pytest.raises(SettingsError, match=r"^\[bread\] = 5: expected a table \[bread\]$"):
        read_table(Bread, 5, "[bread]")
    assert check_settings(Bread, {"grams": 3, "more": 1}, "[bread]", others=["more"]) == {
        "grams": 3
    }
    with pytest.raises(SettingsError, match=r"\[target\] faq: no such file or folder: /nowhere/x"):
        require_path(Path("/nowhere/x"), "faq")


def test_none_is_a_setting_that_is_not_set_or_an_error() -> None:
    assert read_table(EmbeddingTable, {"base_url": None}, "[embedding]") == EmbeddingTable()
    with pytest.raises(SettingsError, match=r"^\[judge\] base_url = None: expected text$"):
        read_table(JudgeTable, {"base_url": None}, "[judge]")


def test_numbers_past_every_limit_are_refused_on_one_short_line() -> None:
    for huge in (10**400, 10**6000, "9" * 5000):
        with pytest.raises(SettingsError) as caught:
            read(hours=huge)
        assert len(str(caught.value)) < 160
    assert toml_text("x" * 500).endswith("…")


@pytest.mark.parametrize("table", EVERY_TABLE)
def test_every_setting_has_a_sentence_of_help(table: type[Table]) -> None:
    for setting in settings_of(table).values():
        assert setting.help.endswith("."), setting.name
        assert setting.help[0].isupper() or setting.help[0] in "`k" or setting.name == "b", (
            setting.name
        )


@pytest.mark.parametrize("table", EVERY_TABLE)
@pytest.mark.parametrize(
    "value", [None, float("nan"), float("inf"), 10**400, "\ud800", b"x", object(), [[[]]], {1: 2}]
)
def test_no_value_is_a_crash(table: type[Table], value: Any) -> None:
    for name in settings_of(table):
        with suppress(SettingsError):
            check_settings(table, {name: value}, "[table]")


@pytest.mark.parametrize("kind", [SuiteTable, JudgeTable, EmbeddingTable, ProfileTable, CriterionTable, BandTable, Kpi, *TARGET_TABLES.values()])  # fmt: skip
def test_every_declaration_can_be_decoded(kind):
    """msgspec refuses a limit on `int | None`: it belongs inside, `Annotated[int, about("…", ge=1)] | None`."""
    with suppress(msgspec.ValidationError, SettingsError):
        msgspec.convert({}, kind)
    assert all(setting.help for setting in settings_of(kind).values())


def test_old_names_of_settings_move_to_their_table(tmp_path: Path) -> None:
    """`chunks` was a file and is a table now; both forms are understood."""
    old = {"index": "i.faiss", "chunks": "c.jsonl", "ks": [3], "chunk_sizes": [50, 100]}
    new = {
        "store": {"index": "i.faiss", "chunks": "c.jsonl"},
        "sweep": {"ks": [3]},
        "chunks": {"size": [50, 100]},
    }
    assert use_new_names(RetrievalTable, old, "[retrieval]") == new
    assert use_new_names(RetrievalTable, new, "[retrieval]") == new
    read = read_table(RetrievalTable, old, "[retrieval]", tmp_path)
    assert read == read_table(RetrievalTable, new, "[retrieval]", tmp_path)
    assert read.store.index == tmp_path / "i.faiss"
    assert old_names(RetrievalTable, old)["ks"] == "sweep.ks"
    assert not old_names(RetrievalTable, new)


def test_a_setting_under_both_names_is_an_error() -> None:
    table = {"documents": "d", "ks": [3], "sweep": {"ks": [5]}}
    with pytest.raises(SettingsError, match=r"sets ks twice: also as sweep\.ks"):
        read_table(RetrievalTable, table, "[retrieval]")
    with pytest.raises(SettingsError, match=r"\[retrieval\.sweep\] has no setting \"kz\""):
        read_table(RetrievalTable, {"documents": "d", "sweep": {"kz": [5]}}, "[retrieval]")
