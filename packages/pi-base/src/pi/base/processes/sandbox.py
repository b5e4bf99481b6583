"""Sandboxes: commands that may write only where they should, enforced by the kernel.

Linux: ``bwrap`` if it is installed and works, else namespaces and Landlock of our own
(``sandbox_launcher.py``), else Landlock alone. macOS: ``sandbox-exec``. Writes outside fail in the
kernel. The network is switched off by a network namespace: Landlock alone cannot stop UDP. A policy
that the machine cannot enforce is refused; a command never runs with fewer restrictions.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Literal, TypeAlias

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
    if bwrap is not None and await _works(_bubblewrap(str(bwrap), _EMPTY), environ):
        return SandboxSupport(mechanism="bubblewrap", program=str(bwrap), cuts_network=True)
    return await _probe(environ)


_EMPTY = SandboxPolicy(cwd=Path("/"))


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
    policy, missing = _real(policy)
    if refusal := _explain_refusal(policy, support):
        raise SandboxUnavailable(
            f"The command cannot be sandboxed: {refusal}",
            hint="Install bubblewrap, or switch the sandbox off.",
        )
    match support.mechanism:
        case "bubblewrap":
            launch = _bubblewrap(support.program, policy)
        case "seatbelt":
            launch = (support.program, "-p", seatbelt_profile(policy))
        case _:
            launch = _launcher(policy, support)
    if (proxy := policy.proxy) is not None and proxy.socket is not None:
        relay = (sys.executable, "-I", "-S", str(RELAY), str(proxy.socket), str(proxy.port))
        launch = (*launch, *relay)
    return SandboxedCommand(arguments=(*launch, *command), unprotected=missing)


def _explain_refusal(policy: SandboxPolicy, support: SandboxSupport) -> str:
    if support.mechanism == "none":
        return support.reason or "this machine has no sandbox."
    if not policy.network and not support.cuts_network:
        return f"the network cannot be cut. {support.reason}"
    if support.mechanism == "landlock" and (lacking := _needs_mounts(policy)):
        return f"{lacking}. {support.reason}"
    if support.mechanism == "namespaces" and support.is_root and not support.landlock:
        return "without Landlock root could write to disks directly."
    return ""


def _needs_mounts(policy: SandboxPolicy) -> str:
    """Return what cannot be enforced without mounts; empty if everything can."""
    if policy.protected:
        return f"{policy.protected[0]} cannot be protected"
    if policy.unreadable:
        return f"{policy.unreadable[0]} cannot be hidden"
    return "" if policy.sockets == ALL_SOCKETS else "sockets cannot be hidden"


def _real(policy: SandboxPolicy) -> tuple[SandboxPolicy, tuple[Path, ...]]:
    """Return the policy with resolved paths that exist, and protected paths that do not.

    A protected link is followed: the kernel protects files, not names.
    """
    writable = tuple(dict.fromkeys(path.resolve() for path in policy.writable if path.exists()))
    folders: dict[Path, Path] = {}
    present, missing = [], []
    for path in dict.fromkeys(policy.protected):
        if path.exists():
            present.append(path.resolve())
        elif _is_in(_real_missing(path, folders), writable):
            missing.append(path)
    inside = [path for path in present if _is_in(path, writable)]
    real = replace(
        policy,
        cwd=policy.cwd.resolve(),
        writable=writable,
        protected=tuple(dict.fromkeys(inside)),
        unreadable=tuple(dict.fromkeys(_existing(policy.unreadable))),
        sockets=tuple(path.resolve() for path in policy.sockets),
    )
    return real, tuple(missing)


def _real_missing(path: Path, folders: dict[Path, Path]) -> Path:
    """Return where a missing path leads. Thirty of them share few ``folders``, which are resolved
    once: this runs for each command."""
    if path.is_symlink():
        return path.resolve()
    parent = path.parent
    if parent not in folders:
        folders[parent] = parent.resolve()
    return folders[parent] / path.name


def _is_in(path: Path, roots: Iterable[Path]) -> bool:
    # As text: each command compares a hundred paths, and ``is_relative_to`` parses both.
    text = f"{path}/"
    return any(text.startswith(f"{str(root).rstrip('/')}/") for root in roots)


def _existing(paths: Sequence[Path]) -> Iterator[Path]:
    """Yield the files and folders that exist, with links followed; none inside of another."""
    existing = {path.resolve() for path in paths if path.is_dir() or path.is_file()}
    for path in sorted(existing):
        if existing.isdisjoint(path.parents):
            yield path


def _hidden(policy: SandboxPolicy) -> list[str]:
    """Return the paths that ``/dev/null`` is mounted onto; those that exist and can be reached."""
    candidates = [*HIDDEN, *(str(path) for path in policy.unreadable if not path.is_dir())]
    if policy.sockets != ALL_SOCKETS:
        candidates += _other_sockets(policy)
    # Not ``Path.exists``: it raises where the user may not look, as below /run/containerd.
    return [path for path in dict.fromkeys(candidates) if os.path.exists(path)]  # noqa: PTH110


def _other_sockets(policy: SandboxPolicy) -> Iterator[str]:
    """Yield the open sockets that the policy does not name, and that no hidden folder contains."""
    own = () if policy.proxy is None or policy.proxy.socket is None else (policy.proxy.socket,)
    covered = (*policy.sockets, *NAME_SERVICES, *own, *policy.unreadable)
    for name in listed_sockets(SOCKETS.read_text("utf-8", "replace")):
        real = Path(os.path.realpath(name))
        if not any(real.is_relative_to(path) for path in covered):
            yield str(real)


def listed_sockets(table: str) -> list[str]:
    """Return the paths in ``/proc/net/unix``; names that begin with @ are not files."""
    rows = (line.split(maxsplit=7) for line in table.splitlines()[1:])
    return [row[7] for row in rows if len(row) == 8 and row[7].startswith("/")]


def _launcher(policy: SandboxPolicy, support: SandboxSupport) -> tuple[str, ...]:
    values = {
        "cwd": str(policy.cwd),
        "writable": [str(path) for path in policy.writable],
        "mounts": [[str(path), is_writable] for path, is_writable in _mounts(policy)],
        "hidden": _hidden(policy),
        "empty": [str(path) for path in policy.unreadable if path.is_dir()],
        "processes": support.separates_processes,
        "network": policy.network,
        "namespaces": support.mechanism == "namespaces",
        "landlock": support.landlock > 0,
    }
    return sys.executable, "-I", "-S", str(LAUNCHER), json.dumps(values)


def _bubblewrap(program: str, policy: SandboxPolicy) -> tuple[str, ...]:
    # Users and processes of its own: with the same ones, root inside could remount everything, and
    # /proc/PID/root of a process outside would lead out.
    arguments = [program, "--die-with-parent", "--unshare-user", "--unshare-pid", "--unshare-ipc"]
    mounts = dict(_mounts(policy))
    root_bind = "--bind" if mounts.pop(Path("/"), False) else "--ro-bind"
    arguments += ("--cap-drop", "ALL", root_bind, "/", "/", "--dev", "/dev", "--proc", "/proc")
    arguments += ("--ro-bind", "/sys", "/sys")
    for name in KERNEL_FILES:
        arguments += ("--ro-bind-try", f"/proc/{name}", f"/proc/{name}")
    for path, is_writable in mounts.items():
        arguments += ("--bind" if is_writable else "--ro-bind", str(path), str(path))
    for path in policy.unreadable:
        if path.is_dir():
            arguments += ("--tmpfs", str(path), "--remount-ro", str(path))
    for hidden in _hidden(policy):
        arguments += ("--ro-bind", "/dev/null", hidden)
    if not policy.network:
        arguments.append("--unshare-net")
    return (*arguments, "--chdir", str(policy.cwd), "--")


def _mounts(policy: SandboxPolicy) -> Iterator[tuple[Path, bool]]:
    """Yield what has to be a mount of its own and whether it is writable, outer folders first."""
    modes = dict.fromkeys(policy.writable, True) | dict.fromkeys(policy.protected, False)
    for path in sorted({*modes, *_pinned(policy)}):
        yield path, next(modes[root] for root in (path, *path.parents) if root in modes)


def _pinned(policy: SandboxPolicy) -> Iterator[Path]:
    """Yield the folders between a writable path and one inside that has other rules.

    A mount cannot be renamed. Without this, ``mv .git x`` would move protected files away, and for
    a project in a temporary folder ``mv`` and ``ln -s`` would choose what the next command may
    change.
    """
    for path in (*policy.writable, *policy.protected, *policy.unreadable):
        for parent in path.parents:
            if _is_below(parent, policy.writable):
                yield parent


def seatbelt_profile(policy: SandboxPolicy) -> str:
    """Return the profile for ``sandbox-exec``; later rules win."""
    lines = [
        "(version 1)",
        "(allow default)",
        "(deny file-write*)",
        '(allow file-write* (literal "/dev/null") (literal "/dev/zero") (literal "/dev/tty")'
        ' (literal "/dev/ptmx") (regex #"^/dev/ttys[0-9]+$"))',
    ]
    roots = {*policy.writable, *policy.protected}
    mounts = [*_mounts(policy)]
    for path, is_writable in mounts:
        if path in roots:
            verb = "allow" if is_writable else "deny"
            lines.append(f"({verb} file-write* (subpath {_quoted(path)}))")
    lines += [
        f"(deny file-write-unlink (literal {_quoted(path)}))"
        for path, is_writable in mounts
        if path not in roots or (is_writable and _is_below(path, policy.writable))
    ]
    lines += [f"(deny file-read* (subpath {_quoted(path)}))" for path in policy.unreadable]
    if not policy.network:
        lines.append("(deny network*)")
    if not policy.network and policy.proxy is not None:
        lines.append(f'(allow network-outbound (remote ip "localhost:{policy.proxy.port}"))')
    return "\n".join(lines)


def _is_below(path: Path, roots: Iterable[Path]) -> bool:
    return _is_in(path, [root for root in roots if root != path])


def _quoted(path: Path) -> str:
    text = str(path).replace("\\", "\\\\").replace('"', '\\"')
    return f'"{text}"'
