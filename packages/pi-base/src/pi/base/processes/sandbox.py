"""Sandboxes: commands that may write only where they should, enforced by the kernel.

Linux: ``bwrap`` if it is installed and works, else namespaces and Landlock of our own
(``sandbox_launcher.py``), else Landlock alone. macOS: ``sandbox-exec``. Writes outside fail in the
kernel. The network is switched off by a network namespace: Landlock alone cannot stop UDP. A policy
that the machine cannot enforce is refused; a command never runs with fewer restrictions.
"""

# Not with ``Path``, which parses a path for each question: this runs for each command.
# ruff: noqa: PTH110, PTH112, PTH114, PTH116

from __future__ import annotations

import json
import os
import stat
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Literal, NamedTuple, TypeAlias

from pi.base.errors import PiError
from pi.base.processes.child import run
from pi.base.processes.direct import SpawnFailed
from pi.base.processes.environment import find_program
from pi.base.protected_files import protected_paths, start_paths
from pi.base.records import Record, replace

Mechanism: TypeAlias = Literal["bubblewrap", "namespaces", "landlock", "seatbelt", "none"]

LAUNCHER = Path(__file__).with_name("sandbox_launcher.py")
RELAY = Path(__file__).with_name("sandbox_relay.py")
PROBE_SECONDS = 10.0

HIDDEN = ("/run/docker.sock", "/run/podman/podman.sock", "/run/containerd/containerd.sock")
"""Sockets through which a command could leave the sandbox."""
SOCKETS = Path("/proc/net/unix")
"""The file in which Linux lists open sockets with their paths."""
NAME_SERVICES = (Path("/var/lib/sss/pipes/nss"), Path("/run/systemd/userdb"))
"""Sockets that tell the names of users; those that resolve hosts would be a way to the network."""
ALL_SOCKETS = (Path("/"),)
_EVERYWHERE = ("/",)
KERNEL_FILES = ("bus", "fs", "irq", "sys", "sysrq-trigger")
"""What root could write below ``/proc`` although it has no capability: ``core_pattern`` in ``sys``
names a program that the kernel runs outside of every sandbox."""


class SandboxUnavailable(PiError):
    """This machine cannot enforce the policy of a command."""


class SandboxProxy(Record):
    """The proxy that is the only way to the network."""

    socket: Path | None = None
    """Its Unix socket, which is connected with ``port`` of the sandbox's own network."""
    port: int = 0
    """The loopback port to which commands connect."""


class SandboxPolicy(Record):
    """What a command may do."""

    cwd: Path
    writable: tuple[Path, ...] = ()
    """Folders and files that it may change; without any it runs read-only."""
    protected: tuple[Path, ...] = ()
    """Paths inside ``writable`` that stay read-only, but for writable paths inside of them."""
    unreadable: tuple[Path, ...] = ()
    """Files that appear empty, and folders that appear without files."""
    network: bool = False
    proxy: SandboxProxy | None = None
    """Where the network is cut: a proxy that commands can reach nevertheless."""
    sockets: tuple[Path, ...] = ALL_SOCKETS
    """Sockets of other programs that it may use, and folders with such.

    The server of ``tmux``, for example, would run any command outside of the sandbox.
    """


class SandboxSupport(Record):
    """What this machine can enforce."""

    mechanism: Mechanism = "none"
    program: str = ""
    """Path of ``bwrap`` or ``sandbox-exec``."""
    landlock: int = 0
    """Version of Landlock; 0 without it."""
    cuts_network: bool = False
    separates_processes: bool = True
    """Whether commands neither see nor change processes outside, such as pi."""
    is_root: bool = False
    """Whether commands run as root, which file permissions do not stop."""
    reason: str = ""
    """Why there is no sandbox, or no full one."""


class SandboxedCommand(Record):
    """A command line that runs a command in a sandbox."""

    arguments: tuple[str, ...]
    unprotected: tuple[Path, ...] = ()
    """Protected paths that do not exist yet. The kernel cannot keep a command from creating them:
    the caller compares before and after."""


def project_policy(
    cwd: Path,
    *,
    home: Path,
    agent_dir: Path,
    temporary: Sequence[Path],
    also: Sequence[Path] = (),
    network: bool = False,
) -> SandboxPolicy:
    """Return the usual policy: a project and temporary folders are writable.

    The configuration of pi and what starts with the user's shells are protected, too: a project can
    contain the home folder.
    """
    writable = (cwd, *temporary, *also)
    protected = tuple(path for root in (cwd, *also) for path in protected_paths(root))
    own = [path for path in start_paths(home) if path.exists()]
    return SandboxPolicy(
        cwd=cwd,
        writable=writable,
        protected=(*protected, *own, agent_dir),
        network=network,
    )


async def find_sandbox(
    environ: Mapping[str, str], *, platform: str = sys.platform
) -> SandboxSupport:
    """Return what this machine can enforce, by trying it. Takes some 100 ms: keep the result."""
    if platform == "darwin":
        program = find_program("sandbox-exec", environ)
        if program is None:
            return SandboxSupport(reason="sandbox-exec was not found.")
        return SandboxSupport(mechanism="seatbelt", program=str(program), cuts_network=True)
    if platform != "linux":
        return SandboxSupport(reason=f"There is no sandbox for {platform}.")
    bwrap = find_program("bwrap", environ)
    empty = _unresolved_limits(SandboxPolicy(cwd=Path("/")))
    if bwrap is not None and await _works(_bubblewrap(str(bwrap), empty), environ):
        return SandboxSupport(mechanism="bubblewrap", program=str(bwrap), cuts_network=True)
    return await _probe(environ)


async def _works(launch: Sequence[str], environ: Mapping[str, str]) -> bool:
    try:
        done = await run(
            [*launch, "true"], cwd=Path("/"), env=environ, timeout=PROBE_SECONDS, max_output=1000
        )
    except SpawnFailed:
        return False
    return done.ok


async def _probe(environ: Mapping[str, str]) -> SandboxSupport:
    command = [sys.executable, "-I", "-S", str(LAUNCHER), json.dumps({"probe": True})]
    done = await run(command, cwd=Path("/"), env=environ, timeout=PROBE_SECONDS, max_output=10_000)
    report = json.loads(done.output) if done.ok else {}
    support = SandboxSupport(landlock=report.get("landlock", 0), is_root=report.get("root", True))
    if report.get("namespaces"):
        reason = "" if report["network"] else "This kernel allows no network namespaces."
        return replace(
            support,
            mechanism="namespaces",
            cuts_network=report["network"],
            separates_processes=report["processes"],
            reason=reason,
        )
    reason = "Namespaces are not allowed here"
    if support.landlock:
        reason += ", and Landlock alone can neither cut the network nor protect single files."
        return replace(support, mechanism="landlock", separates_processes=False, reason=reason)
    return replace(support, reason=f"{reason}, and the kernel has no Landlock.")


def sandboxed(
    command: Sequence[str], policy: SandboxPolicy, support: SandboxSupport
) -> SandboxedCommand:
    """Return ``command`` as it is started inside a sandbox.

    Raises ``SandboxUnavailable`` if ``support`` cannot enforce ``policy``.
    """
    limits, missing = _real_limits(policy)
    if refusal := _explain_refusal(limits, support):
        raise SandboxUnavailable(
            f"The command cannot be sandboxed: {refusal}",
            hint="Install bubblewrap, or switch the sandbox off.",
        )
    match support.mechanism:
        case "bubblewrap":
            launch = _bubblewrap(support.program, limits)
        case "seatbelt":
            launch = (support.program, "-p", _seatbelt_profile(limits))
        case _:
            launch = _launcher(limits, support)
    if (proxy := policy.proxy) is not None and proxy.socket is not None:
        relay = (sys.executable, "-I", "-S", str(RELAY), str(proxy.socket), str(proxy.port))
        launch = (*launch, *relay)
    return SandboxedCommand(arguments=(*launch, *command), unprotected=missing)


class _Limits(NamedTuple):
    """A policy with its paths as text: each command compares a hundred of them."""

    cwd: str
    writable: tuple[str, ...]
    protected: tuple[str, ...]
    unreadable: tuple[str, ...]
    sockets: tuple[str, ...]
    network: bool
    proxy: SandboxProxy | None


def _explain_refusal(limits: _Limits, support: SandboxSupport) -> str:
    if support.mechanism == "none":
        return support.reason or "this machine has no sandbox."
    if not limits.network and not support.cuts_network:
        return f"the network cannot be cut. {support.reason}"
    if support.mechanism == "landlock" and (lacking := _needs_mounts(limits)):
        return f"{lacking}. {support.reason}"
    if support.mechanism == "namespaces" and support.is_root and not support.landlock:
        return "without Landlock root could write to disks directly."
    return ""


def _needs_mounts(limits: _Limits) -> str:
    """Return what cannot be enforced without mounts; empty if everything can."""
    if limits.protected:
        return f"{limits.protected[0]} cannot be protected"
    if limits.unreadable:
        return f"{limits.unreadable[0]} cannot be hidden"
    return "" if limits.sockets == _EVERYWHERE else "sockets cannot be hidden"


def _real_limits(policy: SandboxPolicy) -> tuple[_Limits, tuple[Path, ...]]:
    """Return the policy with resolved paths that exist, and protected paths that do not.

    A protected link is followed: the kernel protects files, not names. Nothing is remembered from
    one command to the next: the previous one may have replaced a folder by a link.
    """
    resolver = _Resolver()
    paths = {str(path): resolver.resolve(str(path)) for path in policy.writable}
    writable = tuple(dict.fromkeys(real for path, real in paths.items() if os.path.exists(real)))
    present: dict[str, None] = {}
    missing: list[Path] = []
    for path in dict.fromkeys(policy.protected):
        real = resolver.resolve(str(path))
        if not _is_in(real, writable):
            continue
        if os.path.exists(real):
            present.setdefault(real)
        else:
            missing.append(path)
    limits = _Limits(
        cwd=resolver.resolve(str(policy.cwd)),
        writable=writable,
        protected=tuple(present),
        unreadable=tuple(_existing(map(str, policy.unreadable), resolver)),
        sockets=tuple(resolver.resolve(str(path)) for path in policy.sockets),
        network=policy.network,
        proxy=policy.proxy,
    )
    return limits, tuple(missing)


class _Resolver:
    """Follows the links of the paths of one command; a hundred paths share few folders."""

    def __init__(self) -> None:
        self._folders: dict[str, str] = {}

    def resolve(self, path: str) -> str:
        """Return an absolute path without links. Missing parts stay as they are."""
        folder, _, name = path.rpartition("/")
        if not folder or name in ("", ".", "..") or os.path.islink(path):
            return os.path.realpath(path)
        if folder not in self._folders:
            self._folders[folder] = os.path.realpath(folder)
        return f"{self._folders[folder].rstrip('/')}/{name}"


def _is_in(path: str, roots: Iterable[str]) -> bool:
    return any(f"{path}/".startswith(f"{root.rstrip('/')}/") for root in roots)


def _existing(paths: Iterable[str], resolver: _Resolver) -> Iterator[str]:
    """Yield the files and folders that exist, with links followed; none inside of another."""
    existing = {resolver.resolve(path) for path in paths if _is_file_or_folder(path)}
    for path in sorted(existing):
        if not _is_in(path, existing - {path}):
            yield path


def _is_file_or_folder(path: str) -> bool:
    try:
        mode = os.stat(path).st_mode
    except (OSError, ValueError):
        return False
    return stat.S_ISREG(mode) or stat.S_ISDIR(mode)


def _hidden(limits: _Limits) -> list[str]:
    """Return the paths that ``/dev/null`` is mounted onto; those that exist and can be reached."""
    candidates = [*HIDDEN, *(path for path in limits.unreadable if not os.path.isdir(path))]
    if limits.sockets != _EVERYWHERE:
        candidates += _other_sockets(limits)
    # Not ``Path.exists``: it raises where the user may not look, as below /run/containerd.
    return [path for path in dict.fromkeys(candidates) if os.path.exists(path)]


def _other_sockets(limits: _Limits) -> Iterator[str]:
    """Yield the open sockets that the policy does not name, and that no hidden folder contains."""
    own = () if limits.proxy is None or limits.proxy.socket is None else (limits.proxy.socket,)
    covered = (*limits.sockets, *map(str, (*NAME_SERVICES, *own)), *limits.unreadable)
    for name in listed_sockets(SOCKETS.read_text("utf-8", "replace")):
        real = os.path.realpath(name)
        if not _is_in(real, covered):
            yield real


def listed_sockets(table: str) -> list[str]:
    """Return the paths in ``/proc/net/unix``; names that begin with @ are not files."""
    rows = (line.split(maxsplit=7) for line in table.splitlines()[1:])
    return [row[7] for row in rows if len(row) == 8 and row[7].startswith("/")]


def _launcher(limits: _Limits, support: SandboxSupport) -> tuple[str, ...]:
    values = {
        "cwd": limits.cwd,
        "writable": limits.writable,
        "mounts": [*_mounts(limits)],
        "hidden": _hidden(limits),
        "empty": [path for path in limits.unreadable if os.path.isdir(path)],
        "processes": support.separates_processes,
        "network": limits.network,
        "namespaces": support.mechanism == "namespaces",
        "landlock": support.landlock > 0,
    }
    return sys.executable, "-I", "-S", str(LAUNCHER), json.dumps(values)


def _bubblewrap(program: str, limits: _Limits) -> tuple[str, ...]:
    # Users and processes of its own: with the same ones, root inside could remount everything, and
    # /proc/PID/root of a process outside would lead out.
    arguments = [program, "--die-with-parent", "--unshare-user", "--unshare-pid", "--unshare-ipc"]
    mounts = dict(_mounts(limits))
    root_bind = "--bind" if mounts.pop("/", False) else "--ro-bind"
    arguments += ("--cap-drop", "ALL", root_bind, "/", "/", "--dev", "/dev", "--proc", "/proc")
    arguments += ("--ro-bind", "/sys", "/sys")
    for name in KERNEL_FILES:
        arguments += ("--ro-bind-try", f"/proc/{name}", f"/proc/{name}")
    for path, is_writable in mounts.items():
        arguments += ("--bind" if is_writable else "--ro-bind", path, path)
    for path in limits.unreadable:
        if os.path.isdir(path):
            arguments += ("--tmpfs", path, "--remount-ro", path)
    for hidden in _hidden(limits):
        arguments += ("--ro-bind", "/dev/null", hidden)
    if not limits.network:
        arguments.append("--unshare-net")
    return (*arguments, "--chdir", limits.cwd, "--")


def _mounts(limits: _Limits) -> Iterator[tuple[str, bool]]:
    """Yield what has to be a mount of its own and whether it is writable, outer folders first."""
    modes = dict.fromkeys(limits.writable, True) | dict.fromkeys(limits.protected, False)
    for path in sorted({*modes, *_pinned(limits)}):
        yield path, next(modes[root] for root in (path, *_parents(path)) if root in modes)


def _pinned(limits: _Limits) -> Iterator[str]:
    """Yield the folders between a writable path and one inside that has other rules.

    A mount cannot be renamed. Without this, ``mv .git x`` would move protected files away, and for
    a project in a temporary folder ``mv`` and ``ln -s`` would choose what the next command may
    change.
    """
    parents = {
        parent
        for path in (*limits.writable, *limits.protected, *limits.unreadable)
        for parent in _parents(path)
    }
    for parent in parents:
        if _is_below(parent, limits.writable):
            yield parent


def _parents(path: str) -> Iterator[str]:
    """Yield the folders above an absolute path, the nearest first."""
    while path != "/":
        path = path.rpartition("/")[0] or "/"
        yield path


def seatbelt_profile(policy: SandboxPolicy) -> str:
    """Return the profile for ``sandbox-exec``; later rules win."""
    return _seatbelt_profile(_unresolved_limits(policy))


def _unresolved_limits(policy: SandboxPolicy) -> _Limits:
    """Return the policy with its paths as they are."""
    return _Limits(
        cwd=str(policy.cwd),
        writable=tuple(map(str, policy.writable)),
        protected=tuple(map(str, policy.protected)),
        unreadable=tuple(map(str, policy.unreadable)),
        sockets=tuple(map(str, policy.sockets)),
        network=policy.network,
        proxy=policy.proxy,
    )


def _seatbelt_profile(limits: _Limits) -> str:
    lines = [
        "(version 1)",
        "(allow default)",
        "(deny file-write*)",
        '(allow file-write* (literal "/dev/null") (literal "/dev/zero") (literal "/dev/tty")'
        ' (literal "/dev/ptmx") (regex #"^/dev/ttys[0-9]+$"))',
    ]
    roots = {*limits.writable, *limits.protected}
    mounts = [*_mounts(limits)]
    for path, is_writable in mounts:
        if path in roots:
            verb = "allow" if is_writable else "deny"
            lines.append(f"({verb} file-write* (subpath {_quoted(path)}))")
    lines += [
        f"(deny file-write-unlink (literal {_quoted(path)}))"
        for path, is_writable in mounts
        if path not in roots or (is_writable and _is_below(path, limits.writable))
    ]
    lines += [f"(deny file-read* (subpath {_quoted(path)}))" for path in limits.unreadable]
    if not limits.network:
        lines.append("(deny network*)")
    if not limits.network and limits.proxy is not None:
        lines.append(f'(allow network-outbound (remote ip "localhost:{limits.proxy.port}"))')
    return "\n".join(lines)


def _is_below(path: str, roots: Iterable[str]) -> bool:
    return _is_in(path, [root for root in roots if root != path])


def _quoted(path: str) -> str:
    text = path.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{text}"'
