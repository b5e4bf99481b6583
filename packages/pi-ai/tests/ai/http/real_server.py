"""Third-party servers, each in its own child process on the loopback."""

from __future__ import annotations

import os
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

CHILD = Path(__file__).with_name("asgi_child.py")
NGINX = shutil.which("nginx") or shutil.which("nginx", path="/usr/sbin")


@contextmanager
def child(arguments: Sequence[str | Path], *, descriptors: Sequence[int] = ()) -> Iterator[None]:
    """Run a program for as long as the block lasts."""
    process = subprocess.Popen(
        [str(argument) for argument in arguments],
        pass_fds=descriptors,
        stdin=subprocess.DEVNULL,
        start_new_session=True,
    )
    try:
        yield
    finally:
        os.killpg(process.pid, signal.SIGKILL)  # proxy.py starts child processes
        process.wait()


@contextmanager
def asgi_server(kind: str, tls: Sequence[Path | str] = ()) -> Iterator[str]:
    """A uvicorn or hypercorn with the application of ``asgi_child``; yields its base URL.

    ``tls`` is certificate, key and, to demand client certificates, their authority.
    """
    with socket.create_server(("127.0.0.1", 0), backlog=100) as listening:
        # The child inherits the socket: clients may connect before it accepts.
        descriptor, port = listening.fileno(), listening.getsockname()[1]
        with child([sys.executable, CHILD, kind, str(descriptor), *tls], descriptors=[descriptor]):
            yield f"{'https' if tls else 'http'}://127.0.0.1:{port}"


@contextmanager
def nginx_before(backend: str, directory: Path, tls: Sequence[Path | str] = ()) -> Iterator[str]:
    """An nginx that forwards all requests to ``backend``; yields its base URL."""
    assert NGINX is not None
    port = free_port()
    secured = f"ssl_certificate {tls[0]}; ssl_certificate_key {tls[1]};" if tls else ""
    if tls and tls[2]:
        secured += f"ssl_client_certificate {tls[2]}; ssl_verify_client on;"
    config = directory / "nginx.conf"
    config.write_text(f"""
        daemon off; master_process off; pid {directory}/pid; error_log stderr crit;
        events {{}}
        http {{
            access_log off; client_max_body_size 0;
            client_body_temp_path {directory}/body; proxy_temp_path {directory}/proxy;
            fastcgi_temp_path {directory}/f; uwsgi_temp_path {directory}/u;
            scgi_temp_path {directory}/s;
            server {{
                listen 127.0.0.1:{port} {"ssl" if tls else ""}; {secured}
                location / {{ proxy_pass {backend}; proxy_http_version 1.1; }}
            }}
        }}""")
    with child([NGINX, "-p", directory, "-c", config]):
        wait_until_listening(port)
        yield f"{'https' if tls else 'http'}://127.0.0.1:{port}"


def free_port() -> int:
    """A loopback port without a listener."""
    with socket.create_server(("127.0.0.1", 0)) as listening:
        port: int = listening.getsockname()[1]
        return port


def wait_until_listening(port: int) -> None:
    """Wait, ten seconds at most, for a program that binds its port itself."""
    deadline = time.monotonic() + 10
    while True:
        try:
            socket.create_connection(("127.0.0.1", port)).close()
            return
        except ConnectionRefusedError:
            if time.monotonic() > deadline:
                raise
            time.sleep(0.02)
