"""A real ``sshd`` on loopback with keys of its own, and sessions whose model uses ``ssh``."""

from __future__ import annotations

import getpass
import os
import shutil
import signal
import socket
import subprocess
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from pi.ai.messages import Text, ToolResultMessage
from pi.ai.providers.faux import calls, says
from pi.batteries.ssh.adapter import extension
from pi.coding.port.ui import ExtensionUI
from tests.coding.extension_host.extension_session import (
    ExtensionFixture,
    FakeUI,
    extension_session,
)

SSHD = shutil.which("sshd", path=f"{os.environ['PATH']}:/usr/sbin:/usr/local/sbin")
needs_sshd = pytest.mark.skipif(
    SSHD is None or shutil.which("ssh") is None, reason="sshd is not installed (openssh-server)"
)
needs_ssh = pytest.mark.skipif(shutil.which("ssh") is None, reason="ssh is not installed")


@dataclass
class Server:
    """A running sshd."""

    folder: Path
    """Its files, and ``home``, where logins begin."""
    port: int
    process: subprocess.Popen[bytes]

    @property
    def config(self) -> Path:
        """The configuration for clients; ``box`` is the host."""
        return self.folder / "ssh_config"

    @property
    def home(self) -> Path:
        """Where the files of the tests are on the host."""
        return self.folder / "home"

    def sessions(self) -> list[int]:
        """Process ids of the connections that it serves."""
        listed = Path(f"/proc/{self.process.pid}/task/{self.process.pid}/children").read_text()
        return [int(pid) for pid in listed.split()]

    def cut(self) -> None:
        """Kill all connections."""
        for pid in self.sessions():
            os.kill(pid, signal.SIGKILL)

    def new_host_key(self) -> None:
        """Replace the key, as another machine would have."""
        make_key(self.folder / "other_key")
        key_fields = (self.folder / "other_key.pub").read_text().split()[:2]
        (self.folder / "known_hosts").write_text(
            f"[127.0.0.1]:{self.port} {' '.join(key_fields)}\n"
        )

    def forget_host_key(self) -> None:
        """Make the host unknown."""
        (self.folder / "known_hosts").write_text("")


def make_key(path: Path) -> None:
    """A key without a passphrase."""
    argv = ["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(path)]
    subprocess.run(argv, check=True)


def free_port() -> int:
    """A port that nothing listens at."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


@contextmanager
def running_sshd(folder: Path) -> Iterator[Server]:
    """Start sshd as this user; it is ended by its process id."""
    assert SSHD is not None
    if os.geteuid() == 0:
        Path("/run/sshd").mkdir(exist_ok=True)  # Debian's sshd does not start without it
    for name in ("host_key", "user_key"):
        make_key(folder / name)
    (folder / "home").mkdir()
    port = free_port()
    authorized = folder / "authorized_keys"
    authorized.write_text((folder / "user_key.pub").read_text())
    authorized.chmod(0o600)
    host_key = (folder / "host_key.pub").read_text().split()[:2]
    (folder / "known_hosts").write_text(f"[127.0.0.1]:{port} {' '.join(host_key)}\n")
    (folder / "sshd_config").write_text(
        f"ListenAddress 127.0.0.1:{port}\nHostKey {folder}/host_key\nPidFile none\n"
        f"AuthorizedKeysFile {authorized}\nPasswordAuthentication no\n"
        "KbdInteractiveAuthentication no\nUsePAM no\nStrictModes no\nPermitRootLogin yes\n"
        # The start-up files of the shell of this user are not read: they may take seconds.
        f"MaxSessions 50\nMaxStartups 100\nSetEnv HOME={folder}/home\n"
    )
    (folder / "ssh_config").write_text(
        f"Host box\n  HostName 127.0.0.1\n  Port {port}\n  User {getpass.getuser()}\n"
        f"  IdentityFile {folder}/user_key\n  IdentitiesOnly yes\n"
        f"  UserKnownHostsFile {folder}/known_hosts\n  GlobalKnownHostsFile /dev/null\n"
        f"Host closed\n  HostName 127.0.0.1\n  Port 9\n"
        "Host nowhere\n  HostName host.invalid\n"
    )
    process = subprocess.Popen(
        [SSHD, "-D", "-e", "-f", str(folder / "sshd_config")], stderr=subprocess.PIPE
    )
    assert process.stderr is not None
    try:
        for line in process.stderr:
            if b"Server listening" in line:
                break
        yield Server(folder, port, process)
    finally:
        process.terminate()
        process.wait()
        process.stderr.close()


class Chooser(FakeUI):
    """A user who gives the same answer to every question of ``ssh``."""

    def __init__(self, answer: str = "Allow for this session") -> None:
        super().__init__()
        self.choice = answer
        self.questions: list[str] = []

    async def select(self, title: str, options: Any, **more: Any) -> Any:
        self.questions.append(title)
        return self.choice


@asynccontextmanager
async def ssh_session(
    tmp_path: Path,
    *steps: Any,
    config: Path | str,
    hosts: tuple[str, ...] = ("box",),
    ui: ExtensionUI | None = None,
    **options: Any,
) -> AsyncIterator[ExtensionFixture]:
    """A session whose model makes these calls of ``ssh``."""
    settings = {"ssh": {"hosts": list(hosts), "configFile": str(config), "connectSeconds": 5}}
    settings |= options.pop("settings", {})
    script = [
        calls("ssh", **{"host": "box", **step}) if isinstance(step, Mapping) else step
        for step in steps
    ]
    async with extension_session(
        tmp_path,
        *options.pop("extensions", ()),
        extension,
        steps=(*script, says("done")),
        settings=settings,
        environ={"PATH": os.environ["PATH"]} | options.pop("environ", {}),
        ui=ui or Chooser(),
        **options,
    ) as hosted:
        yield hosted


def results(hosted: ExtensionFixture) -> list[str]:
    """The results as texts; errors start with ``! ``."""
    messages = [m for m in hosted.session.messages if isinstance(m, ToolResultMessage)]
    return [
        ("! " if message.is_error else "")
        + "\n".join(part.text for part in message.content if isinstance(part, Text))
        for message in messages
    ]


async def remote(tmp_path: Path, *steps: Any, **options: Any) -> list[str]:
    """Make the calls and return the results."""
    async with ssh_session(tmp_path, *steps, **options) as hosted:
        await hosted.session.prompt("go")
        assert hosted.failures == []
        return results(hosted)


STAND_IN = """#!/bin/sh
here=$(dirname "$0")
for word; do last=$word; if [ "$before" = -S ]; then socket=$word; fi; before=$word; done
printf '%s\\n' "$*" >>"$here/started"
case " $* " in
*" -N "*)
    if [ -e "$here/fails" ]; then cat "$here/fails" >&2; exit 255; fi
    : >"$socket"; echo connected; exec sleep 600 ;;
esac
[ -e "$socket" ] && [ ! -e "$here/cut" ] || { echo "no connection" >&2; exit 255; }
case " $* " in *" -O check "*) exit 0 ;; esac
HOME="$here/home" exec sh -c "$last"
"""
"""A program ``ssh`` whose hosts are this machine; ``-N`` is the shared connection.

With a file ``cut`` beside it the shared connection does not answer, but still has its socket.
"""


class StandIn:
    """The stand-in for ``ssh``, and the arguments of its starts."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.home = folder / "home"
        self.home.mkdir(parents=True)
        program = folder / "ssh"
        program.write_text(STAND_IN)
        program.chmod(0o755)

    @property
    def environ(self) -> dict[str, str]:
        """PATH with the stand-in first."""
        return {"PATH": f"{self.folder}:{os.environ['PATH']}"}

    def connections(self) -> list[bool]:
        """For every start, whether it opened the shared connection."""
        lines = (self.folder / "started").read_text().split("-T -S ")
        return [before.endswith("-N ") for before in lines[:-1]]

    def fails(self, message: str) -> None:
        """Let connections fail with this message."""
        (self.folder / "fails").write_text(message)
