"""``/bug``, ``/doctor`` and ``/debug``: reports about pi, with secrets redacted."""

from __future__ import annotations

import platform
import re
import sys
import zipfile
from collections.abc import Iterable, Iterator, Sequence
from io import BytesIO
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import msgspec

import pi.version
from pi.base.clock import iso_timestamp
from pi.base.errors import PiError
from pi.base.files import private_directory, replace_file
from pi.base.json_lines import encode_line
from pi.base.processes.child import run
from pi.base.terminal_text import sanitise
from pi.coding.export.redaction import REDACTED, Redactor
from pi.coding.models.registry import full_name
from pi.modes.interactive.dialogs.questions import Option, choose, edit_text
from pi.modes.interactive.ui import Ui
from pi.tui.text.wrap import wrap_text
from pi.tui.widgets.text import Text

REPORTS = "bug-reports"
DEBUG_LOG = "pi-debug.log"
DOCTOR_SECONDS = 30.0
DOCTOR_BYTES = 64 * 1024
_COLUMNS = re.compile(r"\S +\S+(?: \S+)*? {2,}| +→ | +")
"""The columns before the text of a line of ``pi doctor``: mark and name, or the arrow of a hint."""


async def bug(ui: Ui, arguments: str) -> None:
    """Write a bug report to a file. Nothing is sent."""
    description = arguments or await edit_text(
        ui, "What went wrong?", message="A short description."
    )
    if description is None:
        return
    options = [Option(value=True, label="Add it"), Option(value=False, label="Leave it out")]
    with_session = await choose(
        ui,
        "Add the session?",
        options,
        message="Secrets are redacted; all other content is in the report.",
    )
    if with_session is None:
        return
    path = await _report(ui, description, with_session=with_session)
    ui.add_output(Text(f"The report is in {sanitise(str(path))}\nNothing was sent.", pad_y=0))


async def doctor(ui: Ui, arguments: str) -> None:
    """Show the output of ``pi doctor``."""
    # A separate process, because the checks belong to the command line. With -P, so that a module
    # called pi in the project is not imported.
    command = [sys.executable, "-P", "-m", "pi", "doctor"]
    with ui.working("Checking…"):
        done = await run(
            command,
            cwd=ui.port.info.cwd,
            env=ui.host.environ,
            timeout=DOCTOR_SECONDS,
            max_output=DOCTOR_BYTES,
        )
    if not done.output:
        errors = done.errors.decode("utf-8", "replace").strip()
        raise PiError(f"`pi doctor` failed: {errors or 'it did not answer in time.'}")
    text = sanitise(done.output.decode("utf-8", "replace")).rstrip()
    # The child writes to a pipe; the screen that shows its lines is a terminal.
    text = re.sub(
        r"^(. terminal +)no terminal", r"\1terminal at stdin and stdout", text, flags=re.M
    )
    ui.add_output(HangingText([ui.theme.heading("Doctor"), *text.split("\n")]))


class HangingText:
    """Lines of a table; long text continues below the last column."""

    def __init__(self, lines: Sequence[str]) -> None:
        self._lines = lines

    def invalidate(self) -> None:
        """Do nothing: no rows are cached."""

    def render(self, width: int) -> list[str]:
        """Return the wrapped lines."""
        return ["", *(row for line in self._lines for row in self._wrap(line, width - 2))]

    def _wrap(self, line: str, width: int) -> Iterator[str]:
        match = _COLUMNS.match(line)
        indent = match.end() if match is not None and match.end() < width // 2 else 0
        rows = wrap_text(line[indent:], max(width - indent, 1)) or [""]
        yield f" {line[:indent]}{rows[0]}"
        yield from (f" {' ' * indent}{row}" for row in rows[1:])


async def debug(ui: Ui, arguments: str) -> None:
    """Write the screen and the model's context to a file, redacted."""
    redactor = _redactor(ui)
    context = msgspec.to_builtins(ui.port.info.messages())
    messages = [encode_line(message).decode().rstrip("\n") for message in redactor.json(context)]
    rows = _redacted_rows(ui.shown_rows(), redactor, _secrets_in(context, redactor))
    drawn = [f"[{number}] {row!r}" for number, row in enumerate(rows)]
    text = "\n".join(["=== Rows ===", *drawn, "", "=== Messages ===", *messages, ""])
    path = private_directory(ui.host.agent_dir) / DEBUG_LOG
    replace_file(path, text.encode("utf-8", "replace"))
    ui.notify(f"Written to {path}")


def _redactor(ui: Ui) -> Redactor:
    """Return a redactor with the secrets of pi and the redactors of extensions.

    It redacts as for sharing, because a report leaves the machine.
    """
    return Redactor(
        ui.port.accounts.secrets(), extra=lambda text: ui.port.exports.redact(text, "share")
    )


_GUTTER = " ▌│┃>"
_MAX_WRAPS = 6
"""Maximum rows over which a wrapped secret is searched."""


_SHORTEST_PART = 6
"""Minimum length of a secret, or of a line of one, that is searched on the screen."""


def _secrets_in(value: Any, redactor: Redactor) -> set[str]:
    """Return the secrets in the texts of a JSON value."""
    match value:
        case str():
            return redactor.found(value)
        case dict():
            return {secret for member in value.values() for secret in _secrets_in(member, redactor)}
        case list():
            return {secret for member in value for secret in _secrets_in(member, redactor)}
        case _:
            return set()


def _redacted_rows(rows: Sequence[str], redactor: Redactor, secrets: set[str]) -> list[str]:
    """Redact rows of the screen; a secret that is wrapped hides all rows that it is on."""
    plain = [sanitise(row).strip(_GUTTER) for row in rows]
    redacted = [redactor.text(row) for row in rows]
    clean = [redactor.text(row) for row in plain]
    for start in range(len(rows) - 1):
        for end in range(start + 2, min(start + _MAX_WRAPS, len(rows)) + 1):
            if not plain[end - 1]:
                break  # an empty row ends a paragraph
            paragraph = "".join(plain[start:end])
            if redactor.text(paragraph) != "".join(clean[start:end]):
                redacted[start:end] = [REDACTED] * (end - start)
                break
    joined = (redactor.found(between.join(plain)) for between in ("", " ", "\n"))
    for number in _rows_with(secrets.union(*joined), plain):
        redacted[number] = REDACTED
    return redacted


def _rows_with(secrets: Iterable[str], rows: Sequence[str]) -> set[int]:
    """Return the numbers of rows that show a secret, or a line of one, ignoring white space."""
    letters = ["".join(row.split()) for row in rows]
    text = "".join(letters)
    row_at = [number for number, row in enumerate(letters) for _ in row]
    numbers: set[int] = set()
    parts = {"".join(line.split()) for secret in secrets for line in (secret, *secret.splitlines())}
    for part in parts:
        index = text.find(part) if len(part) >= _SHORTEST_PART else -1
        while index >= 0:
            numbers.update(row_at[index : index + len(part)])
            index = text.find(part, index + 1)
    return numbers


async def _report(ui: Ui, description: str, *, with_session: bool) -> Path:
    now = iso_timestamp(ui.clock.now_ms())
    folder = private_directory(ui.host.agent_dir / REPORTS)
    path = folder / f"pi-bug-{re.sub(r'[:.]', '-', now)}.zip"
    content = BytesIO()
    with zipfile.ZipFile(content, "w", zipfile.ZIP_DEFLATED) as archive:
        redactor = _redactor(ui)
        archive.writestr("report.md", _report_text(ui, redactor.text(description), now, redactor))
        if with_session:
            archive.writestr("session.jsonl", await _session(ui))
    replace_file(path, content.getvalue())
    return path


def _report_text(ui: Ui, description: str, now: str, redactor: Redactor) -> str:
    model = ui.port.models.current
    facts = {
        "Time": now,
        "pi": pi.version.__version__,
        "Python": platform.python_version(),
        "System": platform.platform(),
        "Terminal": ui.host.environ.get("TERM_PROGRAM") or ui.host.environ.get("TERM", "unknown"),
        "Model": full_name(model) if model else "none",
        "Problem": ui.port.entries.log.problem or "none",
    }
    lines = redactor.text("\n".join(f"- {name}: {value}" for name, value in facts.items()))
    settings = msgspec.json.format(msgspec.json.encode(redactor.json(ui.port.settings.raw)))
    return f"# Bug report\n\n{description}\n\n{lines}\n\n```json\n{settings.decode()}\n```\n"


async def _session(ui: Ui) -> bytes:
    with TemporaryDirectory(dir=ui.host.temp_dir) as folder:
        try:
            return (await ui.port.exports.write(f"{folder}/session.jsonl")).read_bytes()
        except PiError as error:  # the session is empty or not saved
            return error.explain().encode()
