"""The program of the local image that test_agent.py runs: answers HTTP, and misbehaves when asked to.

Run as: pod_program.py ADDRESS PORT [SECONDS_TO_END]
"""

import json
import os
import signal
import sys
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

ADDRESS, PORT, *REST = sys.argv[1:]
SECONDS_TO_END = float(REST[0]) if REST else 0.0
HEALTH = {"/ready": 200, "/healthz": 200}


def say(text: str) -> None:
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


class Handler(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        if self.path == "/crash":
            os._exit(3)
        if self.path == "/sicken":
            HEALTH["/healthz"] = 500
        if self.path == "/unready":
            HEALTH["/ready"] = 503
        body = json.dumps({"env": dict(os.environ), "argv": sys.argv, "pid": os.getpid()}).encode()
        self.send_response(HEALTH.get(self.path, 200))
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        """Leave the log to what tests look for."""


def end(_number: int, _frame: object) -> None:
    say("told to end")

    def leave() -> None:
        time.sleep(SECONDS_TO_END)
        say("ended by itself")
        os._exit(0)

    threading.Thread(target=leave).start()


signal.signal(signal.SIGTERM, end)
say("hello")
ThreadingHTTPServer((ADDRESS, int(PORT)), Handler).serve_forever()
