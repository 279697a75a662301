"""Runs the viewer on a socket of this machine until it is stopped."""

from __future__ import annotations

import logging
import socket
import threading
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from urllib.parse import quote

from answerkey.errors import AnswerkeyError, SettingsError
from answerkey.runs.store import open_reader
from answerkey.viewer.app import DAMAGE, make_app
from answerkey.viewer.guard import Rules, is_loopback
from answerkey.viewer.library import RunLibrary
from answerkey.viewer.render import load_templates

_PORT = 8765
_ANY_ADDRESS = ("0.0.0.0", "::")


def serve_viewer(
    root: Path, rules: Rules, port: int | None, ready: Callable[[str], None], labeller: str = ""
) -> None:
    """Serve until Ctrl-C. `ready` is called with the address once the socket listens.

    Without a port: 8765, otherwise any free one.
    """
    import uvicorn

    app = make_app(root, rules, labeller)
    listening = _listen(rules.host, port)
    # A live page holds its connection open; without a limit Ctrl-C would wait for its end.
    config = uvicorn.Config(
        app, log_level="error", access_log=False, server_header=False, timeout_graceful_shutdown=1
    )
    # uvicorn logs an error for every page that is open when the server is stopped.
    logging.getLogger("uvicorn.error").addFilter(
        lambda record: "graceful shutdown" not in record.getMessage()
    )
    threading.Thread(target=_warm_up, args=(app.state.library,), daemon=True).start()
    ready(viewer_address(rules, listening.getsockname()[1]))
    try:
        uvicorn.Server(config).run(sockets=[listening])
    except KeyboardInterrupt:
        pass
    finally:
        listening.close()


def _warm_up(library: RunLibrary) -> None:
    """Import and compile what the first pages need, while the browser starts."""
    load_templates()
    with suppress(AnswerkeyError, *DAMAGE):
        newest = library.newest_run()
        if newest:
            open_reader(newest)


def viewer_address(rules: Rules, port: int) -> str:
    """The address to open, with the token."""
    if rules.host in _ANY_ADDRESS:
        name = "127.0.0.1"
    else:
        name = rules.host
    if ":" in name:
        name = f"[{name}]"
    if rules.token:
        token = f"?token={quote(rules.token)}"
    else:
        token = ""
    return f"http://{name}:{port}/{token}"


def _listen(host: str, port: int | None) -> socket.socket:
    if ":" in host:
        family = socket.AF_INET6
    else:
        family = socket.AF_INET
    problem = ""
    for candidate in [_PORT, 0] if port is None else [port]:
        listening = socket.socket(family, socket.SOCK_STREAM)
        # Otherwise the port is taken for a minute after the viewer was stopped.
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            listening.bind((host, candidate))
            listening.listen(128)
            return listening
        except OSError as error:
            listening.close()
            problem = error.strerror or str(error)
    if is_loopback(host):
        hint = ""
    else:
        hint = " and --host must be an address of this machine"
    raise SettingsError(
        f"cannot listen on {host}, port {port}: {problem}; choose another --port{hint}"
    )
