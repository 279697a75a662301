"""The viewer on a free port of loopback."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def serve_folder(folder: Path) -> Iterator[str]:
    """Gives the address of the viewer, without the last slash."""
    import uvicorn

    from answerkey.viewer.app import make_app
    from answerkey.viewer.guard import Rules

    config = uvicorn.Config(
        make_app(folder, Rules()), port=0, log_level="error", timeout_graceful_shutdown=1
    )
    server = uvicorn.Server(config)
    thread = threading.Thread(target=server.run, daemon=True)
    thread.start()
    while not server.started:
        time.sleep(0.02)
    yield f"http://127.0.0.1:{server.servers[0].sockets[0].getsockname()[1]}"
    server.should_exit = True
    thread.join(10)
