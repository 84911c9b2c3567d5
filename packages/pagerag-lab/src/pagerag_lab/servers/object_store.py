"""An S3 server on loopback for tests of object stores: moto's, in a process of its own."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import time
from collections.abc import Sequence
from importlib.util import find_spec
from typing import Self

__all__ = ["ObjectServer", "missing_object_server"]

_SECONDS = 120.0
# One request at a time: moto 5.2 looks at the condition of a put first and puts afterwards, without a lock
# in between (``put_object`` of its s3/responses.py). 150 puts of one key by four threads at once did not show
# two that succeed, but nothing in moto rules it out, and a real object store does.
_SERVER = """
import sys
from moto.server import DomainDispatcherApplication, create_backend_app
from werkzeug.serving import run_simple
app = DomainDispatcherApplication(create_backend_app)
run_simple(sys.argv[1], int(sys.argv[2]), app, threaded=False)
"""


def missing_object_server() -> str:
    """Return why no server can be started, empty if one can."""
    lacking = [name for name in ("boto3", "moto", "flask") if find_spec(name) is None]
    return f"needs {', '.join(lacking)} (pip install boto3 'moto[server]')" if lacking else ""


class ObjectServer:
    """An empty S3 server; inside the ``with`` block the environment leads S3 clients to it.

    ``host`` is its address, and ``prefix`` the words of a command that starts it elsewhere, such as in a
    network namespace.
    """

    def __init__(self, host: str = "127.0.0.1", prefix: Sequence[str] = ()) -> None:
        self.host, self._prefix = host, tuple(prefix)
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = free.getsockname()[1]
        self.url = f"http://{host}:{self.port}"
        self.process: subprocess.Popen[bytes] | None = None
        self._before: dict[str, str | None] = {}

    def environment(self, url: str | None = None) -> dict[str, str]:
        """Return what leads S3 clients to the server, or to another address of it."""
        return {
            "AWS_ENDPOINT_URL_S3": url or self.url,
            "AWS_ACCESS_KEY_ID": "testing",
            "AWS_SECRET_ACCESS_KEY": "testing",
            "AWS_DEFAULT_REGION": "us-east-1",
            "AWS_EC2_METADATA_DISABLED": "true",
        }

    def __enter__(self) -> Self:
        self.process = subprocess.Popen(
            [*self._prefix, sys.executable, "-c", _SERVER, self.host, str(self.port)],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        deadline = time.monotonic() + _SECONDS
        while True:
            try:
                socket.create_connection((self.host, self.port), timeout=1).close()
                break
            except OSError as problem:
                if self.process.poll() is not None or time.monotonic() > deadline:
                    raise RuntimeError("moto's server did not start") from problem
                time.sleep(0.05)
        self._before = {name: os.environ.get(name) for name in self.environment()}
        os.environ.update(self.environment())
        return self

    def bucket(self, name: str) -> str:
        """Make a bucket and return a store's address in it."""
        import boto3

        client = boto3.session.Session().client("s3")
        client.create_bucket(Bucket=name)
        client.close()
        return f"s3://{name}/store"

    def __exit__(self, *_: object) -> None:
        for name, value in self._before.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value
        if self.process is not None:
            self.process.kill()
            self.process.wait()
