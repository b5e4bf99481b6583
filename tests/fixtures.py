"""Fixtures for every test: isolation, and tools that may not be on this machine."""

from __future__ import annotations

import gc
import ipaddress
import os
import re
import shutil
import signal
import socket
import sys
from collections import Counter
from collections.abc import Callable, Generator, Iterator
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest
from hypothesis import settings

from tests import keywords
from tests.bounded import LoopWatchdog

settings.register_profile("quick", deadline=None, print_blob=True, max_examples=10)
settings.register_profile("pi", deadline=None, print_blob=True, max_examples=20)
settings.register_profile("full", deadline=None, print_blob=True, max_examples=500)
settings.load_profile("pi")

DISCARDED = ipaddress.ip_network("100::/64")
"""The discard prefix: packets to it are dropped (RFC 6666)."""
ROOT = Path(__file__).resolve().parent.parent


def pytest_addoption(parser: pytest.Parser) -> None:
    """Options of ``scripts/check.py``."""
    parser.addoption("--full", action="store_true", help="run tests marked full, too")
    parser.addoption("--failures", help="write the tests that failed into this file")
    parser.addoption("--one-each", action="append", default=[], help="run one test of this file")


def pytest_configure(config: pytest.Config) -> None:
    """Let started programs have the default signal handling, however the tests were started.

    ``nohup`` ignores SIGHUP and a shell's background job SIGINT and SIGQUIT, and programs inherit
    what is ignored. A handler is not inherited, and these tests still survive the signal.
    """
    # pytest would make the parent of a test module itself, with one folder instead of all.
    if find_spec("tests.batteries") is not None:
        import_module("tests.batteries")
    for name in ("SIGHUP", "SIGINT", "SIGQUIT", "SIGTERM"):
        number = getattr(signal, name, None)
        if number is not None and signal.getsignal(number) is signal.SIG_IGN:
            signal.signal(number, lambda number, frame: None)
    keywords.register(config)
    if config.getoption("--failures") and not hasattr(config, "workerinput"):
        config.pluginmanager.register(FailureNames(config))


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """Collect without collecting garbage: 19,000 tests and what they import stay to the end.

    Frozen, they are not walked again each time a test makes garbage.
    """
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.enable()


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave out what is only for ``./test --full``, and all but one test of sampled files."""
    sampled, seen = {ROOT / path for path in config.getoption("--one-each")}, set()
    kept, left_out = [], []
    for item in items:
        is_full = item.get_closest_marker("full") is not None
        repeats = item.path in sampled and item.path in seen
        if (is_full and not config.getoption("--full")) or repeats:
            left_out.append(item)
        else:
            kept.append(item)
            if item.get_closest_marker("slow") is None:
                seen.add(item.path)
    # The longest first: otherwise one of them, such as a soak, is alone at the end.
    items[:] = sorted(kept, key=_time_limit, reverse=True)
    if left_out:
        config.hook.pytest_deselected(items=left_out)


def _time_limit(item: pytest.Item) -> float:
    """Seconds that the test has been given, 0 if it has the usual limit."""
    mark = item.get_closest_marker("timeout")
    return float(mark.args[0]) if mark is not None and mark.args else 0.0


class FailureNames:
    """Prints the name of a test as soon as it fails: a whole run takes up to an hour."""

    def __init__(self, config: pytest.Config) -> None:
        self._config = config

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        reporter = self._config.pluginmanager.get_plugin("terminalreporter")
        if report.failed and reporter is not None:
            reporter.write_line(f"\nfailed: {report.nodeid}")


def pytest_terminal_summary(terminalreporter: Any, config: pytest.Config) -> None:
    """Write a line for every test that failed: how it is marked, a tab, its name."""
    if not (path := config.getoption("--failures")):
        return
    failed = [*terminalreporter.getreports("failed"), *terminalreporter.getreports("error")]
    lines = {
        f"{'timing' if 'timing' in report.keywords else 'plain'}\t{report.nodeid}"
        for report in failed
        if hasattr(report, "keywords")
    }
    Path(path).write_text("".join(f"{line}\n" for line in sorted(lines)))


class TemporaryFolders:
    """Makes empty folders without looking at those that are there.

    pytest lists all of them for each new one: milliseconds for each test after some thousand.
    """

    def __init__(self, base: Path) -> None:
        self._base = base
        self._made: Counter[str] = Counter()

    def make(self, name: str) -> Path:
        while True:
            folder = self._base / f"{name}{self._made[name]}"
            self._made[name] += 1
            try:
                folder.mkdir(mode=0o700)
            except FileExistsError:  # another name that ends with a number
                continue
            return folder


@pytest.fixture(scope="session")
def temporary_folders(tmp_path_factory: pytest.TempPathFactory) -> TemporaryFolders:
    """The folders of the tests of a worker."""
    return TemporaryFolders(tmp_path_factory.getbasetemp())


@pytest.fixture
def tmp_path(temporary_folders: TemporaryFolders, request: pytest.FixtureRequest) -> Path:
    """An empty folder for the test, named as that of pytest."""
    return temporary_folders.make(re.sub(r"\W", "_", request.node.name)[:30])


@pytest.fixture(autouse=True)
def isolation(temporary_folders: TemporaryFolders, monkeypatch: pytest.MonkeyPatch) -> None:
    """No test sees the developer's home, credentials or proxy, or fetches a model."""
    home = temporary_folders.make("home")
    for name in list(os.environ):
        upper = name.upper()
        if upper.startswith("PI_") or upper.endswith(("_API_KEY", "_TOKEN", "_PROXY")):
            monkeypatch.delenv(name)
    monkeypatch.setenv("HOME", str(home))
    if values := sys.modules.get("pi.ai.auth.config_values"):
        values._used.clear()  # a key of one test is an ordinary word in another
    monkeypatch.setenv("PI_NO_LOCAL", "1")  # nothing is fetched because a test has no key


class OutsideNetwork(Exception):
    """A test tried to connect to another machine."""


@pytest.fixture(autouse=True)
def attempts(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[str]]:
    """What the test tried to reach outside of this machine, which makes it fail at its end.

    An error alone would not do: the code that is tested turns it into an answer that failed.
    """
    reached: list[str] = []
    connect, connect_ex = socket.socket.connect, socket.socket.connect_ex
    resolve = socket.getaddrinfo

    def checked(target: Any) -> Any:
        if not stays_here(target):
            reached.append(str(target))
            raise OutsideNetwork(f"{target} is not this machine")
        return target

    def look_up(
        host: Any, port: Any, family: int = 0, type: int = 0, proto: int = 0, flags: int = 0
    ) -> Any:
        if not flags & socket.AI_NUMERICHOST:  # which needs no request
            checked(host)
        return resolve(host, port, family, type, proto, flags)

    def dial(plain: socket.socket, address: Any) -> None:
        connect(plain, checked(address))

    def try_to_dial(plain: socket.socket, address: Any) -> int:
        return connect_ex(plain, checked(address))

    monkeypatch.setattr(socket.socket, "connect", dial)
    monkeypatch.setattr(socket.socket, "connect_ex", try_to_dial)
    monkeypatch.setattr(socket, "getaddrinfo", look_up)
    yield reached
    if reached:
        pytest.fail(
            f"The test tried to reach {', '.join(reached)}. Tests use nothing but 127.0.0.1, ::1 "
            "and Unix sockets: start a server on one of them, or give a scripted provider."
        )


def stays_here(target: object) -> bool:
    """Whether a host, or an address that begins with one, is this machine or the discard prefix."""
    host = target[0] if isinstance(target, tuple) else target
    if isinstance(host, bytes):
        host = host.decode(errors="replace")
    if not isinstance(host, str) or "/" in host or host.startswith("\0"):
        return True  # no network, or a Unix socket
    try:
        address = ipaddress.ip_address(host.partition("%")[0])
    except ValueError:
        return _is_no_name(host)
    return address.is_loopback or address.is_unspecified or address in DISCARDED


def _is_no_name(host: str) -> bool:
    """Whether ``host`` is never sent to a name server, or is unknown to every name server."""
    try:
        host.encode("idna")
    except UnicodeError:
        return True
    return host in ("", "localhost") or host.endswith(".invalid")


@pytest.fixture
def program() -> Callable[[str, str], str]:
    """The path of a program by name; skips the test with what was not tested if it is missing."""

    def find(name: str, what: str) -> str:
        if path := shutil.which(name):
            return path
        pytest.skip(f"{name} is not installed; not tested: {what}")

    return find


@pytest.fixture
def watchdog() -> Iterator[LoopWatchdog]:
    """Fails the test at its end if a callback has held the event loop for too long."""
    with LoopWatchdog() as measuring:
        yield measuring
    measuring.check()


@pytest.fixture(scope="session")
def root() -> Path:
    """The checkout."""
    return ROOT
