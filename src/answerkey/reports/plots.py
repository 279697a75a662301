"""Charts as image files; this needs the extra `charts`."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from answerkey.errors import SettingsError, StorageError
from answerkey.files import write_file
from answerkey.reports.chart_style import Spec, chart_config

INSTALL = "pip install 'answerkey[charts]'"


def can_draw() -> bool:
    """Whether the extra `charts` is installed."""
    from importlib.util import find_spec

    return find_spec("vl_convert") is not None


def draw_png(spec: Spec) -> bytes:
    """The chart on a light background, at twice the size for sharp screens.

    The first chart of a process takes about a second.
    """
    if not can_draw():
        raise SettingsError(f"image files of charts need an extra: {INSTALL}")
    import vl_convert

    config = {**chart_config(), **spec.get("config", {})}
    return vl_convert.vegalite_to_png({**spec, "config": config}, scale=2)


def write_plots(folder: Path, charts: Mapping[str, Spec]) -> list[Path]:
    """One PNG per chart in `folder`; older PNG files there are removed. Returns the paths.

    >>> write_plots(run / "plots", run_charts(summary, table, profile))     # doctest: +SKIP
    """
    # All are drawn before anything is removed: a failure leaves the old files.
    images = {folder / f"{chart}.png": draw_png(spec) for chart, spec in charts.items()}
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for old in set(folder.glob("*.png")) - set(images):
            old.unlink()
        for path, data in images.items():
            # A chart can be drawn again, so it need not be on the disk before the next one.
            write_file(path, data, durable=False)
    except OSError as error:
        raise StorageError(f"{folder}: cannot be written: {error.strerror or error}") from None
    return list(images)
