"""The folder of a batch: its options, tasks, results, patches and sessions.

=================  ==========================================================================
``batch.json``     the options; written by every run in the folder
``tasks.jsonl``    the tasks, so that a batch can be resumed without their file
``results.jsonl``  one row per attempt, appended and flushed; the last row of an id counts
``patches/``       the changes of each task
``sessions/``      session files
``spent.txt``      total cost in US dollars, including attempts that have no row yet
``work/``          folders of running tasks, removed when the tasks end
=================  ==========================================================================
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import Any, Literal, TypeAlias

import msgspec
from msgspec import field

from pi.base.files import access_error, private_directory, read_if_exists, replace_file
from pi.base.json_lines import encode_line
from pi.base.locks import FileLock, FileLocked
from pi.base.records import Record
from pi.batch.tasks import MAX_BYTES, BatchProblem, BatchTask, parse_tasks

Status: TypeAlias = Literal["done", "failed", "error", "timeout", "turns", "budget", "stopped"]
"""``failed``: the check failed; ``turns`` and ``budget``: the limit of the task is reached;
``stopped``: the budget of the batch is spent."""
SETTLED: frozenset[Status] = frozenset({"done", "failed"})
"""Statuses that a resumed batch does not run again; errors are not results."""
VERSION = 1
MANIFEST, TASKS, RESULTS, LOCK = "batch.json", "tasks.jsonl", "results.jsonl", "batch.lock"
SPENT = "spent.txt"


class BatchUsage(Record):
    """Tokens of all model calls of an attempt."""

    input: int = 0
    output: int = 0
    cache_read: int = 0
    cache_write: int = 0
    calls: int = 0


class BatchResult(Record):
    """The result of one attempt at a task: a row of ``results.jsonl``."""

    id: str
    status: Status
    attempt: int = 1
    answer: str = ""
    patch: str = ""
    """The changes, for ``git apply``. Large or binary ones are only in the file ``patchFile``."""
    patch_file: str | None = None
    usage: BatchUsage = BatchUsage()
    cost: float = 0.0
    """US dollars."""
    seconds: float = 0.0
    session: str | None = None
    """The session file, relative to the folder of the batch."""
    error: str | None = None
    model: str | None = None
    is_final: bool = field(default=False, name="final")
    """Whether another attempt in the same run would fail alike."""

    @property
    def is_settled(self) -> bool:
        """Whether a resumed batch skips the task."""
        return self.status in SETTLED


class BatchManifest(Record):
    """``batch.json``: version and options of a batch."""

    version: int = VERSION
    pi: str = ""
    options: dict[str, Any] = field(default_factory=dict)
    """Options of the command line, without credentials."""
    started: str = ""


class BatchFolder:
    """The folder of a batch, locked while a batch runs in it."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._file: int | None = None
        self._spent: int | None = None
        self._lock: FileLock | None = None

    def __enter__(self) -> BatchFolder:
        """Lock the folder and open the results for appending; raises ``BatchProblem`` if in use."""
        private_directory(self.path)
        lock = FileLock(self.path / LOCK)
        try:
            lock.__enter__()
        except FileLocked as error:
            raise BatchProblem(
                f"A batch is running in {self.path} already.",
                hint="Wait for it, or use another output folder.",
            ) from error
        self._lock = lock
        try:
            self._file = _open_results(self.path / RESULTS)
        except BaseException:
            self.__exit__(None, None, None)
            raise
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        for file in (self._file, self._spent):
            if file is not None:
                os.close(file)
        self._file = self._spent = None
        if self._lock is not None:
            self._lock.__exit__(None, None, None)
            self._lock = None

    def write_request(self, manifest: BatchManifest, tasks: Sequence[BatchTask]) -> None:
        """Write tasks and manifest. Raises ``BatchProblem`` if the folder has other tasks."""
        lines = b"".join(encode_line(msgspec.to_builtins(task)) for task in tasks)
        before = read_if_exists(self.path / TASKS, max_bytes=MAX_BYTES)
        if before is not None and before != lines:
            old = {task.id: task for task in parse_tasks(before, self.path).tasks}
            new = {task.id: task for task in tasks}
            if changed := [id for id in old if old[id] != new.get(id)]:
                raise BatchProblem(
                    f"{self.path} belongs to a batch with other tasks ({changed[0]!r} differs).",
                    hint="Use another output folder; new tasks may be added to a batch.",
                )
        replace_file(self.path / TASKS, lines)
        replace_file(
            self.path / MANIFEST, msgspec.json.format(msgspec.json.encode(manifest)) + b"\n"
        )

    def read_manifest(self) -> BatchManifest:
        """Read the manifest; raises ``BatchProblem`` for a folder without a batch."""
        data = read_if_exists(self.path / MANIFEST)
        if data is None:
            raise BatchProblem(f"{self.path} is not the folder of a batch: no {MANIFEST}.")
        try:
            manifest = msgspec.json.decode(data, type=BatchManifest)
        except msgspec.MsgspecError as error:
            raise BatchProblem(f"{self.path / MANIFEST} cannot be read: {error}") from error
        if manifest.version > VERSION:
            raise BatchProblem(f"{self.path} was written by a newer pi ({manifest.pi}).")
        return manifest

    def read_tasks(self) -> tuple[BatchTask, ...]:
        """Read the tasks; raises ``BatchProblem`` for a folder without a batch."""
        data = read_if_exists(self.path / TASKS, max_bytes=MAX_BYTES)
        if data is None:
            raise BatchProblem(f"{self.path} is not the folder of a batch: no {TASKS}.")
        return parse_tasks(data, self.path).tasks

    def results(self) -> list[BatchResult]:
        """Read all rows in order; damaged rows, for example after a crash, are skipped."""
        data = read_if_exists(self.path / RESULTS, max_bytes=8 * MAX_BYTES) or b""
        rows: list[BatchResult] = []
        for line in data.split(b"\n"):
            with suppress(msgspec.MsgspecError):
                rows += [_DECODER.decode(line)] if line.strip() else []
        return rows

    def append(self, rows: Sequence[BatchResult]) -> None:
        """Append rows and flush them to the disk; blocks."""
        assert self._file is not None, "the folder is not open"
        data = memoryview(b"".join(encode_line(msgspec.to_builtins(row)) for row in rows))
        size = os.fstat(self._file).st_size
        try:
            while data:
                data = data[os.write(self._file, data) :]
            os.fsync(self._file)
        except OSError as error:
            with suppress(OSError):  # on a full disk a part of the rows may have been written
                os.ftruncate(self._file, size)
            raise access_error("write", self.path / RESULTS, error) from error

    def spent(self) -> float:
        """Return the cost of all attempts, including those that a crash has ended."""
        rows = sum(row.cost for row in self.results())
        try:
            recorded = float(read_if_exists(self.path / SPENT) or 0.0)
        except ValueError:
            recorded = 0.0
        return max(rows, recorded)

    def note_spent(self, amount: float) -> None:
        """Record the total cost; cheap enough for every model call."""
        if self._spent is None:
            self._spent = _open(self.path / SPENT, os.O_RDWR | os.O_CREAT)
        with suppress(OSError):  # rows have the cost, too, and ``append`` reports a full disk
            os.lseek(self._spent, 0, os.SEEK_SET)
            os.write(self._spent, f"{amount:024.12f}\n".encode())


_DECODER = msgspec.json.Decoder(BatchResult)


def _open(path: Path, flags: int) -> int:
    try:
        return os.open(path, flags | getattr(os, "O_CLOEXEC", 0), 0o600)
    except OSError as error:
        raise access_error("open", path, error) from error


def _open_results(path: Path) -> int:
    """Open for appending; end a line that a crash cut off, so that the next line is valid."""
    file = _open(path, os.O_RDWR | os.O_CREAT | os.O_APPEND)
    try:
        size = os.fstat(file).st_size
        if size:
            os.lseek(file, size - 1, os.SEEK_SET)
            if os.read(file, 1) != b"\n":
                os.write(file, b"\n")
    except OSError as error:
        os.close(file)
        raise access_error("write", path, error) from error
    return file


def latest(rows: Iterable[BatchResult]) -> dict[str, BatchResult]:
    """Return the last row of each id, which is its result."""
    return {row.id: row for row in rows}


def attempts(rows: Iterable[BatchResult]) -> dict[str, int]:
    """Return the number of the last attempt of each id."""
    numbers: dict[str, int] = {}
    for row in rows:
        numbers[row.id] = max(numbers.get(row.id, 0), row.attempt)
    return numbers


def predictions(rows: Mapping[str, BatchResult], folder: Path, model: str) -> bytes:
    """Return the patches in the form of SWE-bench: one JSON object per line."""
    lines = []
    for row in rows.values():
        patch = row.patch
        if not patch and row.patch_file is not None:
            patch = (read_if_exists(folder / row.patch_file, max_bytes=MAX_BYTES) or b"").decode(
                "utf-8", "replace"
            )
        name = row.model or model
        lines.append({"instance_id": row.id, "model_name_or_path": name, "model_patch": patch})
    return b"".join(map(encode_line, lines))
