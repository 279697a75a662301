"""How structured output is asked for: by schema where the endpoint can, otherwise in ever plainer forms."""

from __future__ import annotations

import json
from collections.abc import Sequence

from answerkey.coerce.values import table_of
from answerkey.llm.chat import Message, Schema

# How structured output is asked for, best first: json_schema, json_object with the schema, a tool call, the prompt alone.
RUNGS = ("json_schema, bounded", "json_schema", "json_object", "tool", "prompt")
NAME = "verdict"  # OpenAI wants a name for a schema and for a tool


class Ladder:
    """The rung to ask on. A rung counts as known once a reply came on it; then no other is tried."""

    def __init__(self, first: str | None = None) -> None:
        self._rung = RUNGS[0] if first in (None, "json_schema") else first
        self.known = False

    @property
    def rung(self) -> str:
        return self._rung

    def below(self, rung: str, crashed: bool = False) -> str | None:
        """The rung to try after `rung` was refused: the known one, or the next; None when there is none.

        An endpoint that crashed over a schema is not asked with one again.
        """
        if self.known:
            return self._rung if self._rung != rung else None
        after = max(RUNGS.index(rung) + 1, RUNGS.index("json_object") if crashed else 0)
        return RUNGS[after] if after < len(RUNGS) else None

    def settle_on(self, rung: str) -> None:
        if not self.known:
            self._rung = rung
            self.known = True


def request_fields(
    rung: str, messages: Sequence[Message], schema: Schema | None
) -> dict[str, object]:
    """The fields of the request that this rung needs, the messages among them."""
    if schema is None:
        return {"messages": list(messages)}
    if rung in RUNGS[:2]:
        form = {
            "type": "json_schema",
            "json_schema": {"name": NAME, "strict": True, "schema": schema},
        }
        return {"messages": list(messages), "response_format": form}
    explained = _with_schema(messages, schema)
    # llama.cpp enforces the schema here too; where it is ignored, the prompt has it.
    if rung == "json_object":
        return {"messages": explained, "response_format": {"type": "json_object", "schema": schema}}
    if rung == "tool":
        tool = {"name": NAME, "description": "Record the verdict.", "parameters": schema}
        return {
            "messages": explained,
            "tools": [{"type": "function", "function": tool}],
            "tool_choice": {"type": "function", "function": {"name": NAME}},
        }
    return {"messages": explained}


def limit_texts(schema: Schema, longest_text: int) -> Schema:
    """The schema with a limit on each text; texts in nested objects share it."""
    properties = {name: table_of(value) for name, value in table_of(schema["properties"]).items()}
    nested = sum(value.get("type") == "object" for value in properties.values())
    # At least 40 characters, so that a quote of a few words fits however many criteria share the limit.
    share = max(longest_text // max(nested, 1), 40)
    bounded: dict[str, object] = {}
    for name, value in properties.items():
        if value.get("type") == "object":
            bounded[name] = limit_texts(value, share)
        else:
            bounded[name] = (
                {**value, "maxLength": longest_text} if value == {"type": "string"} else value
            )
    return {**schema, "properties": bounded}


def _with_schema(messages: Sequence[Message], schema: Schema) -> list[Message]:
    """The schema comes last: a model without constrained output follows it best there."""
    rule = f"\n\nReply with one JSON object and nothing else. It must fit this JSON schema:\n{json.dumps(schema)}"
    last = messages[-1]
    return [*messages[:-1], {**last, "content": last["content"] + rule}]
