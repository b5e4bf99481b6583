"""Commands that help to find out what went wrong."""

from __future__ import annotations

import platform
import re
import sys
import zipfile
from io import BytesIO
from pathlib import Path
from tempfile import TemporaryDirectory

import msgspec

import pi
from pi.base.clock import iso_timestamp
from pi.base.errors import PiError
from pi.base.files import private_directory, replace_file
from pi.base.json_lines import encode_line
from pi.base.processes.child import run
from pi.base.terminal_text import sanitise
from pi.coding.export.redaction import Redactor
from pi.coding.models.patterns import full_name
from pi.modes.interactive.dialogs.questions import Option, choose, edit_text
from pi.modes.interactive.ui import Ui
from pi.tui.widgets.text import Text

REPORTS = "bug-reports"
DEBUG_LOG = "pi-debug.log"
DOCTOR_SECONDS = 30.0
DOCTOR_BYTES = 64 * 1024


async def bug(ui: Ui, arguments: str) -> None:
    """Put a report together, for the person to send. Nothing is sent by itself."""
    words = arguments or await edit_text(ui, "What went wrong?", message="A few words will do.")
    if words is None:
        return
    options = [Option(value=True, label="Add it"), Option(value=False, label="Leave it out")]
    with_session = await choose(
        ui,
        "Add the session?",
        options,
        message="Secrets are taken out of it; everything else that was said is in the report.",
    )
    if with_session is None:
        return
    path = await _report(ui, words, with_session=with_session)
    ui.say(Text(f"The report is in {sanitise(str(path))}\nNothing was sent.", pad_y=0))


async def doctor(ui: Ui, arguments: str) -> None:
    """Show what ``pi doctor`` says."""
    # A process of its own, because the examination belongs to the command line. With -P, so that
    # a module called pi in the project is not taken for this program.
    command = [sys.executable, "-P", "-m", "pi", "doctor"]
    with ui.working("Checking…"):
        done = await run(
            command,
            cwd=ui.port.facts.cwd,
            env=ui.host.environ,
            timeout=DOCTOR_SECONDS,
            max_output=DOCTOR_BYTES,
        )
    if not done.output:
        errors = done.errors.decode("utf-8", "replace").strip()
        raise PiError(f"`pi doctor` failed: {errors or 'it did not answer in time.'}")
    ui.say(Text(sanitise(done.output.decode("utf-8", "replace")).rstrip(), pad_y=0))


async def debug(ui: Ui, arguments: str) -> None:
    """Write what is shown and what the model is shown to a file, without the person's keys."""
    redactor = Redactor(ui.port.accounts.secrets())
    shown = redactor.json(msgspec.to_builtins(ui.port.facts.messages()))
    messages = [encode_line(message).decode().rstrip("\n") for message in shown]
    drawn = [f"[{number}] {redactor.text(row)!r}" for number, row in enumerate(ui.shown_rows())]
    text = "\n".join(["=== Rows ===", *drawn, "", "=== Messages ===", *messages, ""])
    path = private_directory(ui.host.agent_dir) / DEBUG_LOG
    replace_file(path, text.encode("utf-8", "replace"))
    ui.notify(f"Written to {path}")


async def _report(ui: Ui, words: str, *, with_session: bool) -> Path:
    now = iso_timestamp(ui.clock.now_ms())
    folder = private_directory(ui.host.agent_dir / REPORTS)
    path = folder / f"pi-bug-{re.sub(r'[:.]', '-', now)}.zip"
    content = BytesIO()
    with zipfile.ZipFile(content, "w", zipfile.ZIP_DEFLATED) as archive:
        redactor = Redactor(ui.port.accounts.secrets())
        archive.writestr("report.md", _described(ui, redactor.text(words), now, redactor))
        if with_session:
            archive.writestr("session.jsonl", await _session(ui))
    replace_file(path, content.getvalue())
    return path


def _described(ui: Ui, words: str, now: str, redactor: Redactor) -> str:
    model = ui.port.models.current
    facts = {
        "Time": now,
        "pi": pi.__version__,
        "Python": platform.python_version(),
        "System": platform.platform(),
        "Terminal": ui.host.environ.get("TERM_PROGRAM") or ui.host.environ.get("TERM", "unknown"),
        "Model": full_name(model) if model else "none",
        "Problem": ui.port.facts.problem or "none",
    }
    lines = redactor.text("\n".join(f"- {name}: {value}" for name, value in facts.items()))
    settings = msgspec.json.format(msgspec.json.encode(redactor.json(ui.port.settings.raw)))
    return f"# Bug report\n\n{words}\n\n{lines}\n\n```json\n{settings.decode()}\n```\n"


async def _session(ui: Ui) -> bytes:
    with TemporaryDirectory(dir=ui.host.temp_dir) as folder:
        try:
            return (await ui.port.exports.write(f"{folder}/session.jsonl")).read_bytes()
        except PiError as problem:  # nothing was said yet, or it is not kept
            return problem.explain().encode()
