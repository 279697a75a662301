"""Files as people have them, through the command line: one test per way in which they used to be misread or refused."""

from __future__ import annotations

import json
import logging
import pickle
import sys
import types
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

Cli = Callable[..., Any]
Write = Callable[..., Path]


@pytest.fixture(autouse=True)
def _no_color(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NO_COLOR", "1")


def results(folder: Path) -> list[dict[str, Any]]:
    (path,) = folder.glob("*/results.jsonl")
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def score(cli: Cli, tmp_path: Path, *arguments: Any) -> list[dict[str, Any]]:
    shown = cli("score", *arguments, "--out", tmp_path / "out", "--no-charts")
    assert shown.code in (0, 3), shown.err
    return results(tmp_path / "out")


def bot(folder: Path, body: str) -> Path:
    (folder / "bot.py").write_text(body)
    (folder / "suite.toml").write_text(
        'cases = ["cases.jsonl"]\nmetrics = ["recall@5", "groundedness"]\n[target]\ncall = "bot:answer"\n'
    )
    return folder / "suite.toml"


def test_1_the_page_number_wins_over_the_0_based_page(cli: Cli, write: Write, tmp_path: Path) -> None:
    chunk = {"page_content": "t", "metadata": {"page_number": "34", "page": 33}}
    path = write("a.jsonl", [{"question": "q", "contexts": [chunk], "relevant": ["34"], "answer": "a"}])
    (line,) = score(cli, tmp_path, path, "--metrics", "recall@5")
    assert line["scores"]["recall@5"]["value"] == 1.0


def test_2_documents_as_objects_and_under_other_names_are_read_live(cli: Cli, write: Write, tmp_path: Path) -> None:
    write("cases.jsonl", [{"id": "a", "question": "How long?"}, {"id": "b", "question": "Which?"}])
    suite = bot(
        tmp_path,
        "class Document:\n"
        "    def __init__(self, text): self.page_content, self.metadata = text, {'page': 3}\n"
        "def answer(q):\n"
        "    found = Document('You have 30 days.') if q == 'How long?' else {'document': 'The red one.', 'source': 'm.pdf'}\n"
        "    return {'answer': 'It is 30 days.', 'source_documents': [found]}\n",
    )
    assert cli("run", suite, "--no-charts", "--quiet").code == 0
    contexts = [line["contexts"] for line in results(tmp_path / "results")]
    assert contexts == [["You have 30 days."], ["The red one."]]


def test_2_an_object_without_text_is_an_error_that_names_its_type(cli: Cli, write: Write, tmp_path: Path) -> None:
    write("cases.jsonl", [{"id": "a", "question": "How long?"}])
    suite = bot(tmp_path, "def answer(q): return {'answer': 'x', 'contexts': [range(3)]}\n")
    cli("run", suite, "--no-charts", "--quiet")
    (line,) = results(tmp_path / "results")
    assert "a passage of type range" in line["error"]


def test_3_a_carried_column_changes_no_verdict(
    cli: Cli, write: Write, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    row = {"id": "a", "question": "q", "expected": "yes it is", "answer": "yes it is"}
    with caplog.at_level(logging.WARNING):
        (line,) = score(
            cli,
            tmp_path,
            write("a.csv", "id,question,expected,answer,min_score\na,q,yes it is,yes it is,0.99\n"),
            "--profile",
            "uniform",
            "--model",
            "none",
        )
    (plain,) = score(cli, tmp_path / "plain", write("b.jsonl", [row]), "--profile", "uniform", "--model", "none")
    assert line["verdict"] == plain["verdict"]
    assert 'a.csv: carried along, not scored: "min_score"' in caplog.text.replace(f"{tmp_path}/", "")


def test_5_places_without_an_id_are_never_merged(cli: Cli, write: Write) -> None:
    path = write("r.csv", "query_id,retrieved_pages,relevant_pages\nq,\"['N/A', 'N/A', None, '7']\",\"['7']\"\n")
    shown = cli("rank", "--run", path, "--metrics", "mrr,precision@5", "--json")
    assert shown.json["mean"] == {"mrr": 0.25, "precision@5": 0.2}
    assert shown.json["places_without_id"] == 3
    assert "3 of 4 retrieved places have no id" in cli("rank", "--run", path).out
    assert "3 of 4 (75%) retrieved places have no page or id" in cli("diagnose", "--run", path).out


def test_6_sources_keep_document_and_url(cli: Cli, write: Write, tmp_path: Path) -> None:
    source = {"doc": "psoc.pdf", "page": 0, "url": "https://x.org/p"}
    (line,) = score(
        cli,
        tmp_path,
        write("a.jsonl", [{"question": "q", "answer": "a", "sources": [source]}]),
        "--metrics",
        "exact_match",
    )
    assert line["sources"] == ["psoc.pdf#0 (https://x.org/p)"]


def test_7_test_with_a_limit_asks_that_many(cli: Cli, write: Write, tmp_path: Path) -> None:
    write("cases.jsonl", [{"id": str(n), "question": f"q{n}"} for n in range(5)])
    suite = bot(tmp_path, "def answer(q): return 'x'\n")
    assert cli("run", suite, "--test", "--limit", "3", "--no-charts").code == 0
    assert len(results(tmp_path / "results")) == 3


def test_8_duplicate_keys_are_reported(cli: Cli, write: Write, caplog: pytest.LogCaptureFixture) -> None:
    path = write("a.jsonl", '{"question": "q", "expected": "a", "expected": "b"}\n')
    assert cli("cases", path, "--json").json[0]["expected"] == "b"
    assert 'line 1: the key "expected" is given twice; the last value is used' in caplog.text


def test_8_duplicate_questions_are_reported(cli: Cli, write: Write, caplog: pytest.LogCaptureFixture) -> None:
    cli("cases", write("a.csv", "id,question\n1,same\n2,other\n3,same\n"))
    assert "1 cases repeat a question of an earlier case (3)" in caplog.text or "repeat a question" in caplog.text


def test_9_both_routes_and_harmless_columns(cli: Cli, write: Write) -> None:
    header = "query,expected_route,preferred_route,response_type,response_time_sec,num_relevant_docs,actual_route_after,x_question"
    shown = cli("cases", write("a.csv", f"{header}\nq,a,b,text,1.5,3,c,d\n"), "--json")
    assert shown.code == 0
    assert shown.json[0]["expected_route"] == "b"


SHAPES: dict[str, Any] = {
    "categories": {"sales": [{"query": "a"}], "hr": [{"query": "b"}]},
    "results": {"timestamp": "x", "results": [{"query": "a", "type": "sales"}, {"query": "b", "type": "hr"}]},
    "by id": {"S1": {"query": "a", "type": "sales"}, "S2": {"query": "b", "type": "hr"}},
}


def test_10_numbered_turns_are_in_the_order_of_their_numbers(cli: Cli, write: Write) -> None:
    turns = [{"turn": 2, "user": "And in June?"}, {"turn": 1, "user": "Sales of May?"}]
    first, second = cli("cases", write("c.json", {"conversation": turns}), "--json").json
    assert (first["question"], second["history"][0]["user"]) == ("Sales of May?", "Sales of May?")


@pytest.mark.parametrize("shape", SHAPES)
def test_10_shapes_of_json(shape: str, cli: Cli, write: Write) -> None:
    shown = cli("cases", write("a.json", SHAPES[shape]), "--json")
    assert [(case["question"], case["type"]) for case in shown.json] == [("a", "sales"), ("b", "hr")]


@pytest.mark.parametrize(
    "row",
    [
        {"id": "t", "query": "Sales in May?", "sequence": ["And June?"]},
        {"id": "t", "sequence": [{"query": "Sales in May?"}, {"query": "And June?"}]},
        {"id": "t", "messages": [{"role": "system", "content": "x"}, {"role": "user", "content": "Sales in May?"}, {"role": "assistant", "content": "RM 3"}, {"role": "user", "content": "And June?"}]},
        {"id": "t", "conversation": [{"turn": 1, "user": "Sales in May?", "expected_intent": "kpi"}, {"turn": 2, "user": "And June?"}]},
    ],
)  # fmt: skip
def test_10_conversations(row: dict[str, Any], cli: Cli, write: Write) -> None:
    shown = cli("cases", write("a.json", [row]), "--json")
    assert [case["question"] for case in shown.json] == ["Sales in May?", "And June?"]
    assert [case["id"] for case in shown.json] == ["t#T1", "t#T2"]
    assert [turn["user"] for turn in shown.json[1]["history"]] == ["Sales in May?"]


@pytest.mark.parametrize(
    ("name", "truth"),
    [
        ("truth.json", [{"id": "a", "ground_truth": "yes"}]),
        ("truth.json", {"a": "yes"}),
        ("truth.csv", "id,reference\na,yes\n"),
        ("truth.json", {"a": {"expected": "yes"}}),
    ],
)
def test_10_ground_truth_in_a_second_file(name: str, truth: Any, cli: Cli, write: Write) -> None:
    questions = write("questions.json", [{"id": "a", "query": "q"}, {"id": "b", "query": "r"}])
    shown = cli("cases", questions, write(name, truth), "--json")
    assert [(case["question"], case["expected"]) for case in shown.json] == [("q", "yes"), ("r", None)]
    wrong = cli("cases", questions, write("wrong.json", [{"id": "c", "expected": "x"}]))
    assert wrong.code == 2
    assert 'item 1, column "id": 1 ids have no case with a question, such as "c"' in wrong.err


def test_11_the_faq_bot_takes_question_and_expected_answer(cli: Cli, write: Write, tmp_path: Path) -> None:
    faq = write("faq.csv", "question,expected_answer\nHow can I reset my password?,Use the reset option.\n")
    suite = write(
        "suite.toml", f'cases = ["{faq.name}"]\nmetrics = ["exact_match"]\n[target]\nkind = "faq"\nfaq = "faq.csv"\n'
    )
    assert cli("run", suite, "--no-charts", "--quiet").code == 0
    assert results(tmp_path / "results")[0]["scores"]["exact_match"]["value"] == 1.0


def test_11_rank_gives_one_result_per_configuration(cli: Cli, write: Write) -> None:
    path = write(
        "r.csv",
        "config_name,query_id,retrieved_pages,expected_pages\n"
        "dense,1,\"['3', '4']\",['4']\ndense,2,\"['9']\",['9']\nsparse,1,\"['4', '3']\",['4']\nsparse,2,\"['8']\",['9']\n",
    )
    shown = cli("rank", "--run", path, "--metrics", "mrr,recall@2", "--json").json
    assert {name: told["mean"] for name, told in shown["configurations"].items()} == {
        "dense": {"mrr": 0.75, "recall@2": 1.0},
        "sparse": {"mrr": 0.5, "recall@2": 0.5},
    }
    assert shown["comparison"]["best"] == "dense"
    assert shown["comparison"]["difference_from_best"]["sparse"]["mrr"]["diff"] == -0.25
    assert "best by mrr: dense" in cli("rank", "--run", path, "--metrics", "mrr").out


@pytest.mark.parametrize(
    "label",
    [
        "34",
        "manual.pdf#34",
        "manual.pdf:34",
        "manual#34",
        {"doc": "manual.pdf", "page": 34},
        {"doc": "manual.pdf", "pages": [34]},
    ],
)
def test_labels_name_the_page_of_a_document(label: Any, cli: Cli, write: Write, tmp_path: Path) -> None:
    chunk = {"text": "t", "source": "docs/manual.pdf", "page": 34}
    row = {"question": "q", "contexts": [chunk], "relevant": [label], "answer": "a"}
    (line,) = score(cli, tmp_path, write("a.jsonl", [row]), "--metrics", "recall@5")
    assert line["scores"]["recall@5"]["value"] == 1.0


def test_a_bare_page_matches_no_page_of_several_documents(cli: Cli, write: Write, tmp_path: Path) -> None:
    chunks = [{"text": "t", "source": name, "page": 34} for name in ("a.pdf", "b.pdf")]
    (line,) = score(
        cli,
        tmp_path,
        write("a.jsonl", [{"question": "q", "contexts": chunks, "relevant": ["34"], "answer": "a"}]),
        "--metrics",
        "recall@5",
    )
    assert line["scores"]["recall@5"]["value"] == 0.0


def test_a_null_answer_is_an_error(cli: Cli, write: Write, tmp_path: Path) -> None:
    rows = [{"id": "a", "question": "q", "answer": None, "route": "x"}, {"id": "b", "question": "r", "answer": ""}]
    lines = score(cli, tmp_path, write("a.jsonl", rows), "--metrics", "exact_match")
    assert [line["error"] for line in lines] == ['no answer recorded: case "a"', None]


@pytest.mark.parametrize(
    ("answer", "suspected"),
    [
        ("Error: 500 Internal Server Error", True), ("502 Bad Gateway", True), ("HTTP 503 Service Unavailable", True),
        ("ValueError: cannot convert", True), ("Traceback (most recent call last):\n  File", True), ("<!DOCTYPE html><html>", True),
        ('{"error": "quota"}', True), ("Error: Cannot specify ',' with 's'.", True),
        ("N/A", True), ("N/A is short for not available.", False), ("Errors are listed in chapter 5.", False), ("404 people came.", False), ("The 500 status code means a server error.", False),
    ],
)  # fmt: skip
def test_an_answer_that_is_an_error_text_is_flagged(
    answer: str, suspected: bool, cli: Cli, write: Write, tmp_path: Path
) -> None:
    row = {"id": "a", "question": "q", "answer": answer, "expected": "500"}
    (line,) = score(cli, tmp_path, write("a.jsonl", [row]), "--metrics", "exact_match")
    assert ("suspected_error" in line["extra"]) is suspected


def test_16_resume_without_a_run_starts_one(cli: Cli, write: Write, tmp_path: Path) -> None:
    write("other.jsonl", [{"id": "a", "question": "q"}])
    suite = bot(tmp_path, "def answer(q): return 'a fine answer'\n")
    shown = cli("run", suite, "--resume", "--dataset", tmp_path / "other.jsonl", "--no-charts")
    assert shown.code == 0
    assert "to resume; starting a new one" in shown.err
    assert results(tmp_path / "results")[0]["answer"] == "a fine answer"


def test_16_debug_shows_the_case_that_was_asked_again(cli: Cli, write: Write, tmp_path: Path) -> None:
    write(
        "cases.jsonl",
        [{"id": "a", "question": "first", "expected": "x"}, {"id": "b", "question": "second", "expected": "x"}],
    )
    suite = bot(tmp_path, "def answer(q): return 'x'\n")
    cli("run", suite, "--limit", "2", "--max-minutes", "0", "--no-charts", "--quiet")
    shown = cli("run", suite, "--resume", "--resume-limit", "1", "--debug", "--no-charts")
    assert shown.out.splitlines()[1] in ("SCORED: a (cases.jsonl)", "SCORED: b (cases.jsonl)")


@pytest.mark.parametrize("model", ["all-mpnet-base-v2", "bge-small-en-v1.5"])
def test_14_models_by_their_short_names(model: str, cli: Cli, write: Write, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "sentence_transformers", None)
    path = write("a.jsonl", [{"question": "q", "answer": "a", "expected": "b"}])
    shown = cli("score", path, "--metrics", "answer_correctness", "--model", model)
    assert shown.code == 2
    assert "pip install 'answerkey[sentence-transformers]'" in shown.err


def test_15_a_live_check_never_raises() -> None:
    from answerkey import assess_answer, improve_answer

    class Message:
        content = "It is 30 days [1]."

    class Document:
        page_content, metadata = "Return within 30 days.", {"page": 3}

    for contexts in (
        [(Document(), 0.8)],
        (Document(),),
        iter([Document()]),
        [object(), Document()],
        Document(),
        {"document": "x"},
        5,
    ):
        for answer in (Message(), {"answer": "It is 30 days [1]."}, "It is 30 days [1].", None, object(), 5):
            assess_answer("How long?", answer, contexts)
    found = assess_answer("How long?", Message(), [(Document(), 0.8)])
    assert found.passed
    improved = improve_answer("How long?", "", [(Document(), 0.8)], model=lambda prompt: "It is 30 days [1].")
    assert improved.answer == "It is 30 days [1]."
    failing = improve_answer("How long?", "", [Document()], model=lambda prompt: 1 / 0)
    assert failing.error == "ZeroDivisionError: division by zero"


def test_4_an_overlay_of_a_route_group_changes_one_key(cli: Cli, write: Write, tmp_path: Path) -> None:
    rows = [
        {"id": "a", "query": "Total sales in June 2024?", "preferred_route": "sales_kpi", "route": "sales_kpi",
         "answer": "Sales in June 2024 were RM 99,852.83, a growth of 3 % compared to the previous month. Focus on Penang."},
        {"id": "b", "query": "What is the leave policy?", "preferred_route": "rag_docs", "route": "rag_docs", "answer": "No."},
    ]  # fmt: skip
    path = write("a.jsonl", rows)
    profile = write("p.toml", 'base = "route-aware"\n[on.kpi]\npass = 0.60\n')
    ours, plain = (
        score(cli, folder, path, "--profile", name)
        for folder, name in ((tmp_path / "x", profile), (tmp_path / "y", "route-aware"))
    )
    for one, other in zip(ours, plain, strict=True):
        assert one["verdict"]["quality"] == other["verdict"]["quality"], "the weights stay"
        assert one["verdict"]["passed"] is (one["verdict"]["status"] in {"PERFECT", "ACCEPTABLE"})


def test_8_a_quote_that_never_closes_and_a_bad_byte_name_their_line(cli: Cli, write: Write) -> None:
    shown = cli("cases", write("a.csv", 'id,question\n1,fine\n2,"begins here\n3,swallowed\n'))
    assert (shown.code, "a.csv, line 3: a quoted cell begins here" in shown.err) == (2, True)
    shown = cli("cases", write("b.csv", "id,question\n1,café\n2,na".encode() + b"\xff" + "ïve\n".encode()))
    assert (shown.code, "b.csv, line 3: a byte is not valid UTF-8" in shown.err) == (2, True)


def test_8_western_text_is_read_and_announced(cli: Cli, write: Write, caplog: pytest.LogCaptureFixture) -> None:
    shown = cli("cases", write("w.csv", "id,question\n1,Où est le café ?\n".encode("cp1252")), "--json")
    assert shown.json[0]["question"] == "Où est le café ?"
    assert "w.csv is not UTF-8; it is read as cp1252" in caplog.text


TEXTS = {"12": "Refunds are paid within 30 days.", "34": "The warranty lasts two years."}


@pytest.fixture
def faiss_recall(cli: Cli, write: Write, tmp_path: Path) -> Callable[[str], Any]:
    """A FAISS index of two pages in `store`; asks for them with these settings and returns the recall, or the message."""
    faiss = pytest.importorskip("faiss")
    from answerkey.embed import load_embedder

    vectors = load_embedder().embed(list(TEXTS.values()))
    index = faiss.IndexFlatL2(vectors.shape[1])
    index.add(vectors)
    (tmp_path / "store").mkdir()
    faiss.write_index(index, str(tmp_path / "store" / "index.faiss"))
    asked = {"12": "When are refunds paid?", "34": "How long is the warranty?"}
    write("cases.jsonl", [{"question": question, "relevant": [page]} for page, question in asked.items()])

    def run(settings: str) -> Any:
        table = f'[target]\nkind = "rag"\nk = 1\n{settings}\n'
        suite = write("suite.toml", f'cases = ["cases.jsonl"]\nmetrics = ["recall@1"]\n{table}')
        shown = cli("run", suite, "--no-charts", "--quiet", "--out", tmp_path / "out" / str(len(settings)))
        found = shown.code == 0 and results(tmp_path / "out" / str(len(settings)))
        return [line["scores"]["recall@1"]["value"] for line in found] if found else shown.err

    return run


def test_11_faiss_chunks_with_text_and_page(faiss_recall: Callable[[str], Any], write: Write) -> None:
    rows = [{"text": text, "page": int(page)} for page, text in TEXTS.items()]
    write("chunks.jsonl", rows)
    write("all_chunks.json", rows)
    assert faiss_recall('index = "store/index.faiss"\nchunks = "chunks.jsonl"') == [1.0, 1.0]
    assert faiss_recall('index = "store/index.faiss"\nchunks = "all_chunks.json"') == [1.0, 1.0]


def test_12_a_faiss_folder_that_langchain_saved(faiss_recall: Callable[[str], Any], tmp_path: Path) -> None:
    (tmp_path / "store" / "index.pkl").write_bytes(_langchain_pickle(TEXTS))
    assert faiss_recall('index = "store"') == [1.0, 1.0]


def test_12_a_pickle_that_could_run_code_is_refused_with_the_way_to_export(
    faiss_recall: Callable[[str], Any], tmp_path: Path
) -> None:
    (tmp_path / "store" / "index.pkl").write_bytes(pickle.dumps((print, {})))
    message = faiss_recall('index = "store"')
    assert "it holds builtins.print, which could run code" in message
    snippet = message.partition("export its chunks instead: ")[2].partition("; then set")[0]
    compile(snippet, "snippet", "exec")
    assert "writelines" in snippet


def _langchain_pickle(texts: dict[str, str]) -> bytes:
    """As LangChain pickles it; its classes exist only while it is written."""
    modules = {
        "langchain_core.documents.base": "Document",
        "langchain_community.docstore.in_memory": "InMemoryDocstore",
    }
    made = {name: type(name, (), {"__module__": module}) for module, name in modules.items()}
    with pytest.MonkeyPatch.context() as patch:
        for module, name in modules.items():
            for n in range(1, module.count(".") + 2):
                patch.setitem(sys.modules, ".".join(module.split(".")[:n]), types.ModuleType(module))
            setattr(sys.modules[module], name, made[name])
        documents = {}
        for number, (page, text) in enumerate(texts.items()):
            document = documents[f"d{number}"] = made["Document"]()
            document.__dict__.update(page_content=text, metadata={"page_number": page, "page": int(page) - 1})
        store = made["InMemoryDocstore"]()
        store.__dict__["_dict"] = documents
        return pickle.dumps((store, {number: f"d{number}" for number in range(len(texts))}))


def test_16_stop_on_fail_is_a_setting_of_the_suite_that_init_writes(cli: Cli, tmp_path: Path) -> None:
    assert cli("init", tmp_path / "my").code == 0
    suite = tmp_path / "my" / "suite.toml"
    assert "# stop_on_fail = true" in suite.read_text()
    suite.write_text(suite.read_text().replace("# stop_on_fail", "stop_on_fail"))
    shown = cli("run", suite, "--no-charts", "--workers", "1")
    assert "--resume --resume-limit 1" in shown.out + shown.err
    assert 0 < len(results(tmp_path / "my" / "results")) < 15


def test_17_scales_limits_families_and_fields_of_the_target(cli: Cli, write: Write, tmp_path: Path) -> None:
    rows = [{"id": "a", "question": "Where?", "expected": "In Paris.", "answer": "In Paris [Doc 1].", "contexts": ["It is in Paris."], "response_type": "short"},
            {"id": "b", "question": "Who?", "expected": "Jane Smith.", "answer": "Nobody knows.", "contexts": ["It was Jane Smith."]}]  # fmt: skip
    lines = score(
        cli,
        tmp_path,
        write("a.jsonl", rows),
        "--profile",
        "rubric",
        "--judge",
        "local",
        "--metrics",
        "exact_match,keyword_recall,latency_ms",
    )
    (report,) = (tmp_path / "out").glob("*/report.txt")
    text = report.read_text()
    assert "/5" in text
    assert "(≥85)" in text
    assert [family in text.lower() for family in ("correctness", "operations", "judged")] == [True] * 3
    assert "response_type" in json.dumps(lines[0])


def test_17_words_and_any_judge_that_disagree_are_listed(cli: Cli, write: Write, tmp_path: Path) -> None:
    rows = [
        {"id": "same", "question": "Where?", "expected": "Paris", "answer": "Paris", "contexts": ["Paris"]},
        {
            "id": "other",
            "question": "Where?",
            "expected": "Paris",
            "answer": "the capital of France",
            "contexts": ["Paris"],
        },
    ]
    write("cases.jsonl", rows)
    write(
        "judging.py",
        'def judge(prompt):\n    score = 1.0 if \'the capital of France\' in prompt else 0.0\n    return f\'{{"score": {score}, "reason": "r"}}\'\n',
    )
    suite = write(
        "suite.toml",
        'cases = ["cases.jsonl"]\nmetrics = ["exact_match", "keyword_recall", "judge.faithfulness"]\njudge = "judging:judge"\n[target]\nkind = "recorded"\n',
    )
    assert cli("run", suite, "--no-charts", "--quiet").code == 0
    (path,) = tmp_path.glob("results/*/summary.json")
    found = [(one["id"], one["what"], sorted(one["values"])) for one in json.loads(path.read_text())["disagreements"]]
    assert ("same", "the words match but the judge is not satisfied", ["exact_match", "judge.faithfulness"]) in found
    assert ("other", "the words differ but the judge is satisfied", ["judge.faithfulness", "keyword_recall"]) in found


def test_18_citations_as_doc_count_in_the_local_judge(cli: Cli, write: Write, tmp_path: Path) -> None:
    row = {"question": "How long?", "expected": "30 days.", "contexts": ["Return within 30 days."]}
    rows = [{"id": mark, "answer": f"You have 30 days{mark}.", **row} for mark in (" [Doc 1]", " [1]", "")]
    lines = score(cli, tmp_path, write("a.jsonl", rows), "--profile", "rubric", "--judge", "local")
    as_doc, plain, none = (line["scores"]["rubric.citation_quality"]["value"] for line in lines)
    assert as_doc == plain > (none or 0)


def test_18_the_python_functions_log_their_values(caplog: pytest.LogCaptureFixture) -> None:
    from answerkey import assess_answer, evaluate_all

    with caplog.at_level(logging.INFO, logger="answerkey"):
        evaluate_all("Where?", "In Paris.", "Paris", ["It is in Paris."])
        assess_answer("How long?", "It is 30 days [1].", ["Return within 30 days."], run_id="r7")
    assert "evaluate_all: context_relevance=" in caplog.text
    assert "assess_answer r7: passed; not_empty=ok" in caplog.text


UNREADABLE: dict[str, tuple[Any, list[str]]] = {
    "a.csv": ("id,qestion\n1,hello\n", ["line 2", '"question"', '"qestion"', "rename the column"]),
    "b.csv": ("id,question,history\n1,hi,notalist\n", ["line 2", '"history"', "'notalist'", "for example [{"]),
    "c.json": ([{"question": ""}], ["item 1", '"question"', "''", "fill it in"]),
    "d.md": ("### Q1: a?\n**A2:** b\n", ["line 2", "found A2", "expected A1", "the number of its question"]),
    "e.yaml": ("conversation: 5\n", ["item 1", '"conversation"', "found 5", 'for example [{"user"']),
    "f.jsonl": ([{"question": "q", "contexts": [{"mood": 1}]}], ["line 1", '"contexts"', "the keys mood", "under one of text, content"]),
    "g.csv": ("id,question\n1,a,b\n", ["line 2", "3 cells", "quote cells"]),
    "h.jsonl": ([{"question": "q", "response_time": "soon"}], ["line 1", '"response_time"', "'soon'", "for example 1.5"]),
    "i.csv": ("id,question,answer_criteria\n1,q,{bad\n", ["line 2", '"answer_criteria"', "'{bad'", "must_contain"]),
    "j.csv": ('id,question,relevant\n1,q,"{3"\n', ["line 2", '"relevant"', "'{3'", "for example [\"34\""]),
    "k.xlsx": (b"PK", ["a spreadsheet", "pandas.read_excel"]),
    "l.txt": ("Some text.", ["a document", 'kind = "rag"']),
    "m.json": ("[1, 2]", ["item 1", "found int", "an object such as"]),
}  # fmt: skip


@pytest.mark.parametrize("name", UNREADABLE)
def test_what_cannot_be_read_names_the_place_and_a_fix(name: str, cli: Cli, write: Write) -> None:
    content, told = UNREADABLE[name]
    shown = cli("cases", write(name, content))
    assert shown.code == 2
    last = shown.err.splitlines()[-1]
    assert [part for part in (name, *told) if part not in last] == []


def test_a_document_or_a_case_file_stands_for_a_suite(cli: Cli, write: Write, tmp_path: Path) -> None:
    write("manual.txt", "Refunds\n\nRefunds take 5 business days.\n")
    cases = write("faq.csv", "question,expected_answer\nHow long do refunds take?,Refunds take 5 business days.\n")
    options = ("--metrics", "exact_match", "--model", "none", "--no-charts", "--quiet")
    asked = cli("run", tmp_path / "manual.txt", "--dataset", cases, "--profile", "uniform", *options)
    assert asked.code == 0, asked.err
    (line,) = results(tmp_path / "results")
    assert "5 business days" in line["answer"]
    from_table = cli(
        "run", cases, "--set", "target.kind=faq", "--set", f"target.faq={cases}", *options, "--out", tmp_path / "o"
    )
    assert from_table.code == 0, from_table.err
    assert results(tmp_path / "o")[0]["scores"]["exact_match"]["value"] == 1.0
    alone = cli("run", tmp_path / "manual.txt")
    assert (alone.code, "--dataset cases.csv" in alone.err) == (2, True)
