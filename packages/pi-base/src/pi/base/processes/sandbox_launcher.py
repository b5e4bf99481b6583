"""Runs a command inside a sandbox; the program of the child process, started by its path.

``python -I -S sandbox_launcher.py POLICY COMMAND…`` restricts itself as the JSON in POLICY says and
becomes the command. It imports nothing of pi. Whatever fails, the command is not run: the reason is
written to standard error and the exit code is 125. ``sandbox.py`` describes what is restricted.
"""

from __future__ import annotations

import ctypes
import errno
import json
import os
import signal
import socket
import stat
import struct
import sys
from typing import Any

FAILED = 125

NEWNS, NEWIPC, NEWUSER = 0x20000, 0x8000000, 0x10000000
NEWPID, NEWNET = 0x20000000, 0x40000000
MS_BIND, MS_REC, MS_PRIVATE = 4096, 16384, 1 << 18
AT_RECURSIVE, AT_FDCWD, MOUNT_RDONLY = 0x8000, -100, 1
MOUNT_SETATTR = 442
LANDLOCK_CREATE, LANDLOCK_ADD, LANDLOCK_RESTRICT = 444, 445, 446
MS_READ_ONLY, MS_NOSUID, MS_NODEV, MS_NOEXEC = 1, 2, 4, 8
PR_SET_PDEATHSIG, PR_CAPBSET_DROP, PR_SET_NO_NEW_PRIVS = 1, 24, 38
KEPT_CAPABILITIES = (1 << 0) | (1 << 1) | (1 << 3) | (1 << 4) | (1 << 6) | (1 << 7)
"""CHOWN, DAC_OVERRIDE, FOWNER, FSETID, SETGID, SETUID: root keeps them to use files of others."""

# Rights of Landlock that change something, by the version of the kernel's interface.
WRITE_FILE, REMOVE_DIR, REMOVE_FILE = 1 << 1, 1 << 4, 1 << 5
MAKE_ALL = sum(1 << bit for bit in range(6, 13))
REFER, TRUNCATE = 1 << 13, 1 << 14
SCOPES = 0b11
"""No signals to processes outside, and no abstract sockets of theirs."""

DEVICES = ("null", "zero", "full", "random", "urandom", "tty")
"""Devices that a command finds below ``/dev``; disks are not among them."""
WRITABLE_DEVICES = (*DEVICES, "ptmx", "pts", "shm")
KERNEL = (b"/proc", b"/sys")
"""Where root could tell the kernel which programs to run, outside of the sandbox."""
LINKS = {"fd": "/proc/self/fd", "stdin": "fd/0", "stdout": "fd/1", "stderr": "fd/2"}

libc = ctypes.CDLL(None, use_errno=True)


class Refused(Exception):
    """The kernel refused a restriction."""


def check(result: int, action: str) -> int:
    """Return ``result``; raises ``Refused`` with the error of the last call if it is negative."""
    if result < 0:
        raise Refused(f"{action}: {os.strerror(ctypes.get_errno())}")
    return result


def main(arguments: list[str]) -> None:
    """Restrict this process and run the command."""
    try:
        policy = json.loads(arguments[0])
        if policy.get("probe"):
            os.write(1, json.dumps(supported()).encode())
            return
        enter(policy)
        os.chdir(policy["cwd"])  # again: the directory we were in is outside of the new mounts
    except (Refused, OSError, KeyError, ValueError) as error:
        fail(f"the sandbox cannot be set up: {error}")
    try:
        os.execvpe(arguments[1], arguments[1:], os.environ)
    except OSError as error:
        fail(f"{arguments[1]}: {error.strerror}")


def fail(reason: str) -> None:
    """Write why the command is not run, and exit."""
    os.write(2, f"pi: {reason}\n".encode())
    os._exit(FAILED)


def supported() -> dict[str, Any]:
    """Return which mechanisms this kernel has, each tried in a process of its own."""
    return {
        "root": os.geteuid() == 0,
        "landlock": max(landlock_version(), 0),
        "namespaces": succeeds(lambda: enter_namespaces({"network": True})),
        "network": succeeds(lambda: enter_namespaces({"network": False})),
        "processes": succeeds(lambda: separate_processes({"network": True})),
    }


def succeeds(act: Any) -> bool:
    """Whether ``act`` does not fail in a child process."""
    pid = os.fork()
    if pid == 0:
        try:
            act()
        except BaseException:
            os._exit(1)
        os._exit(0)
    return os.waitpid(pid, 0)[1] == 0


def enter(policy: dict[str, Any]) -> None:
    """Restrict this process according to the policy."""
    if policy["namespaces"]:
        separate_processes(policy) if policy["processes"] else enter_namespaces(policy)
        arrange_mounts(policy)
        if not policy["network"]:
            raise_loopback()
    check(libc.prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), "no_new_privs")
    if policy["landlock"]:
        restrict_writes(policy)
    if policy["namespaces"]:
        drop_capabilities()


# Namespaces --------------------------------------------------------------------------------------


def separate_processes(policy: dict[str, Any]) -> None:
    """Enter new namespaces, also one of processes, in which the command cannot reach others.

    Root could otherwise change the limits of pi, which needs no capability. This process waits
    outside; its child is the first process inside, which ends with it and ends all others.
    """
    enter_namespaces(policy, also=NEWPID)
    if first := os.fork():
        exit_with(first)
    libc.prctl(PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
    flags = MS_NOSUID | MS_NODEV | MS_NOEXEC
    check(libc.mount(b"proc", b"/proc", b"proc", flags, None), "mount /proc")
    if command := os.fork():
        exit_with(command)


def exit_with(child: int) -> None:
    """Wait for a child process, and for all others until then, and exit as it did."""
    while True:
        pid, status = os.wait()
        if pid == child:
            code = os.waitstatus_to_exitcode(status)
            os._exit(code if code >= 0 else 128 - code)


def enter_namespaces(policy: dict[str, Any], *, also: int = 0) -> None:
    """Enter new mount and network namespaces; users other than root need one of users too."""
    uid, gid = os.geteuid(), os.getegid()
    flags = NEWNS | NEWIPC | also | (0 if policy["network"] else NEWNET)
    if uid != 0 or libc.unshare(flags) < 0:  # root in a container may lack the capability
        check(libc.unshare(flags | NEWUSER), "unshare")
        for name, text in (
            ("setgroups", "deny"),
            ("uid_map", f"{uid} {uid} 1"),
            ("gid_map", f"{gid} {gid} 1"),
        ):
            write(f"/proc/self/{name}", text)
    check(libc.mount(None, b"/", None, MS_REC | MS_PRIVATE, None), "make mounts private")
    set_read_only(b"/", clear=False, recursive=False, dry=True)


def write(path: str, text: str) -> None:
    """Write to a file of the kernel."""
    file = os.open(path, os.O_WRONLY)
    os.write(file, text.encode())
    os.close(file)


def arrange_mounts(policy: dict[str, Any]) -> None:
    """Make everything read-only but the writable paths, and in these the protected ones."""
    mounts = [(os.fsencode(path), is_writable) for path, is_writable in policy["mounts"]]
    for path, _ in mounts:  # outer folders are first
        bind(path)
    were_writable = writable_mounts()
    set_read_only(b"/", clear=False, recursive=True)
    for mount in were_writable:
        modes = [is_writable for path, is_writable in mounts if within(mount, path)]
        if modes and modes[-1] and not any(within(mount, path) for path in KERNEL):
            set_read_only(mount, clear=True, recursive=False)
    arrange_devices([path for path, _ in mounts])
    for path in policy["empty"]:
        mount_tmpfs(path, MS_READ_ONLY, "mode=555,size=4k")
    for path in policy["hidden"]:
        mounted = libc.mount(b"/dev/null", os.fsencode(path), None, MS_BIND, None)
        if mounted < 0 and ctypes.get_errno() == errno.ENOENT:
            continue  # a socket that another program has removed meanwhile
        check(mounted, f"hide {path}")


def arrange_devices(mounts: list[bytes]) -> None:
    """Replace ``/dev``: root could read disks there, and everyone the terminals of the user."""
    if any(within(path, b"/dev") and path != b"/dev" for path in mounts):
        return  # a project or temporary folder such as /dev/shm
    devices = [name for name in DEVICES if os.access(f"/dev/{name}", os.F_OK)]
    files = {name: os.open(f"/dev/{name}", os.O_PATH) for name in devices}
    mount_tmpfs("/dev", 0, "mode=755,size=4k")
    for name, file in files.items():
        path = f"/dev/{name}".encode()
        os.close(os.open(path, os.O_CREAT | os.O_WRONLY, 0o666))
        source = f"/proc/self/fd/{file}".encode()
        check(libc.mount(source, path, None, MS_BIND, None), f"mount /dev/{name}")
        os.close(file)
    os.mkdir("/dev/pts")
    os.mkdir("/dev/shm")
    terminals = b"newinstance,ptmxmode=0666,mode=620"
    mounted = libc.mount(b"devpts", b"/dev/pts", b"devpts", MS_NOSUID | MS_NOEXEC, terminals)
    check(mounted, "mount /dev/pts")
    mount_tmpfs("/dev/shm", 0, "mode=1777")
    os.symlink("pts/ptmx", "/dev/ptmx")
    for name, target in LINKS.items():
        os.symlink(target, f"/dev/{name}")
    set_read_only(b"/dev", clear=False, recursive=False)


def mount_tmpfs(path: str, flags: int, options: str) -> None:
    """Mount an empty folder onto a path."""
    flags |= MS_NOSUID | MS_NODEV
    data = options.encode()
    check(libc.mount(b"tmpfs", os.fsencode(path), b"tmpfs", flags, data), f"mount {path}")


def within(path: bytes, root: bytes) -> bool:
    """Whether ``path`` is ``root`` or below it."""
    return path == root or path.startswith(root.rstrip(b"/") + b"/")


def bind(path: bytes) -> None:
    """Mount a path onto itself, so that it has flags of its own."""
    check(libc.mount(path, path, None, MS_BIND | MS_REC, None), f"bind {os.fsdecode(path)}")


def writable_mounts() -> list[bytes]:
    """Return the mount points that are not read-only."""
    mount_points = []
    file = os.fdopen(os.open("/proc/self/mountinfo", os.O_RDONLY), "rb")
    with file:
        for line in file:
            fields = line.split()
            if b"ro" not in fields[5].split(b","):
                mount_points.append(fields[4].decode("unicode_escape").encode("latin-1"))
    return mount_points


def set_read_only(path: bytes, *, clear: bool, recursive: bool, dry: bool = False) -> None:
    """Set or clear the flag of a mount; ``dry`` only finds out whether the kernel can."""
    attributes = (0, MOUNT_RDONLY) if clear else (0 if dry else MOUNT_RDONLY, 0)
    data = struct.pack("QQQQ", *attributes, 0, 0)
    flags = AT_RECURSIVE if recursive else 0
    result = libc.syscall(MOUNT_SETATTR, AT_FDCWD, path, flags, data, ctypes.c_size_t(len(data)))
    check(result, f"set flags of {os.fsdecode(path)}")


def raise_loopback() -> None:
    """Bring up the loopback interface of the new network, which has no other."""
    import fcntl

    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as control:
        fcntl.ioctl(control, 0x8914, struct.pack("16sH22x", b"lo", 0x41))  # SIOCSIFFLAGS: up


def drop_capabilities() -> None:
    """Keep no capability that could undo the mounts."""
    kept_capabilities = KEPT_CAPABILITIES if os.geteuid() == 0 else 0
    for capability in range(64):
        if not kept_capabilities >> capability & 1:
            libc.prctl(PR_CAPBSET_DROP, capability, 0, 0, 0)
    header = struct.pack("Ii", 0x20080522, 0)
    low, high = kept_capabilities & 0xFFFFFFFF, kept_capabilities >> 32
    data = struct.pack("6I", low, low, 0, high, high, 0)
    check(libc.capset(header, data), "drop capabilities")


# Landlock ----------------------------------------------------------------------------------------


def landlock_version() -> int:
    """Return the version of the interface; 0 or less without Landlock."""
    return int(libc.syscall(LANDLOCK_CREATE, None, ctypes.c_size_t(0), 1))


def restrict_writes(policy: dict[str, Any]) -> None:
    """Allow changes only below the writable paths."""
    version = landlock_version()
    check(version, "Landlock")
    handled = WRITE_FILE | REMOVE_DIR | REMOVE_FILE | MAKE_ALL
    handled |= (REFER if version >= 2 else 0) | (TRUNCATE if version >= 3 else 0)
    attributes = struct.pack("QQQ", handled, 0, SCOPES if version >= 6 else 0)
    attributes = attributes[: 8 if version < 4 else 16 if version < 6 else 24]
    ruleset = check(
        libc.syscall(LANDLOCK_CREATE, attributes, ctypes.c_size_t(len(attributes)), 0), "Landlock"
    )
    for path in policy["writable"]:
        allow(ruleset, path, handled)
    for name in WRITABLE_DEVICES:
        if os.access(f"/dev/{name}", os.F_OK):
            allow(ruleset, f"/dev/{name}", handled)
    check(libc.syscall(LANDLOCK_RESTRICT, ruleset, 0), "Landlock")
    os.close(ruleset)


def allow(ruleset: int, path: str, rights: int) -> None:
    """Allow ``rights`` below ``path``."""
    file = os.open(path, os.O_PATH | os.O_CLOEXEC)
    if not stat.S_ISDIR(os.fstat(file).st_mode):
        rights &= WRITE_FILE | TRUNCATE
    rule = struct.pack("=Qi", rights, file)
    check(libc.syscall(LANDLOCK_ADD, ruleset, 1, rule, 0), f"allow {path}")
    os.close(file)


if __name__ == "__main__":
    main(sys.argv[1:])
