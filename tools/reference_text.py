"""What each setting means, in one line: the words of docs/reference/suite.md. A setting without a line here is an error."""

from __future__ import annotations

SUITE = {
    "name": "The name of the run folders; the file's name unless given.",
    "cases": "Files, folders or globs of cases, relative to the suite.",
    "profile": "A built-in profile, a TOML file, or a `[profile]` table.",
    "metrics": "Metrics besides those the profile needs.",
    "modules": "Python modules with metrics of your own, beside the suite or installed.",
    "target": "The system under test: see `[target]`.",
    "judge": 'A judge: `"local"`, a preset, or a `[judge]` table.',
    "embedding": "The embedding model: its name, or an `[embedding]` table.",
    "run": "How the run goes: see `[run]`.",
    "gate": 'What must hold: `require = ["user_satisfaction >= 0.70"]`.',
    "retrieval": "What `sweep` and `diagnose` search: see `[retrieval]`.",
    "settings": 'Settings of metrics: `[settings."number_close"]` with `tolerance = 0.02`.',
}
RUN = {
    "workers": "Questions asked at once.",
    "timeout": "Seconds to wait for one answer.",
    "stop_below": "Stop at the first case under this, on the profile's own scale.",
    "out": "Where run folders go, relative to the suite.",
    "max_cost": "Stop when answers and judge have cost this much.",
    "max_minutes": "Stop after so many minutes.",
}
LIVE = {
    "kind": "`recorded`, `python`, `http`, `command`, `rag`, `faq`, `full-context` or `routed-kpi`; another key may tell it.",
    "timeout": "Seconds for one answer; that of `[run]` unless given.",
    "concurrency": "At most so many questions at once; 0 is no limit besides the workers.",
    "retries": "Ask again so many times after an error of the network; 0 unless given.",
    "retry_wait": "Seconds before the first retry, doubled each time.",
    "warmup": "Questions asked and thrown away before the first that counts.",
    "warmup_question": "What they are.",
}
KINDS = {
    "recorded": {
        "answers": "A second file with `id` and `answer`; without it the answers in the cases are used."
    },
    "python": {
        "call": "`module:function`, beside the suite or installed; it takes the question, and the history if it likes.",
        "make": "`module:function` that takes the table and the folder and returns an object with `ask` and `close`.",
    },
    "http": {
        "url": "The address; `{question}` may stand in it.",
        "method": "GET, POST, PUT or PATCH.",
        "headers": "A table; `${NAME}` is read from the environment and kept out of every file.",
        "body": "What is sent as JSON; `{question}`, `{history}` and `{id}` are filled in.",
        "params": "Query parameters, filled in the same way.",
        "openai": "The base address of an OpenAI-compatible chat endpoint, in place of `url`.",
        "chat": "The same under another name.",
        "gradio": "The address of a Gradio app, in place of `url`.",
        "api_key_env": "The name of the variable with the key, sent as a bearer token.",
        "model": "For `openai`: the model.",
        "system": "For `openai`: the system message.",
        "api_name": "For `gradio`: the function to call.",
        "data": "For `gradio`: its inputs.",
    },
    "command": {
        "run": "The program and its arguments; it reads a JSON line a question and writes a JSON line an answer.",
        "processes": "Copies of the program that run at once.",
    },
    "faq": {
        "faq": "A CSV, JSON or JSONL file with the columns question and answer.",
        "minimum": "The cosine under which the bot says that there is no match; 0 unless given.",
    },
    "rag": {
        "k": "Passages found for an answer; 5 unless given.",
        "minimum": "Without a model: the cosine of the nearest sentence under which the bot declines; 0.35 unless given.",
        "llm": "A language model that writes the answer: a table as `[judge]`'s, or a preset; else it is extracted.",
        "embedding": "The embedding model: a name or a table as `[embedding]`'s.",
    },
    "full-context": {
        "knowledge": "A file or a folder of text that goes into the prompt whole.",
        "template": "A file with `{knowledge}` and `{question}`, for a prompt of your own.",
        "llm": "The language model: a table as `[judge]`'s, or a preset.",
    },
    "routed-kpi": {
        "tables": "A folder of CSV or Parquet tables.",
        "kpis": "The catalogue: which figures there are, their SQL measures, and the words by which people ask for them.",
        "documents": "A folder of documents for all other questions, as for `rag`.",
        "documents_route": "The name of their route; `rag_docs` unless given.",
        "skills": "Any of `periods`, `spelling`, `clarify`, `executive`; all unless given.",
        "k": "As for `rag`.",
        "alpha": "As for `rag`.",
        "minimum": "As for `rag`.",
        "llm": "As for `rag`.",
        "embedding": "As for `rag`.",
    },
}
FIELDS = {
    "answer": "Where the answer is in the reply: `$.answer`.",
    "passages": "The passages: `$.sources[*].text`, or objects with text, id, score and page.",
    "route": "The route the bot took.",
    "sources": "The sources it names.",
    "retrieved": "The ranking of page or document ids.",
    "prompt_tokens": "Tokens read.",
    "completion_tokens": "Tokens written.",
    "cost": "What the answer cost.",
    "error": "An error told inside a reply.",
}
JUDGE = {
    "preset": "`local`, `groq`, `openai`, `ollama`, `vllm` or `llama-cpp`.",
    "base_url": "The address of an OpenAI-compatible endpoint, up to `/v1`.",
    "model": "The model's name.",
    "api_key_env": "The name of the environment variable with the key, never the key.",
    "concurrency": "Requests at once.",
    "requests_per_minute": "At most so many; 0 is no limit.",
    "timeout": "Seconds for one reply.",
    "temperature": "0 unless given.",
    "max_tokens": "The longest reply.",
    "price_in": "Price of a million tokens read, for the cost.",
    "price_out": "Price of a million tokens written.",
    "votes": "Ask so many times and take the median.",
    "cache": "`false` keeps no reply on disk.",
}
EMBEDDING = {
    "model": "`all-MiniLM-L6-v2` (packaged), `all-MiniLM-L6-v2:int8`, an `org/model`, a model of an endpoint, or `none`.",
    "backend": "`minilm`, `sentence-transformers` or `http`; found from the name unless given.",
    "base_url": "An OpenAI-compatible endpoint with `/embeddings`.",
    "api_key_env": "The name of the variable with its key.",
    "timeout": "Seconds for one request.",
    "threads": "Threads of the packaged model; the physical cores unless given.",
    "cache": "`false` keeps no vector on disk.",
}
RETRIEVAL = {
    "documents": "A file, a folder (text, Markdown, PDF) or a BEIR folder.",
    "ids": "How labels name pages: `auto`, `page`, `document` or `document#page`.",
    "chunk_by": "`page`, `words` or `heading`.",
    "chunk_size": "Words in a chunk.",
    "chunk_overlap": "Words that a chunk shares with the next.",
    "index": "An existing FAISS index, with `chunks`.",
    "chunks": "A JSONL file with the page and text of each row of the index.",
    "qdrant_url": "An existing Qdrant server, with `qdrant_collection`.",
    "qdrant_collection": "The collection.",
    "qdrant_api_key_env": "The name of the variable with its key.",
    "text_field": "Where the text is in a point's payload.",
    "page_field": "Where the page is.",
    "alphas": "The weights of dense search to try: 0 is BM25 alone, 1 is dense alone.",
    "ks": "The numbers of passages to try.",
    "alpha": "The weight that the `rag` bot uses.",
    "pool": "Candidates of each side that are fused.",
    "fusion": "`weighted` or `rrf`.",
    "bm25": "The formula: `robertson`, or `lucene`.",
    "k1": "BM25's k1.",
    "b": "BM25's b.",
    "unit": "`page` collapses chunks to their page before measuring; `chunk` counts each.",
    "reranker": "`module:function` that orders passages again.",
    "rewriter": "`module:function` that rewrites questions before the search.",
}
PROFILE = {
    "name": "The profile's name.",
    "version": "A whole number, kept in the run.",
    "summary": "One line for `answerkey profiles`.",
    "base": "A profile to begin with; keys given here replace its keys.",
    "scale": "The top of the scale, 1 or 100.",
    "route_weight": "The share of the route score in the overall score.",
    "pass": "The pass mark on quality.",
    "bands": "A list of `{name, at, status}`, highest first; `needs_route` asks for the preferred route.",
    "routes": 'Groups of routes: `kpi = ["sales_kpi", "hr_kpi"]`.',
    "criteria": "A list of `{metric, weight, maximum, floor, required, better, reading}`.",
    "informational": "Metrics that are shown and do not count.",
    "settings": "Settings of metrics.",
    "words": "Word lists of the heuristics, by name: another language needs no code.",
    "on": "Criteria, bands and pass mark for one group of routes: `[on.kpi]`.",
    "without": "Criteria of the base to leave out; the other weights are renormalised.",
}
# Names whose docstring is not written in the code.
PYTHON = {
    "AnswerkeyError": "The root of every error a user can meet; its message is one line.",
    "Outcome": "A case, its response, its scores and its verdict.",
}
