"""One judge for a whole cluster: its limiter, its cache and its usage are one, however many workers ask."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from answerkey.errors import EndpointError
from answerkey.metrics.judge.judged_metrics import Judge, load_judge
from answerkey.types import Json, Pair, Score


class JudgeRoom:
    """The real judge. It lives in one actor that takes a call from each worker at once; its limiter does the rest."""

    def __init__(self, settings: Mapping[str, Any] | str) -> None:
        self._judge: Judge = load_judge(settings)

    def about(self) -> tuple[str, str, int]:
        return self._judge.name, self._judge.fingerprint(), getattr(self._judge, "concurrency", 0)

    def rubric(self, pairs: Sequence[Pair]) -> list[dict[str, Score]]:
        return self._judge.rubric(pairs)

    def judge(self, name: str, pairs: Sequence[Pair]) -> list[Score]:
        return self._judge.judge(name, pairs)

    def usage(self) -> Json:
        return self._judge.usage()


class RemoteJudge:
    """What a worker holds instead: the same calls, answered by the one judge."""

    def __init__(self, room: Any) -> None:
        self._room = room
        self.name, self._fingerprint, self.concurrency = self._call("about")

    def rubric(self, pairs: Sequence[Pair]) -> list[dict[str, Score]]:
        return self._call("rubric", pairs)

    def judge(self, name: str, pairs: Sequence[Pair]) -> list[Score]:
        return self._call("judge", name, pairs)

    def usage(self) -> Json:
        return self._call("usage")

    def fingerprint(self) -> str:
        return self._fingerprint

    def close(self) -> None:
        """It is shared: the driver ends it."""

    def _call(self, name: str, *arguments: Any) -> Any:
        """An error of the judge is raised as what it was, so that a run stops as a local one does."""
        import ray
        from ray.exceptions import RayActorError, RayTaskError

        try:
            return ray.get(getattr(self._room, name).remote(*arguments))
        except RayActorError:
            raise EndpointError("the process that holds the judge ended; go on with --resume") from None
        except RayTaskError as error:
            raise error.cause from None
