"""A bot or a judge in a process of its own, so that it can be killed: `serve_live.py ROLE PORT LOG`.

Every question it gets is a line of LOG before it is answered, whatever becomes of the process.
"""

from __future__ import annotations

import json
import os
import sys
import threading
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[2]))

from tests.support.live_suite import right
from tests.support.loopback import Bot

GRADES = {
    "reasoning": "as it should be",
    "accuracy": 5,
    "completeness": 5,
    "citation_quality": 5,
    "coherence": 3,
}


def main(role: str, port: int, log: str) -> None:
    file = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND)

    def bot(body: dict[str, Any]) -> dict[str, Any]:
        os.write(file, f"{body['question']}\n".encode())
        return right(body)

    def judge(body: dict[str, Any]) -> dict[str, Any]:
        message = {"role": "assistant", "content": json.dumps(GRADES)}
        return {
            "choices": [{"message": message, "finish_reason": "stop"}],
            "usage": {"prompt_tokens": 9, "completion_tokens": 9},
        }

    Bot({"bot": bot, "judge": judge}[role], delay=0.02 if role == "bot" else 0.005, port=port)
    print("ready", flush=True)
    threading.Event().wait()


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), sys.argv[3])
