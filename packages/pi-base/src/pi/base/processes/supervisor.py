"""Processes between pi and its commands that outlive pi long enough to end the commands.

pi ── supervisor ── reaper ── command ── what the command starts
                 └─ reaper ── command ── …

pi starts one *supervisor* with its first command, as an interpreter that has loaded nothing but
this file and ``tree.py``. Forking that takes half a millisecond; forking pi would take ten, and
pi has threads. For each command there is one *reaper*, forked by the supervisor before it is
needed. It starts the command, reports its start and its end, and lives as long as anything that
descends from the command.

Two properties of a reaper replace every guess about who started what:

* It is a *child subreaper* (Linux): a descendant that loses its parent becomes its child. Whatever
  a daemon does to its session, its group or its environment, it stays below the reaper, and the
  reaper of another command, or the program into which pi is embedded, never sees it.
* It holds the other end of a socket to pi. The kernel closes pi's end when pi ends, however it
  ends. Then the reaper sends SIGTERM to everything below it, and kills the rest after a second.

A direct child of a reaper keeps its id until the reaper waits for it, so that signals to it reach
no stranger; deeper descendants are compared by their start time (``tree.send``).

A reaper may be killed itself. Then the command falls to the supervisor, which is a subreaper too
and kills what it adopts. (``PR_SET_PDEATHSIG`` would not do for any of this: it reaches direct
children only, set-user-id programs clear it, and in pi it would be bound to the thread that
started the command.) Where there are no subreapers, descendants are found by
``tree.ProcessTree``.

pi sends, for each command, one byte with a socket, which the reaper that waits takes; then on that
socket the length of a request, the request (``marshal``) with the three streams, and later
``ASK_TO_END``, ``INTERRUPT`` or ``KILL``. The reaper answers in frames (``FRAME``); the end of the
stream means that nothing is left.
"""

from __future__ import annotations

# ruff: noqa: SIM105
# ``socket``, ``signal`` and ``contextlib`` load ``enum`` and ``collections``. Without those the
# first command starts 15 ms earlier, and every fork has fewer pages to copy.
import _signal as signal  # type: ignore[import-not-found]
import _socket as socket
import errno
import gc
import marshal
import os
import select
import struct
import sys
import time

TYPE_CHECKING = False  # see tree.py
if TYPE_CHECKING:
    from collections.abc import Callable
    from types import ModuleType
    from typing import Any, NoReturn

    from pi.base.processes.tree import ProcessInfo, ProcessTree

    Request = tuple[list[bytes], dict[bytes, bytes], bytes, str]
    """Arguments, variables, working directory, marker."""

FRAME = struct.Struct("!ci")
LENGTH = struct.Struct("!I")
READY, STARTED, FAILED, ENDED, KILLING = b"r", b"s", b"f", b"e", b"k"
"""Kinds of frames: id of the reaper; id of the command; errno; exit code, -n for signal n; 0."""
ASK_TO_END, INTERRUPT, KILL = b"T", b"I", b"K"
GRACE = 1.0
"""Seconds between SIGTERM and SIGKILL when pi is gone."""
LOST, PI_IS_GONE = 127, 3
"""Exit codes of a reaper that has failed, and of one that will get no request any more."""

_SET_NAME, _SET_SUBREAPER = 15, 36
_IGNORED = signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT
_READ_SIZE = 65536
_FIRST_PAUSE, _MAX_PAUSE = 0.001, 5.0
"""Seconds between two attempts to kill: processes of other users or stuck in the kernel stay."""


def main(tree: ModuleType, *, adopts: bool) -> int:
    """Serve requests on file descriptor 0 until pi is gone and all commands have ended."""
    prctl = _find_prctl() if adopts else None
    # They end when pi ends. A signal to everything that belongs to pi must not end them before they
    # have ended the commands.
    before = {number: signal.signal(number, signal.SIG_IGN) for number in _IGNORED}
    # Signals that were ignored when pi was started (nohup) are ignored by its commands too. Python
    # itself ignores the other two.
    defaults = [int(number) for number, handler in before.items() if handler != signal.SIG_IGN]
    defaults += [int(signal.SIGPIPE), int(signal.SIGXFSZ)]
    requests = socket.socket(fileno=os.dup(0))
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)  # no stream of a command may get this number
    gc.disable()  # a collection would copy every page shared with the reapers
    return Supervisor(requests, tree, prctl, defaults).run()


def _find_prctl() -> Callable[..., int] | None:
    """Return Linux's ``prctl``, if this process can become a child subreaper."""
    if not sys.platform.startswith("linux"):
        return None
    try:
        import ctypes  # lazy: missing from a Python built without libffi

        prctl: Callable[..., int] = ctypes.CDLL(None).prctl
        if prctl(_SET_SUBREAPER, 1, 0, 0, 0) != 0:
            return None
        prctl(_SET_NAME, b"pi-supervisor", 0, 0, 0)
    except (ImportError, OSError, AttributeError):
        return None
    return prctl


def _wake_on_child() -> int:
    """Return a file descriptor that becomes readable when a child has ended."""
    reader, writer = os.pipe()
    os.set_blocking(reader, False)
    os.set_blocking(writer, False)
    signal.set_wakeup_fd(writer, warn_on_full_buffer=False)
    signal.signal(signal.SIGCHLD, lambda *_: None)
    return reader


class Supervisor:
    """Keeps one reaper ready for the next command, and ends what a killed reaper has left."""

    def __init__(
        self,
        requests: socket.socket,
        tree: ModuleType,
        prctl: Callable[..., int] | None,
        defaults: list[int],
    ) -> None:
        self._requests = requests
        self._tree = tree
        self._prctl = prctl
        self._defaults = defaults
        self._is_serving = True
        self._spare = 0
        """The reaper that waits for a request."""
        self._reapers: set[int] = set()
        """All reapers, including the spare one."""
        self._has_strays = False
        self._pause = _FIRST_PAUSE

    def run(self) -> int:
        """Run until the last reaper has ended after pi."""
        wake = _wake_on_child()
        # The spare reaper writes a byte when it gets a request: it is in use from then on.
        used_reader, used_writer = os.pipe()
        while self._is_serving or self._reapers or self._has_strays:
            if self._is_serving and not self._spare:
                self._fork(wake, used_reader, used_writer)
            pause = self._pause if self._has_strays else None
            ready = select.select([wake, used_reader], [], [], pause)[0]
            if wake in ready:
                os.read(wake, _READ_SIZE)
            if used_reader in ready:
                os.read(used_reader, 1)
                self._spare = 0
            self._reap()
        return 0

    def _fork(self, wake: int, used_reader: int, used_writer: int) -> None:
        """Fork a reaper in advance: before the next command, not with it."""
        try:
            pid = os.fork()
        except OSError:  # too many processes
            # closing it reports the failure to pi, also for a pending request
            self._requests.close()
            self._is_serving = False
            return
        if pid == 0:
            os.close(wake)
            os.close(used_reader)
            self._become_reaper(used_writer)
        self._spare = pid
        self._reapers.add(pid)

    def _become_reaper(self, used_writer: int) -> NoReturn:
        code = LOST
        try:
            reaper = Reaper(self._tree, self._prctl, self._defaults)
            descriptors = _receive_with_descriptors(self._requests, 1)[1]
            if descriptors:
                os.write(used_writer, b"+")
                os.close(used_writer)
                self._requests.close()
                reaper.run(socket.socket(fileno=descriptors[0]))
            else:
                # A command may have stopped the supervisor and its own reaper. They share our
                # process group; commands have groups of their own.
                os.killpg(0, signal.SIGCONT)
            code = 0 if descriptors else PI_IS_GONE
        finally:
            os._exit(code)

    def _reap(self) -> None:
        try:
            while (changed := os.waitpid(-1, os.WNOHANG | os.WUNTRACED))[0]:
                pid, status = changed
                # stopped by its command: it would not see that pi is gone
                if os.WIFSTOPPED(status):
                    os.kill(pid, signal.SIGCONT)
                else:
                    self._note_end(pid, os.waitstatus_to_exitcode(status))
        except ChildProcessError:
            pass
        if self._has_strays:
            table: dict[int, ProcessInfo] = self._tree.processes()
            strays = [
                process
                for process in table.values()
                if process.parent == os.getpid() and process.pid not in self._reapers
            ]
            for process in strays:
                self._tree.send(process, signal.SIGKILL)
            self._has_strays = bool(strays)
            self._pause = min(self._pause * 2, _MAX_PAUSE) if strays else _FIRST_PAUSE

    def _note_end(self, pid: int, code: int) -> None:
        self._reapers.discard(pid)
        if pid == self._spare:
            self._spare = 0
        if code == PI_IS_GONE:
            self._is_serving = False
        elif code != 0:  # a reaper was killed: its adopted children are ours now
            self._has_strays = True


def _candidates(program: bytes, env: dict[bytes, bytes]) -> list[bytes]:
    """Return the files that a program name may mean, in the shell's search order."""
    if b"/" in program:
        return [program]
    folders = env.get(b"PATH", os.defpath.encode()).split(b":")
    paths = [folder + b"/" + program if folder else program for folder in folders]
    return [path for path in paths if os.path.exists(path)]  # noqa: PTH110 - see tree.py


def _receive_with_descriptors(source: socket.socket, size: int) -> tuple[bytes, list[int]]:
    """Return bytes and the file descriptors that came with them: three at most."""
    data, messages, _, _ = source.recvmsg(size, socket.CMSG_SPACE(3 * 4))
    descriptors: list[int] = []
    for level, kind, content in messages:
        if (level, kind) == (socket.SOL_SOCKET, socket.SCM_RIGHTS):
            descriptors += struct.unpack(f"{len(content) // 4}i", content)
    for descriptor in descriptors:
        os.set_inheritable(descriptor, False)  # noqa: FBT003
    return data, descriptors


def _length(received: bytes) -> int:
    return int(LENGTH.unpack_from(received)[0])


class Reaper:
    """Runs one command, and ends with the last process that descends from it."""

    _control: socket.socket

    def __init__(
        self,
        tree: ModuleType,
        prctl: Callable[..., int] | None,
        defaults: list[int],
    ) -> None:
        self._tree = tree
        self._prctl = prctl
        self._defaults = defaults
        self._supervisor = os.getppid()
        self._wake = _wake_on_child()
        self._root = 0
        self._has_ended = False
        self._process_tree: ProcessTree | None = None
        """Finds descendants where they are not adopted."""
        self._kill_at: float | None = None
        self._pause = _FIRST_PAUSE
        if prctl is not None:
            prctl(_SET_SUBREAPER, 1, 0, 0, 0)
            prctl(_SET_NAME, b"pi-reaper", 0, 0, 0)

    def run(self, control: socket.socket) -> None:
        """Start the command that pi requests, and return when nothing of it is left."""
        self._control = control
        request = self._receive()
        if request is None:
            return  # pi is gone already
        (command, env, cwd, marker), streams, orders = request
        self._send(READY, os.getpid())  # first: the command may stop us before we can send more
        code = self._start(command, env, cwd, streams)
        if code:
            self._send(FAILED, code)
            return
        if self._prctl is None:
            self._process_tree = self._tree.ProcessTree(self._root, marker)
        self._send(STARTED, self._root)
        self._obey(orders)
        sources: list[Any] = [self._wake, self._control]
        while self._reap():
            ready = select.select(sources, [], [], self._until_next())[0]
            if self._wake in ready:
                os.read(self._wake, _READ_SIZE)
            if self._control in ready:
                orders = self._read_orders()
                self._obey(orders)
                if not orders:
                    sources.remove(self._control)
                    self._on_pi_exit()

    def _receive(self) -> tuple[Request, list[int], bytes] | None:
        """Return the request, its streams and later orders; ``None`` if pi is gone."""
        received, streams = _receive_with_descriptors(self._control, _READ_SIZE)
        start = LENGTH.size
        while len(received) < start or len(received) < (end := start + _length(received)):
            data = self._control.recv(_READ_SIZE)
            if not data:
                return None
            received += data
        return marshal.loads(received[start:end]), streams, received[end:]

    def _start(
        self, command: list[bytes], env: dict[bytes, bytes], cwd: bytes, streams: list[int]
    ) -> int:
        """Start the command; returns 0 or the errno."""
        actions = [(os.POSIX_SPAWN_DUP2, stream, number) for number, stream in enumerate(streams)]
        code = errno.ENOENT
        try:
            os.chdir(cwd)
            for path in _candidates(command[0], env):
                try:
                    self._root = self._spawn(path, command, env, actions)
                    return 0
                except OSError as error:
                    code = error.errno or errno.ENOEXEC
        except OSError as error:  # the directory is missing
            code = error.errno or errno.ENOENT
        finally:
            os.chdir("/")
            for stream in streams:
                os.close(stream)
        return code

    def _spawn(
        self, path: bytes, command: list[bytes], env: dict[bytes, bytes], actions: list[Any]
    ) -> int:
        # Not fork and exec: what Python does between them takes two milliseconds.
        options: dict[str, Any] = {"file_actions": actions, "setsigdef": self._defaults}
        try:
            return os.posix_spawn(path, command, env, setsid=True, **options)
        except NotImplementedError:  # an old macOS; we have no terminal that it could lose
            return os.posix_spawn(path, command, env, setpgroup=0, **options)

    def _send(self, kind: bytes, number: int = 0) -> None:
        try:
            self._control.sendall(FRAME.pack(kind, number))
        except OSError:
            pass  # pi is gone; the loop sees that too

    def _read_orders(self) -> bytes:
        try:
            return self._control.recv(_READ_SIZE)
        except OSError:
            return b""

    def _obey(self, orders: bytes) -> None:
        """Execute orders from pi."""
        if KILL in orders:
            self._send(KILLING)
            self._kill_at, self._pause = time.monotonic(), _FIRST_PAUSE
        elif ASK_TO_END in orders:
            self._signal(signal.SIGTERM)
        elif INTERRUPT in orders and not self._has_ended:
            try:
                os.killpg(self._root, signal.SIGINT)
            except OSError:
                pass  # it has just ended

    def _on_pi_exit(self) -> None:
        if os.getppid() == self._supervisor:  # it may have been stopped too
            os.kill(self._supervisor, signal.SIGCONT)
        if self._kill_at is None:
            self._signal(signal.SIGTERM)
            self._kill_at, self._pause = time.monotonic() + GRACE, _FIRST_PAUSE

    def _until_next(self) -> float | None:
        """Kill if it is time for that; returns the seconds until the next call."""
        if self._kill_at is None:
            if self._process_tree is None or not self._has_ended:
                return None  # the kernel reports every end that matters
        elif (remaining := self._kill_at - time.monotonic()) > 0:
            return remaining
        else:
            self._signal(signal.SIGKILL)
        self._pause = min(self._pause * 2, _MAX_PAUSE)
        return self._pause

    def _signal(self, number: int) -> None:
        members: list[ProcessInfo]
        if self._process_tree is not None:
            members = self._process_tree.members()
        else:
            members = self._tree.descendants(self._tree.processes(), (os.getpid(),))
        group = None if self._has_ended else self._root
        self._tree.signal_all(members, number, group=group)

    def _reap(self) -> bool:
        """Reap ended children; returns whether anything is left."""
        try:
            while True:
                pid, status = os.waitpid(-1, os.WNOHANG)
                if pid == 0:
                    return True
                if pid == self._root:
                    self._has_ended = True
                    self._send(ENDED, os.waitstatus_to_exitcode(status))
        except ChildProcessError:
            if self._process_tree is None:
                return False
        self._process_tree.is_reaped = True
        return bool(self._process_tree.members())
