"""A bot behind an HTTP endpoint, using only the standard library: `python server.py 8123`."""

import json
import sys
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

KNOWN = {"paris": "Paris is the capital of France.", "rome": "Rome is the capital of Italy."}


class Bot(BaseHTTPRequestHandler):
    def do_POST(self) -> None:
        asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        words = asked["q"].lower().strip("?").split()
        found = [text for city, text in KNOWN.items() if city in words]
        reply = {
            "data": {
                "answer": found[0] if found else "I do not know.",
                "sources": [{"text": t} for t in found],
            }
        }
        body = json.dumps(reply).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:
        """Quiet."""


if __name__ == "__main__":
    ThreadingHTTPServer(
        ("127.0.0.1", int(sys.argv[1] if sys.argv[1:] else 8123)), Bot
    ).serve_forever()
