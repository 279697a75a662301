"""Listen and serve until told to stop."""

from __future__ import annotations

import socket
from collections.abc import Callable
from pathlib import Path
from urllib.parse import quote

from answerkey.errors import SettingsError
from answerkey.viewer.guard import Rules, is_loopback

PORT = 8765


def serve(root: Path, rules: Rules, port: int | None, ready: Callable[[str], None]) -> None:
    """`ready` is called with the address once the socket listens. Without a port: the usual one, or any free one."""
    import uvicorn

    from answerkey.viewer.app import make_app

    app = make_app(root, rules)
    listening = _listen(rules.host, port)
    config = uvicorn.Config(
        app, log_level="error", access_log=False, server_header=False, timeout_graceful_shutdown=1
    )
    ready(address(rules, listening.getsockname()[1]))
    try:
        uvicorn.Server(config).run(sockets=[listening])
    except KeyboardInterrupt:
        pass
    finally:
        listening.close()


def address(rules: Rules, port: int) -> str:
    name = "127.0.0.1" if rules.host in ("0.0.0.0", "::") else rules.host
    name = f"[{name}]" if ":" in name else name
    return f"http://{name}:{port}/{f'?token={quote(rules.token)}' if rules.token else ''}"


def _listen(host: str, port: int | None) -> socket.socket:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    problem = ""
    for wanted in [PORT, 0] if port is None else [port]:
        listening = socket.socket(family, socket.SOCK_STREAM)
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            listening.bind((host, wanted))
            listening.listen(128)
            return listening
        except OSError as error:
            listening.close()
            problem = error.strerror or str(error)
    hint = "" if is_loopback(host) else " and --host must be an address of this machine"
    raise SettingsError(f"cannot listen on {host}, port {port}: {problem}; choose another --port{hint}")
