"""`answerkey models`: fetch from a hub on loopback, interrupt, resume, list, remove; hashes, tokens, offline."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from tests.support.tiny_hub import TinyHub
from tests.support.tiny_models import make_classes, make_embedding, make_number, make_tokens

from answerkey.entailment.load import load_pair_model

NAME = "tiny/nli"
ORDER = ("contradicted", "neutral", "supported")


@pytest.fixture
def hub(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[TinyHub]:
    make_classes(tmp_path / "hub" / NAME, ORDER)
    monkeypatch.setenv("HF_HOME", str(tmp_path / "home"))
    for name in ("HF_HUB_CACHE", "HF_TOKEN", "HF_HUB_OFFLINE"):
        monkeypatch.delenv(name, raising=False)
    with TinyHub(tmp_path / "hub") as server:
        monkeypatch.setenv("HF_ENDPOINT", server.url)
        yield server


pytestmark = pytest.mark.network


def test_fetch_list_and_remove(cli: Callable, hub: TinyHub) -> None:
    for name, make in (("tiny/number", make_number), ("tiny/tokens", make_tokens)):
        make(hub.root / name)
    make_embedding(hub.root / "tiny/embedding")
    shown = cli("models", "fetch", NAME)
    assert shown.code == 0, shown.err
    assert f"{NAME} {hub.commit(NAME)[:12]}" in shown.err
    assert "licence mit" in shown.err
    for name in ("tiny/number", "tiny/tokens", "tiny/embedding"):
        assert cli("models", "fetch", name, "--json").json["revision"] == hub.commit(name)
    rows = {row["name"]: row for row in cli("models", "list", "--json").json}
    assert {name: row["kind"] for name, row in rows.items()} == {
        NAME: "three classes",
        "tiny/number": "one number",
        "tiny/tokens": "token classifier",
        "tiny/embedding": "embedding model",
    }
    assert rows[NAME]["card"] == "not checked"
    assert load_pair_model(NAME) is not None
    assert cli("models", "remove", NAME).code == 0
    assert NAME not in cli("models", "list").out
    shown = cli("models", "remove", NAME)
    assert shown.code == 2
    assert "is not on this machine" in shown.err


def test_an_interrupted_download_is_resumed(cli: Callable, hub: TinyHub) -> None:
    hub.break_after = 500
    shown = cli("models", "fetch", NAME)
    assert shown.code == 3
    assert "run the same command again to resume" in shown.last_line
    rows = cli("models", "list", "--json").json
    assert [row["kind"] for row in rows] in ([], ["not usable"])
    hub.requests.clear()
    assert cli("models", "fetch", NAME).code == 0
    ranges = [span for _, path, span in hub.requests if span]
    assert ranges == ["bytes=500-"]
    assert load_pair_model(NAME) is not None


def test_a_file_that_was_changed_on_the_way_is_refused(cli: Callable, hub: TinyHub) -> None:
    hub.corrupt.add("config.json")
    shown = cli("models", "fetch", NAME)
    assert shown.code == 3
    assert "does not have the hash" in shown.last_line
    hub.corrupt.clear()
    hub.corrupt.add("onnx/model.onnx")
    assert "does not have the hash" in cli("models", "fetch", NAME).last_line
    hub.corrupt.clear()
    assert cli("models", "fetch", NAME).code == 0


def test_a_private_model_wants_the_token_of_the_environment(
    cli: Callable, hub: TinyHub, monkeypatch: pytest.MonkeyPatch
) -> None:
    hub.private[NAME] = "hf_secret"
    shown = cli("models", "fetch", NAME)
    assert shown.code == 2
    assert "HF_TOKEN" in shown.last_line
    monkeypatch.setenv("HF_TOKEN", "hf_secret")
    shown = cli("models", "fetch", NAME)
    assert shown.code == 0
    assert "hf_secret" not in shown.err


def test_a_commit_can_be_fetched_and_a_wrong_one_is_an_error(cli: Callable, hub: TinyHub) -> None:
    commit = hub.commit(NAME)
    assert cli("models", "fetch", NAME, "--revision", commit).code == 0
    assert load_pair_model(NAME, revision=commit) is not None
    shown = cli("models", "fetch", NAME, "--revision", "v9")
    assert shown.code == 2
    assert 'no revision "v9"' in shown.last_line


def test_offline_and_unreachable_hubs_have_messages(
    cli: Callable, hub: TinyHub, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    assert "HF_HUB_OFFLINE is set" in cli("models", "fetch", NAME).last_line
    monkeypatch.delenv("HF_HUB_OFFLINE")
    monkeypatch.setenv("HF_ENDPOINT", "http://127.0.0.1:9")
    assert cli("models", "fetch", NAME).code == 3


def test_pickles_are_refused(cli: Callable, hub: TinyHub) -> None:
    folder = hub.root / "tiny/pickle"
    make_number(folder)
    (folder / "model.onnx").rename(folder / "pytorch_model.bin")
    shown = cli("models", "fetch", "tiny/pickle")
    assert shown.code == 2
    assert "can run code" in shown.last_line


@pytest.mark.parametrize("name", ["../x", "a/../../b", "a/b/c", ""])
def test_a_name_cannot_lead_out_of_the_cache(cli: Callable, hub: TinyHub, name: str) -> None:
    assert cli("models", "fetch", name).code == 2
    assert cli("models", "remove", name).code == 2
    assert cli("models", "fetch", NAME, "--revision", "../../x").code == 2


def test_without_the_extra_the_message_names_the_command(
    cli: Callable, hub: TinyHub, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "huggingface_hub", None)
    shown = cli("models", "fetch", NAME)
    assert shown.code == 2
    assert "pip install 'answerkey[models]'" in shown.last_line


def test_a_model_that_was_not_fetched_names_the_command(
    cli: Callable, hub: TinyHub, write: Callable[[str, object], Path]
) -> None:
    rows = write("a.jsonl", [{"id": "1", "question": "q", "answer": "a", "contexts": ["a"]}])
    suite = write(
        "suite.toml",
        f'cases = "{rows.name}"\nmetrics = ["groundedness"]\nentailment = "{NAME}"\n'
        f'[target]\nkind = "recorded"\n',
    )
    shown = cli("run", suite)
    assert shown.code == 2
    assert f"answerkey models fetch {NAME}" in shown.last_line
    assert not hub.requests  # nothing is downloaded unasked
    assert json.loads(rows.read_text())["id"] == "1"


FAMILIES: dict[str, tuple[str, Callable[[Path], Path]]] = {
    "three-wordpiece": ("three classes", lambda folder: make_classes(folder, ORDER)),
    "three-bpe": ("three classes", lambda folder: make_classes(folder, ORDER, "bpe")),
    "three-unigram": ("three classes", lambda folder: make_classes(folder, ORDER, "unigram")),
    "two": ("two classes", lambda folder: make_classes(folder, ("not_supported", "supported"))),
    "number": ("one number", lambda folder: make_number(folder)),
    "number-bpe": ("one number", lambda folder: make_number(folder, "bpe")),
    "tokens": ("token classifier", lambda folder: make_tokens(folder)),
    "tokens-wordpiece": ("token classifier", lambda folder: make_tokens(folder, "wordpiece")),
}


@pytest.mark.parametrize("family", FAMILIES)
def test_each_family_is_fetched_resumed_checked_run_and_compared(
    cli: Callable, hub: TinyHub, write: Callable[[str, object], Path], tmp_path: Path, family: str
) -> None:
    """From the hub to a comparison; an answer with "yes" is supported, one with "no" is not, whatever the family."""
    name = f"tiny/{family}"
    kind, make = FAMILIES[family]
    make(hub.root / name)
    hub.break_after = 300
    assert cli("models", "fetch", name).code == 3
    assert cli("models", "fetch", name).code == 0
    assert any(span == "bytes=300-" for _, _, span in hub.requests)
    row = next(row for row in cli("models", "list", "--json").json if row["name"] == name)
    assert row["kind"] == kind

    contexts = ["the museum opened in 1932"]
    answers = [f"{('yes', 'no')[n % 2]} the museum {'opened ' * (n % 5)}." for n in range(60)]
    labelled = [
        {"contexts": contexts, "answer": answer, "label": 1 - n % 2 if n % 10 else n % 2}
        for n, answer in enumerate(answers)
    ]
    shown = cli("models", "check", name, "--data", write("labelled.jsonl", labelled))
    assert shown.code == 0, shown.err
    cases = [
        {"id": str(n), "question": "q", "answer": answer, "contexts": contexts}
        for n, answer in enumerate(answers[:6])
    ]
    path = write("cases.jsonl", cases)
    for side in ("a", "b"):
        shown = cli(
            "score", path, "--metrics", "groundedness", "--entailment", name, "--no-charts",
            "--out", tmp_path / side,
        )  # fmt: skip
        assert shown.code == 0, shown.err
    a, b = (next((tmp_path / side).glob("*/run.json")).parent for side in "ab")
    scores = [json.loads(line) for line in (a / "results.jsonl").read_text().splitlines()]
    values = [row["scores"]["groundedness"]["value"] for row in scores]
    assert min(values[0::2]) > max(values[1::2])
    fingerprint = json.loads((a / "run.json").read_text())["fingerprint"]["entailment"]
    assert hub.commit(name)[:12] in fingerprint
    assert "card " in fingerprint
    shown = cli("compare", a, b)
    assert shown.code == 0, shown.err
    assert "entailment model: changed" not in shown.out


def test_a_reranker_is_fetched_and_listed_but_decides_nothing(
    cli: Callable, hub: TinyHub, write: Callable[[str, object], Path], tmp_path: Path
) -> None:
    name = "tiny/ms-marco-reranker"
    make_number(hub.root / name)
    assert cli("models", "fetch", name).code == 0
    row = next(row for row in cli("models", "list", "--json").json if row["name"] == name)
    assert (row["kind"], row["card"]) == ("reranker", "needs no card")
    cases = write("cases.jsonl", [{"id": "1", "question": "q", "answer": "a", "contexts": ["a"]}])
    shown = cli(
        "score", cases, "--metrics", "groundedness", "--entailment", name, "--out", tmp_path / "a"
    )
    assert shown.code == 2
    assert "is a reranker" in shown.last_line


def test_an_embedding_model_is_fetched_resumed_and_used(
    cli: Callable, hub: TinyHub, write: Callable[[str, object], Path], tmp_path: Path
) -> None:
    name = "tiny/embedding"
    make_embedding(hub.root / name, "cls", {"query": "no ", "passage": "yes "})
    hub.break_after = 300
    assert cli("models", "fetch", name).code == 3
    assert cli("models", "fetch", name).code == 0
    answer = "the museum opened in 1932"
    case = {"id": "1", "question": "q", "answer": answer, "expected": answer}
    shown = cli(
        "score", write("cases.jsonl", [case]), "--metrics", "answer_correctness", "--model", name,
        "--no-charts", "--out", tmp_path / "a",
    )  # fmt: skip
    assert shown.code == 0, shown.err
    folder = next((tmp_path / "a").glob("*/run.json")).parent
    fingerprint = json.loads((folder / "run.json").read_text())["fingerprint"]
    assert name in fingerprint["embedding"]
