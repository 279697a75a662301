"""Shards without other processes: each runs in this one when the pool is asked for news."""

from __future__ import annotations

from pathlib import Path

from answerkey.runs.shard_worker import ShardTask, run_shard
from answerkey.runs.shards import ShardEnd


class InlinePool:
    """`losses` are the numbers of shards after whose end the pool says that the process was lost."""

    count = 2

    def __init__(self, task: ShardTask, losses: tuple[int, ...] = ()) -> None:
        self._task = task
        self._losses = losses
        self._waiting: list[Path] = []
        self.started: list[Path] = []

    def start(self, shard: Path) -> None:
        self._waiting.append(shard)
        self.started.append(shard)

    def wait(self) -> list[tuple[Path, ShardEnd | None]]:
        # The last one first: shards end in any order.
        shard = self._waiting.pop()
        end = run_shard(self._task, shard)
        is_lost = int(shard.name) in self._losses and self.started.count(shard) == 1
        return [(shard, None if is_lost else end)]

    def close(self) -> None:
        """Nothing runs."""
