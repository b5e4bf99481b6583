from __future__ import annotations

import asyncio
import os
import shutil
import socket
import sys
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from pi.base.processes import Finished, run, spawn
from pi.base.processes.sandbox import (
    ALL_SOCKETS,
    SandboxPolicy,
    SandboxProxy,
    SandboxSupport,
    SandboxUnavailable,
    find_sandbox,
    listed_sockets,
    project_policy,
    sandboxed,
    seatbelt_profile,
)
from pi.base.processes.sandbox_launcher import FAILED
from pi.base.records import replace
from tests.sampling import sampled

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="needs Linux")

ENVIRON = {"PATH": os.environ["PATH"], "LC_ALL": "C"}
FULL = asyncio.run(find_sandbox({"PATH": "/nonexistent"})) if sys.platform == "linux" else None
"""What this kernel can do without bubblewrap."""
BWRAP = asyncio.run(find_sandbox(ENVIRON)) if shutil.which("bwrap") else None
SUPPORTS = [
    pytest.param(
        support,
        id=name,
        marks=pytest.mark.skipif(
            support is None or support.mechanism != name or not support.cuts_network,
            reason=f"this machine has no {name}",
        ),
    )
    for name, support in (("namespaces", FULL), ("bubblewrap", BWRAP))
]


class Project:
    """A project with files beside it that a command must not change."""

    def __init__(self, root: Path) -> None:
        self.path = root / "project"
        self.outside = root / "outside"
        self.temporary = root / "tmp"
        for folder in (self.path / ".git/hooks", self.path / ".pi", self.outside, self.temporary):
            folder.mkdir(parents=True)
        (self.path / ".git/config").write_text("[core]\n")
        (self.outside / "kept").write_text("kept")

    def policy(self, *, network: bool = False) -> SandboxPolicy:
        return project_policy(
            self.path,
            home=self.outside,
            agent_dir=self.outside / ".pi/agent",
            temporary=[self.temporary],
            network=network,
        )

    async def run(
        self, script: str, support: SandboxSupport, *, network: bool = False, input: bytes = b""
    ) -> Finished:
        policy = self.policy(network=network)
        command = sandboxed(["bash", "-c", script], policy, support)
        env = {**ENVIRON, "OUT": str(self.outside), "TMPDIR": str(self.temporary)}
        return await run(
            command.arguments,
            cwd=self.path,
            env=env,
            timeout=60,
            max_output=100_000,
            input=input,
        )


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


@pytest.fixture
def project(tmp_path: Path) -> Project:
    return Project(tmp_path)


@pytest.fixture
def udp_server() -> Iterator[socket.socket]:
    with closing(socket.socket(socket.AF_INET, socket.SOCK_DGRAM)) as server:
        server.bind(("127.0.0.1", 0))
        server.setblocking(False)
        yield server


@pytest.mark.parametrize("support", SUPPORTS)
async def test_a_command_works_in_its_project_and_in_temporary_folders(
    support: SandboxSupport, project: Project
) -> None:
    script = 'cat > a; mkdir b && mv a b/c && rm -r .pi-not; echo t > "$TMPDIR/x"; cat b/c; exit 3'

    done = await project.run(script, support, input=b"given")

    assert (done.exit_code, done.output) == (3, b"given")
    assert (project.temporary / "x").read_text() == "t\n"
    assert (project.path / "b/c").read_text() == "given"


ATTEMPTS = {
    "redirection": 'echo x > "$OUT/new"',
    "append": 'echo x >> "$OUT/kept"',
    "delete": 'rm -f "$OUT/kept"',
    "rename": 'mv "$OUT/kept" "$OUT/moved"',
    "move in": 'mv "$OUT/kept" .',
    "move out": 'touch f; mv f "$OUT/new"',
    "symlink": 'ln -s "$OUT/kept" link; echo x > link',
    "folder link": 'ln -s "$OUT" there; echo x > there/new',
    "parent": "echo x > ../outside/new",
    "hard link": 'ln "$OUT/kept" hard && echo x > hard',
    "chmod": 'chmod 777 "$OUT/kept"',
    "truncate": 'truncate -s 0 "$OUT/kept"',
    "mkdir": 'mkdir "$OUT/new"',
    "python": "python3 -c \"import os; open(os.environ['OUT'] + '/new', 'w')\"",
    "background": '(setsid bash -c "echo x > $OUT/new" &) ; wait',
    "remount": 'mount -o remount,rw / ; mount -o remount,bind,rw "$OUT"; echo x > "$OUT/new"',
    "bind": 'mkdir m; mount --bind "$OUT" m; echo x > m/new',
    "user namespace": 'unshare -Urm bash -c "mount -o remount,bind,rw /; echo x > $OUT/new"',
    "proc root": 'echo x > "/proc/self/root$OUT/new"',
    "parent process": 'echo x > "/proc/$PPID/root$OUT/new"',
    "xattr": "python3 -c \"import os; os.setxattr(os.environ['OUT'] + '/kept', 'user.x', b'1')\"",
    "times": 'touch -d 2001-01-01 "$OUT/kept"',
}


@pytest.mark.parametrize("attempt", sampled(ATTEMPTS, keep=4))
@pytest.mark.parametrize("support", SUPPORTS)
async def test_the_kernel_refuses_writes_outside_the_project(
    support: SandboxSupport, project: Project, attempt: str
) -> None:
    before = (project.outside / "kept").stat()

    done = await project.run(ATTEMPTS[attempt], support)

    after = (project.outside / "kept").stat()
    assert names(project.outside) == ["kept"], done.errors
    assert (project.outside / "kept").read_text() == "kept"
    assert (after.st_mode, after.st_mtime_ns) == (before.st_mode, before.st_mtime_ns)
    assert os.listxattr(project.outside / "kept") == []


PROTECTED_ATTEMPTS = {
    "hook": "echo x > .git/hooks/pre-commit",
    "config": "echo x >> .git/config",
    "settings": "echo x > .pi/settings.json",
    "delete": "rm -rf .pi .git",
    "rename the folder": "mv .pi other; mkdir .pi; echo x > .pi/settings.json",
    "rename its parent": "mv .git other; mkdir -p .git/hooks; echo x > .git/hooks/pre-commit",
    "link": "ln -sfn /tmp .git/hooks; ln -s .pi p; echo x > p/settings.json",
    "absolute": 'echo x > "$PWD/.git/hooks/pre-commit"',
    "git": "git config core.hooksPath /tmp",
    "remount": "mount -o remount,bind,rw .pi; umount .pi; echo x > .pi/settings.json",
}


@pytest.mark.parametrize("attempt", sampled(PROTECTED_ATTEMPTS, keep=3))
@pytest.mark.parametrize("support", SUPPORTS)
async def test_the_kernel_protects_git_hooks_git_config_and_pi_settings(
    support: SandboxSupport, project: Project, attempt: str
) -> None:
    await project.run(PROTECTED_ATTEMPTS[attempt] + "; echo still > works", support)

    assert (project.path / ".git/config").read_text() == "[core]\n"
    assert names(project.path / ".git/hooks") == []
    assert not (project.path / ".git/hooks").is_symlink()
    assert names(project.path / ".pi") == []
    assert (project.path / "works").read_text() == "still\n"


@pytest.mark.parametrize("support", SUPPORTS)
async def test_a_project_in_a_temporary_folder_cannot_be_replaced(
    support: SandboxSupport, tmp_path: Path
) -> None:
    """The next command could change what a link in its place names."""
    project = Project(tmp_path / "a/b")
    policy = replace(project.policy(), writable=(project.path, tmp_path))
    script = (
        f"cd {tmp_path}; mv a/b/project a/b/x; mv a/b a/x; mv a x; rm -rf a/b/project/.git;"
        f" ln -s {project.outside} a/b/project; echo still > a/b/works"
    )
    command = sandboxed(["bash", "-c", script], policy, support)

    await run(command.arguments, cwd=project.path, env=ENVIRON, timeout=60, max_output=10_000)

    assert project.path.is_dir() and not project.path.is_symlink()
    assert (project.path / ".git/config").read_text() == "[core]\n"
    assert names(tmp_path) == ["a"]
    assert (tmp_path / "a/b/works").read_text() == "still\n"


@pytest.mark.parametrize("support", SUPPORTS)
async def test_in_a_home_folder_the_configuration_of_pi_and_of_shells_is_protected(
    support: SandboxSupport, tmp_path: Path
) -> None:
    for name in (".bashrc", ".config/git/config", ".pi/agent/settings.json", ".aws/credentials"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("kept")
    agent_dir = tmp_path / ".pi/agent"
    copy = agent_dir / "copies/1"
    copy.mkdir(parents=True)
    policy = project_policy(
        copy, home=tmp_path, agent_dir=agent_dir, temporary=[tmp_path], also=[tmp_path / "."]
    )
    policy = replace(policy, unreadable=(tmp_path / ".aws",))
    script = (
        f"cd {tmp_path}; for f in .bashrc .config/git/config .pi/agent/settings.json"
        " .pi/agent/mcp.json .pi/agent/copies/other; do echo x > $f; done;"
        " mv .config c; mv .pi/agent p; mv .aws a; cat .aws/credentials a/credentials;"
        f" echo still > {copy}/works; echo still > works"
    )
    command = sandboxed(["bash", "-c", script], policy, support)

    done = await run(command.arguments, cwd=copy, env=ENVIRON, timeout=60, max_output=10_000)

    assert (tmp_path / ".bashrc").read_text() == "kept"
    assert (tmp_path / ".config/git/config").read_text() == "kept"
    assert (tmp_path / ".aws/credentials").read_text() == "kept"
    assert names(agent_dir) == ["copies", "settings.json"]
    assert (agent_dir / "settings.json").read_text() == "kept"
    assert b"kept" not in done.output
    assert (copy / "works").exists() and (tmp_path / "works").exists()


@pytest.mark.parametrize("support", SUPPORTS)
async def test_files_of_the_kernel_and_terminals_of_the_user_cannot_be_written(
    support: SandboxSupport, project: Project
) -> None:
    """The kernel runs the program in ``core_pattern`` outside of the sandbox, as root."""
    master, terminal = os.openpty()
    device = os.ttyname(terminal)
    script = (
        "f=/proc/sys/kernel/core_pattern; cat $f > p; cat p > $f && echo wrote the pattern;"
        f" echo x > {device} && echo wrote to the terminal;"
        " ls /dev/kmsg /dev/vd* /dev/sd* /dev/loop*; cat /dev/mem /dev/kmsg < /dev/null;"
        " echo x > /dev/null && echo null; python3 -c 'import pty; pty.openpty(); print(2)'"
    )
    try:
        done = await project.run(script, support)
    finally:
        os.close(master)
        os.close(terminal)

    assert done.output == b"null\n2\n"


@pytest.mark.parametrize("support", SUPPORTS)
async def test_the_root_folder_can_be_a_project(support: SandboxSupport, project: Project) -> None:
    policy = SandboxPolicy(cwd=Path("/"), writable=(Path("/"),))
    script = (
        "f=/proc/sys/kernel/core_pattern; cat $f > $OUT/p; cat $OUT/p > $f && echo wrote;"
        " f=/sys/kernel/uevent_helper; cat $f > $OUT/u; cat $OUT/u > $f && echo wrote;"
        " ls -d /proc/[0-9]* | wc -l"
    )
    command = sandboxed(["bash", "-c", script], policy, support)
    env = {**ENVIRON, "OUT": str(project.outside)}

    done = await run(command.arguments, cwd=project.path, env=env, timeout=60, max_output=10_000)

    assert int(done.output) < 6
    assert (project.outside / "p").exists()


@pytest.mark.parametrize("support", SUPPORTS)
async def test_the_kernel_refuses_the_network(
    support: SandboxSupport, project: Project, udp_server: socket.socket
) -> None:
    listener = await asyncio.start_server(lambda reader, writer: writer.close(), "127.0.0.1", 0)
    tcp, udp = listener.sockets[0].getsockname()[1], udp_server.getsockname()[1]
    script = (
        f"echo x > /dev/tcp/127.0.0.1/{tcp} && echo reached\n"
        f"echo x > /dev/udp/127.0.0.1/{udp} && echo sent\n"
    )

    async with listener:
        cut = await project.run(script, support)
        with pytest.raises(BlockingIOError):
            udp_server.recv(10)
        allowed = await project.run(script, support, network=True)

    assert b"reached" not in cut.output
    assert allowed.output == b"reached\nsent\n"
    assert udp_server.recv(10) == b"x\n"


@pytest.mark.parametrize("support", SUPPORTS)
async def test_a_server_and_its_client_work_inside(
    support: SandboxSupport, project: Project
) -> None:
    script = (
        "import socket; s = socket.create_server(('127.0.0.1', 0));"
        "c = socket.create_connection(s.getsockname()); c.sendall(b'hi');"
        "print(s.accept()[0].recv(9))"
    )

    done = await project.run(f'python3 -c "{script}"', support)

    assert done.output == b"b'hi'\n"


@pytest.mark.parametrize("support", SUPPORTS)
async def test_a_disk_cannot_be_opened(support: SandboxSupport, project: Project) -> None:
    disks = [path for path in Path("/dev").iterdir() if path.is_block_device()]
    if not disks:
        pytest.skip("this machine shows no disks")

    done = await project.run(f"test -b {disks[0]} && : >> {disks[0]} && echo open", support)

    assert done.output == b""


@pytest.mark.skipif(
    FULL is None or FULL.landlock < 6 or not FULL.cuts_network,
    reason="needs Landlock 6 and namespaces",
)
async def test_processes_outside_get_no_signals(project: Project) -> None:
    assert FULL is not None
    async with await spawn(["sleep", "60"], cwd=project.path, env=ENVIRON) as other:
        done = await project.run(f"kill -9 {other.pid} && echo killed", FULL)

        assert b"killed" not in done.output
        assert not other.is_gone


@pytest.mark.parametrize("support", SUPPORTS)
async def test_processes_outside_are_neither_seen_nor_changed(
    support: SandboxSupport, project: Project
) -> None:
    """The limits of a process with the same user can be changed without any capability."""
    assert support.separates_processes
    async with await spawn(["sleep", "60"], cwd=project.path, env=ENVIRON) as other:
        limits = Path(f"/proc/{other.pid}/limits").read_text()
        pid = other.pid
        script = (
            f"prlimit --pid {pid} --nofile=3; choom -n 1000 -p {pid}; renice 19 {pid};"
            f" kill -9 {pid}; kill -9 -{pid}; cat /proc/{pid}/environ; taskset -p 1 {pid};"
            " ls -d /proc/[0-9]* | wc -l"
        )
        done = await project.run(script, support)

        assert Path(f"/proc/{pid}/limits").read_text() == limits
        assert os.getpriority(os.PRIO_PROCESS, pid) == os.getpriority(os.PRIO_PROCESS, 0)
        assert not other.is_gone
        assert int(done.output.split()[-1]) < 6


@pytest.mark.parametrize("support", SUPPORTS)
async def test_a_command_ends_with_its_signal_and_takes_its_children_along(
    support: SandboxSupport, project: Project
) -> None:
    killed = await project.run("(setsid sleep 60 &) ; kill -9 $$", support)

    assert killed.exit_code == 128 + 9


@pytest.mark.parametrize("support", SUPPORTS)
async def test_unreadable_files_are_empty_and_folders_without_files(
    support: SandboxSupport, project: Project
) -> None:
    home = project.outside
    (home / ".ssh").mkdir()
    (home / ".ssh/id_rsa").write_text("the-key")
    (home / ".netrc").write_text("the-password")
    (home / "dotfiles").mkdir()
    (home / "dotfiles/credentials").write_text("the-token")
    (home / ".aws").symlink_to(home / "dotfiles")
    names = (".ssh", ".netrc", ".aws", ".missing", ".ssh/id_rsa")
    policy = replace(project.policy(), unreadable=tuple(home / name for name in names))
    script = (
        f"cd {home}; cat .ssh/id_rsa .netrc .aws/credentials dotfiles/credentials;"
        f" umount {home}/.ssh; cat .ssh/id_rsa; cat /proc/1/root{home}/.ssh/id_rsa;"
        f" echo x > .ssh/id_rsa; cp -r {home} $TMPDIR/copy; grep -r the- $TMPDIR; ls .ssh"
    )
    command = sandboxed(["bash", "-c", script], policy, support)
    env = {**ENVIRON, "TMPDIR": str(project.temporary)}

    done = await run(command.arguments, cwd=project.path, env=env, timeout=60, max_output=10_000)

    assert b"the-" not in done.output
    assert (home / ".ssh/id_rsa").read_text() == "the-key"


@pytest.mark.parametrize("support", SUPPORTS)
async def test_a_proxy_is_the_only_way_to_the_network(
    support: SandboxSupport, project: Project
) -> None:
    seen: list[bytes] = []

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        seen.append(await reader.readline())
        writer.write(b"HTTP/1.1 200 OK\r\nConnection: close\r\n\r\nthrough the proxy")
        writer.close()

    place = project.outside / "proxy.sock"
    policy = replace(project.policy(), proxy=SandboxProxy(socket=place, port=40128))
    code = (
        "import urllib.request as r; print(r.urlopen('http://a.example/x', timeout=9).read());"
        "import socket; socket.create_connection(('127.0.0.1', OUTSIDE), 2)"
    )
    env = {**ENVIRON, "http_proxy": "http://127.0.0.1:40128"}
    async with (
        await asyncio.start_unix_server(serve, place),
        await asyncio.start_server(lambda r, w: w.close(), "127.0.0.1", 0) as other,
    ):
        port = other.sockets[0].getsockname()[1]
        script = f'python3 -c "{code.replace("OUTSIDE", str(port))}"; exit 7'
        command = sandboxed(["bash", "-c", script], policy, support)
        done = await run(
            command.arguments, cwd=project.path, env=env, timeout=60, max_output=10_000
        )

    assert (done.exit_code, done.output) == (7, b"b'through the proxy'\n")
    assert b"ConnectionRefusedError" in done.errors
    assert seen == [b"GET http://a.example/x HTTP/1.1\r\n"]


@pytest.mark.parametrize("support", SUPPORTS)
async def test_without_writable_paths_everything_is_read_only(
    support: SandboxSupport, project: Project
) -> None:
    policy = SandboxPolicy(cwd=project.path)
    script = (
        "echo x > new; rm -rf .pi; mkdir d; git init q; cat .git/config > /dev/null && echo read"
    )
    command = sandboxed(["bash", "-c", script], policy, support)

    done = await run(
        command.arguments, cwd=project.path, env=ENVIRON, timeout=60, max_output=10_000
    )

    assert done.output == b"read\n"
    assert names(project.path) == [".git", ".pi"]


@pytest.mark.skipif(FULL is None or not FULL.landlock, reason="needs Landlock")
async def test_landlock_alone_refuses_writes_and_rejects_policies_that_it_cannot_enforce(
    project: Project,
) -> None:
    assert FULL is not None
    alone = SandboxSupport(mechanism="landlock", landlock=FULL.landlock, reason="No namespaces.")
    policy = SandboxPolicy(cwd=project.path, writable=(project.path,), network=True)
    script = f"echo x > in; echo x > {project.outside}/new; rm -f {project.outside}/kept"
    command = sandboxed(["bash", "-c", script], policy, alone)

    await run(command.arguments, cwd=project.path, env=ENVIRON, timeout=60, max_output=10_000)

    assert (project.path / "in").exists()
    assert names(project.outside) == ["kept"]
    with pytest.raises(SandboxUnavailable, match="the network cannot be cut"):
        sandboxed(["true"], replace(policy, network=False), alone)
    with pytest.raises(SandboxUnavailable, match="cannot be protected"):
        sandboxed(["true"], replace(policy, protected=(project.path / ".pi",)), alone)
    with pytest.raises(SandboxUnavailable, match="cannot be hidden"):
        sandboxed(["true"], replace(policy, unreadable=(project.outside,)), alone)


def test_without_a_sandbox_mechanism_no_command_runs(project: Project) -> None:
    none = SandboxSupport(reason="The kernel has no Landlock.")

    with pytest.raises(SandboxUnavailable, match="The kernel has no Landlock") as refused:
        sandboxed(["true"], project.policy(), none)

    assert "bubblewrap" in refused.value.hint


async def test_a_sandbox_that_cannot_be_set_up_does_not_run_the_command(project: Project) -> None:
    support = SandboxSupport(mechanism="namespaces", landlock=1, cuts_network=True)
    command = sandboxed(["touch", "ran"], project.policy(), support).arguments
    broken = [text.replace(str(project.temporary), "/nonexistent/folder") for text in command]

    done = await run(broken, cwd=project.path, env=ENVIRON, timeout=60, max_output=10_000)

    assert done.exit_code == FAILED
    assert b"the sandbox cannot be set up" in done.errors
    assert not (project.path / "ran").exists()


def test_protected_paths_that_do_not_exist_are_named(project: Project) -> None:
    support = SandboxSupport(mechanism="namespaces", landlock=1, cuts_network=True)

    command = sandboxed(["true"], project.policy(), support)

    missing = {path.relative_to(project.path).as_posix() for path in command.unprotected}
    assert {".claude", ".mcp.json", ".vscode/tasks.json", ".husky", ".git/commondir"} <= missing
    assert ".git/config" not in missing


def test_root_needs_landlock_beside_namespaces(project: Project) -> None:
    support = SandboxSupport(mechanism="namespaces", cuts_network=True, is_root=True)

    with pytest.raises(SandboxUnavailable, match="disks"):
        sandboxed(["true"], project.policy(), support)


def test_the_profile_for_macos_denies_writes_and_network(project: Project) -> None:
    policy = SandboxPolicy(
        cwd=Path('/a"b'),
        writable=(Path('/a"b'),),
        protected=(Path('/a"b/.git/hooks'),),
        unreadable=(Path("/home/.ssh"),),
        proxy=SandboxProxy(port=4000),
    )

    lines = seatbelt_profile(policy).splitlines()

    assert lines[1:3] == ["(allow default)", "(deny file-write*)"]
    assert lines[4:] == [
        r'(allow file-write* (subpath "/a\"b"))',
        r'(deny file-write* (subpath "/a\"b/.git/hooks"))',
        r'(deny file-write-unlink (literal "/a\"b/.git"))',
        '(deny file-read* (subpath "/home/.ssh"))',
        "(deny network*)",
        '(allow network-outbound (remote ip "localhost:4000"))',
    ]


async def test_other_systems_are_not_sandboxed() -> None:
    assert await find_sandbox({}, platform="win32") == SandboxSupport(
        reason="There is no sandbox for win32."
    )
    assert (await find_sandbox({"PATH": "/nonexistent"}, platform="darwin")).mechanism == "none"


@pytest.mark.parametrize("support", SUPPORTS)
async def test_sockets_of_other_programs_can_be_hidden(
    tmp_path: Path, support: SandboxSupport
) -> None:
    """Otherwise a server such as that of tmux runs commands outside of the sandbox."""
    connected: list[bool] = []

    def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        connected.append(True)
        writer.close()

    place = tmp_path / "server.sock"
    code = f"import socket; socket.socket(socket.AF_UNIX).connect({str(place)!r})"
    command = [sys.executable, "-I", "-S", "-c", code]
    async with await asyncio.start_unix_server(serve, str(place)):
        for sockets in ((), (tmp_path / "other",), (tmp_path,), ALL_SOCKETS):
            policy = SandboxPolicy(cwd=tmp_path, sockets=sockets)
            inside = sandboxed(command, policy, support).arguments
            ended = await run(inside, cwd=tmp_path, env=ENVIRON, timeout=30, max_output=10_000)
            allowed = sockets in ((tmp_path,), ALL_SOCKETS)
            assert ended.ok is allowed
            assert bool(connected) is allowed


def test_landlock_alone_cannot_hide_sockets(tmp_path: Path) -> None:
    policy = SandboxPolicy(cwd=tmp_path, network=True, sockets=())
    with pytest.raises(SandboxUnavailable, match="sockets cannot be hidden"):
        sandboxed(["true"], policy, SandboxSupport(mechanism="landlock", landlock=5))


def test_the_table_of_sockets() -> None:
    table = (
        "Num       RefCount Protocol Flags    Type St Inode Path\n"
        "0000000000000000: 00000002 00000000 00010000 0001 01 20 /run/a b.sock\n"
        "0000000000000000: 00000002 00000000 00010000 0001 01 21 @abstract\n"
        "0000000000000000: 00000003 00000000 00000000 0001 03 22\n"
    )
    assert listed_sockets(table) == ["/run/a b.sock"]
