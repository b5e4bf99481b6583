"""``pi batch``: runs many tasks, each in a session of its own; resumes, reports, views."""

from __future__ import annotations

import os
import sys
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import aclosing
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, cast, get_args

from pi.ai.models.thinking_levels import ThinkingLevel
from pi.base.files import replace_file
from pi.base.terminal_text import one_line, sanitise
from pi.batch.driver import BatchOptions, BatchRun, Redo
from pi.batch.execution import Isolation, TaskLimits
from pi.batch.report import report_page, report_table
from pi.batch.results import BatchFolder, BatchManifest, BatchResult, latest, predictions
from pi.batch.tasks import BatchTask, UnreadableTask, file_names, read_tasks, select_tasks
from pi.cli.arguments import Arguments, UsageError, parse_arguments
from pi.cli.options import LEVELS
from pi.cli.session_setup import approval
from pi.cli.signals import run_until_signal
from pi.cli.standard_streams import print_error, rewrite_line
from pi.coding.runtime.embedding import AgentSessionOptions
from pi.coding.runtime.machine import Machine
from pi.version import __version__

DEFAULT_OUTPUT = "batch"
REPORT = "report.html"
FAILED, OVER_BUDGET = 1, 3
"""Exit codes; 3 also if tasks failed before the budget was spent."""
UNITS = {"": 1.0, "s": 1.0, "m": 60.0, "h": 3600.0}


def run(arguments: Arguments, environ: Mapping[str, str]) -> int:
    """Run ``pi batch`` and return the exit code."""
    output = Path(arguments.text("output") or DEFAULT_OUTPUT)
    match arguments.messages:
        case ("report",):
            return _print_report(output)
        case ("report", folder):
            return _print_report(Path(folder))
        case ("view", id):
            return _open_session(id, output, environ)
        case ("resume",):
            return _resume_folder(output, arguments)
        case ("resume", folder):
            return _resume_folder(Path(folder), arguments)
        case ("run", file) | (file,) if file != "run":
            return _run_file(Path(file), output, arguments)
    raise UsageError(
        "`pi batch` needs a file with tasks.",
        hint="`pi batch tasks.jsonl -o dir`; `pi batch --help` shows all forms.",
    )


def _run_file(file: Path, output: Path, arguments: Arguments) -> int:
    task_file = read_tasks(file)
    for line in task_file.unreadable:
        print_error(f"{file}:{line.line}: not run: {line.reason}")
    return _run_tasks(
        task_file.tasks,
        output,
        _read_manifest_options(arguments),
        arguments,
        unreadable=task_file.unreadable,
    )


def _resume_folder(output: Path, arguments: Arguments) -> int:
    folder = BatchFolder(output.absolute())
    before = folder.read_manifest().options
    return _run_tasks(
        folder.read_tasks(), output, {**before, **_read_manifest_options(arguments)}, arguments
    )


def _read_manifest_options(arguments: Arguments) -> dict[str, Any]:
    """Return the options that a resumed batch uses again."""
    once = {"help", "output", "dry_run", "redo", "filter", "slice", "shuffle"}
    once |= {"predictions", "atif"}
    options: dict[str, Any] = {
        name: list(value) if isinstance(value, tuple) else value
        for name, value in arguments.options.items()
        if name not in once
    }
    if "extension" in options:  # the batch may be resumed in another folder
        options["extension"] = [str(Path(path).absolute()) for path in options["extension"]]
    return options


def _run_tasks(
    tasks: Sequence[BatchTask],
    output: Path,
    manifest_options: dict[str, Any],
    arguments: Arguments,
    *,
    unreadable: Sequence[UnreadableTask] = (),
) -> int:
    batch = _read_batch_options(manifest_options, arguments)
    shuffle = arguments.text("shuffle")
    chosen = select_tasks(
        tasks,
        matching=arguments.text("filter"),
        part=arguments.text("slice"),
        shuffle=None if shuffle is None else _parse_whole_number(shuffle, "--shuffle"),
    )
    if tasks and not chosen:
        raise UsageError("No task is selected.", hint="Check --filter and --slice.")
    folder = BatchFolder(output.absolute())
    options = _read_session_options(manifest_options)
    names = file_names(task.id for task in tasks)
    work = folder.path / "work"
    if "dry_run" in arguments.options:
        planned = BatchRun(chosen, folder, batch, options, work=work, names=names)
        for task in planned.tasks:
            sys.stdout.write(f"{one_line(task.id)}\t{one_line(task.prompt)[:70]}\n")
        print_error(f"{len(planned.tasks)} tasks would run, {planned.skipped} are settled.")
        return 0
    with folder:
        started = datetime.now(UTC).isoformat(timespec="seconds")
        folder.write_request(
            BatchManifest(pi=__version__, options=manifest_options, started=started), tasks
        )
        planned = BatchRun(chosen, folder, batch, options, work=work, names=names)
        try:
            code = run_until_signal(_run_with_progress(planned))
        finally:
            rows = latest(folder.results())
            if (file := arguments.text("predictions")) is not None:
                name = str(manifest_options.get("model") or "pi")
                replace_file(Path(file), predictions(rows, folder.path, name), mode=None)
            if (target := arguments.text("atif")) is not None:
                _write_trajectories(Path(target), rows, folder.path, names)
    return code or _print_summary(chosen, rows, planned, output, unreadable=len(unreadable))


def _write_trajectories(
    target: Path, rows: Mapping[str, BatchResult], folder: Path, names: Mapping[str, str]
) -> None:
    """Write the session of the last attempt of each task as ``NAME.atif.json``."""
    from pi.cli.subcommands.session_export import export_redacted  # deferred: rarely asked for

    target.mkdir(parents=True, exist_ok=True)
    host = Machine.from_environ(os.environ)
    for id, row in rows.items():
        if row.session is not None and (folder / row.session).is_file():
            name = names.get(id, id.replace("/", "-"))
            export_redacted(folder / row.session, target / f"{name}.atif.json", host)


async def _run_with_progress(planned: BatchRun) -> int:
    """Run the tasks and show their progress."""
    progress = _Progress(len(planned.tasks), live=sys.stderr.isatty())
    if planned.skipped:
        print_error(f"{planned.skipped} tasks have a result already; --redo runs them again.")
    try:
        async with aclosing(planned.results()) as results:
            async for result in results:
                progress.show(result, planned.budget.spent)
    finally:
        progress.end()
    return 0


class _Progress:
    """A bar on a terminal, a line per attempt elsewhere."""

    def __init__(self, total: int, *, live: bool) -> None:
        self._total = total
        self._live = live
        self._statuses: dict[str, str] = {}
        self._began = time.monotonic()
        self._next = 0.0

    def show(self, result: BatchResult, spent: float) -> None:
        """Show one more result."""
        self._statuses[result.id] = result.status
        counts = Counter(self._statuses.values())
        if not self._live:
            error = f": {one_line(result.error)}" if result.error else ""
            print_error(
                f"{len(self._statuses)}/{self._total} {one_line(result.id)} {result.status}"
                f" (attempt {result.attempt}, {result.seconds:.1f} s, ${result.cost:.4f}){error}"
            )
            return
        now = time.monotonic()
        if now < self._next and len(self._statuses) < self._total:
            return
        self._next = now + 0.1
        share = len(self._statuses) / self._total if self._total else 1.0
        rest = (now - self._began) / share * (1 - share)
        bar = "█" * round(share * 20)
        not_done = len(self._statuses) - counts["done"]
        rewrite_line(
            f"{bar:20} {len(self._statuses)}/{self._total}  {counts['done']} done,"
            f" {not_done} not done  ${spent:.2f}  {_format_time(rest)} left\x1b[K"
        )

    def end(self) -> None:
        """End the line of the bar."""
        if self._live:
            print_error("")


def _format_time(seconds: float) -> str:
    minutes, rest = divmod(round(seconds), 60)
    return f"{minutes // 60}:{minutes % 60:02}:{rest:02}"


def _print_summary(
    chosen: Sequence[BatchTask],
    rows: Mapping[str, BatchResult],
    planned: BatchRun,
    output: Path,
    *,
    unreadable: int,
) -> int:
    counts = Counter(rows[task.id].status if task.id in rows else "not run" for task in chosen)
    counts["unreadable"] = unreadable
    parts = [f"{count} {status}" for status, count in counts.items() if count]
    spent = planned.budget.spent
    print_error(
        f"{', '.join(parts) or 'no tasks'}; ${spent:.4f}. Results: {output / 'results.jsonl'}"
    )
    if planned.was_stopped:
        print_error(
            f"The budget of ${planned.budget.limit:g} is spent."
            f" `pi batch resume {output} --budget MORE` runs the rest."
        )
        return OVER_BUDGET
    if counts["done"] == len(chosen) and not unreadable:
        return 0
    print_error(f"`pi batch report {output}` shows why; `pi batch resume {output}` tries again.")
    return FAILED


def _print_report(output: Path) -> int:
    folder = BatchFolder(output.absolute())
    tasks, rows = folder.read_tasks(), folder.results()
    sys.stdout.write(sanitise(report_table(tasks, rows)))
    page = folder.path / REPORT
    replace_file(page, report_page(tasks, rows, folder.read_manifest()).encode(), mode=None)
    print_error(f"Charts: {output / REPORT}")
    return 0


def _open_session(id: str, output: Path, environ: Mapping[str, str]) -> int:
    folder = BatchFolder(output.absolute())
    row = latest(folder.results()).get(id)
    if row is None or row.session is None or not (folder.path / row.session).is_file():
        raise UsageError(
            f"There is no session of task {id!r} in {output}.",
            hint="`pi batch report` lists the tasks; -o names the folder of the batch.",
        )
    if not (sys.stdin.isatty() and sys.stdout.isatty()):
        raise UsageError(
            "`pi batch view` needs a terminal.",
            hint=f"The session is {folder.path / row.session}; `pi --export` writes it as a page.",
        )
    from pi.cli.interactive import run as run_on_screen  # deferred: loads the screen

    session_arguments = parse_arguments(["--session", str(folder.path / row.session)])
    return run_on_screen(session_arguments, environ)


def _read_batch_options(raw: Mapping[str, Any], arguments: Arguments) -> BatchOptions:
    def number(name: str) -> int | None:
        text = raw.get(name)
        return None if text is None else _parse_whole_number(text, f"--{name.replace('_', '-')}")

    def dollars(name: str) -> float | None:
        text = raw.get(name)
        return None if text is None else _parse_dollars(text, f"--{name.replace('_', '-')}")

    timeout = raw.get("task_timeout")
    retries, per_worker = number("retries"), number("per_worker")
    if per_worker == 0:
        raise UsageError("--per-worker must be at least 1.")
    isolation = _check_choice(raw.get("isolation", "auto"), get_args(Isolation), "--isolation")
    redo = arguments.text("redo")
    return BatchOptions(
        workers=number("workers"),
        per_worker=BatchOptions().per_worker if per_worker is None else per_worker,
        retries=BatchOptions().retries if retries is None else retries,
        limits=TaskLimits(
            seconds=None if timeout is None else _parse_seconds(timeout),
            budget=dollars("task_budget"),
            turns=number("turns"),
        ),
        budget=dollars("budget"),
        isolation=cast(Isolation, isolation),
        redo=None if redo is None else cast(Redo, _check_choice(redo, get_args(Redo), "--redo")),
        ray=raw.get("ray"),
    )


def _read_session_options(raw: Mapping[str, Any]) -> AgentSessionOptions:
    options = AgentSessionOptions(report=print_error)
    if (level := raw.get("thinking")) in LEVELS:
        options["thinking_level"] = cast(ThinkingLevel, level)
    if "model" in raw:
        options["model"] = raw["model"]
    if "tools" in raw:
        options["tools"] = raw["tools"]
    if "system_prompt" in raw:
        options["system_prompt"] = raw["system_prompt"]
    if "append_system_prompt" in raw:
        options["append_system_prompt"] = "\n\n".join(raw["append_system_prompt"])
    if "no_context_files" in raw:
        options["context_files"] = []
    if "extension" in raw:
        options["additional_extension_paths"] = raw["extension"]
    if "no_extensions" in raw:
        options["disable_extension_discovery"] = True
    options["trust"] = approval(Arguments(options=dict(raw)))
    return options


def _check_choice(text: str, values: Sequence[str], option: str) -> str:
    if text not in values:
        raise UsageError(
            f"{option} {one_line(text)!r} is unknown.", hint=f"Use {', '.join(values)}."
        )
    return text


def _parse_whole_number(text: str, option: str) -> int:
    if not text.isdecimal():
        raise UsageError(f"{option} {one_line(text)!r} is not a whole number.")
    return int(text)


def _parse_dollars(text: str, option: str) -> float:
    try:
        value = float(text.removeprefix("$"))
    except ValueError:
        value = -1.0
    if not 0 < value < float("inf"):
        raise UsageError(f"{option} {one_line(text)!r} is not an amount.", hint="For example 2.50.")
    return value


def _parse_seconds(text: str) -> float:
    unit = text[-1:] if text[-1:] in UNITS else ""
    try:
        value = float(text.removesuffix(unit)) * UNITS[unit]
    except ValueError:
        value = -1.0
    if not 0 < value < float("inf"):
        raise UsageError(
            f"--task-timeout {one_line(text)!r} is not a time.", hint="For example 90s, 10m, 1h."
        )
    return value
