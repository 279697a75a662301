"""The processor cores that this process may use."""

from __future__ import annotations

import os


def available_cores() -> int:
    """Fewer than the machine has where a container or `taskset` says so."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def threads_to_use() -> int:
    """One per core, or as many as OMP_NUM_THREADS allows: processes of a pool have one each."""
    limit = os.environ.get("OMP_NUM_THREADS", "")
    if limit.isdecimal() and int(limit):
        return min(available_cores(), int(limit))
    return available_cores()
