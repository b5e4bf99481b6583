"""Commands about pi itself: settings, theme, keys, trust, and leaving."""

from __future__ import annotations

import platform
import re
import sys
import zipfile
from collections.abc import Iterator, Sequence
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
from pi.coding.models.registry import full_name
from pi.coding.port.extensions import ExtensionInfo, NameConflict
from pi.coding.trust import TrustStore
from pi.modes.interactive.commands.table import BuiltInCommands, require_idle
from pi.modes.interactive.dialogs.opening import ask_lasting_trust
from pi.modes.interactive.dialogs.questions import Option, choose, edit_text
from pi.modes.interactive.dialogs.reports import (
    CommandHelp,
    Section,
    SectionsView,
    command_section,
    key_sections,
)
from pi.modes.interactive.dialogs.settings.dialog import edit_settings, pick_theme
from pi.modes.interactive.startup import load_keys
from pi.modes.interactive.ui import Ui
from pi.modes.interactive.welcome import changelog as read_changelog
from pi.modes.interactive.welcome import changes_since
from pi.tui.widgets.markdown.widget import Markdown
from pi.tui.widgets.text import Text


async def settings(ui: Ui, arguments: str) -> None:
    """Change settings in place."""
    await edit_settings(ui)


async def theme(ui: Ui, arguments: str) -> None:
    """Choose a theme, or use the one that is named."""
    if arguments:
        ui.themes.use(arguments)
        wanted: str | None = arguments
    elif (picked := await pick_theme(ui)) is not None:
        wanted = picked.name
    else:
        return
    ui.port.settings.set({"theme": wanted})
    ui.notify(f"Theme: {wanted or 'as the terminal is'}")


async def hotkeys(ui: Ui, arguments: str) -> None:
    """Show all keys."""
    ui.say(SectionsView(ui.theme, key_sections(ui.keymap, ui.port.extensions.shortcuts())))


async def help(ui: Ui, arguments: str) -> None:
    """Show all commands: those of the application, then those of extensions and files."""
    own = [
        CommandHelp(name=command.name, hint=command.hint, description=command.description)
        for command in BuiltInCommands(ui).listed()
    ]
    known = {row.name for row in own}
    others = [
        CommandHelp(name=command.name, description=command.description or "")
        for command in ui.port.facts.commands()
        if command.name not in known
    ]
    ui.say(SectionsView(ui.theme, [command_section([*own, *others])]))
    ui.notify("Keys are listed by /hotkeys.")


async def changelog(ui: Ui, arguments: str) -> None:
    """Show what has changed."""
    content = read_changelog(ui.host.docs)
    if content is None:
        raise PiError("This installation brings no changelog.")
    if released := changes_since(content, ""):
        ui.say(Markdown(released, theme=ui.theme.markdown))
    else:
        ui.notify("No version has been released yet.")


async def trust(ui: Ui, arguments: str) -> None:
    """Decide about this folder; it counts when the project is read again."""
    here = ui.port.facts.cwd
    choice = await ask_lasting_trust(ui, here)
    if choice is None:
        return
    # Deciding about the folder above makes a decision about this one superfluous.
    changes: dict[Path, bool | None] = {here: None}
    store = TrustStore(ui.host.agent_dir / "trust.json", clock=ui.clock)
    store.decide(changes | {choice.directory: choice.trusted})
    decided = "trusted" if choice.trusted else "not trusted"
    ui.notify(f"{choice.directory} is {decided} from the next session or /reload on.")


async def reload(ui: Ui, arguments: str) -> None:
    """Read everything again that files say."""
    require_idle(ui)
    with ui.working("Reloading…"):
        await ui.port.extensions.reload()
    for problem in load_keys(ui.keymap, ui.host.agent_dir):
        ui.notify(problem, "warning")
    ui.themes.use(ui.port.settings.values.theme)
    ui.refresh()
    ui.notify("Reloaded settings, extensions, skills, prompts, themes, context files and keys")


async def quit(ui: Ui, arguments: str) -> None:
    """Leave; everything is saved."""
    ui.quit()


# Commands that help to find out what went wrong.


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


# ``/extensions``: what there is, and what became of it.


NONE = "There are no extensions here. docs/how-to/write-an-extension.md says how to write one."


async def extensions(ui: Ui, arguments: str) -> None:
    """Show every extension that was found."""
    port = ui.port.extensions
    sections = list(extension_sections(port.infos(), port.clashes(), port.foreign()))
    ui.say(SectionsView(ui.theme, sections) if sections else Text(NONE, pad_y=0))


def extension_sections(
    infos: Sequence[ExtensionInfo], clashes: Sequence[NameConflict], foreign: Sequence[str]
) -> Iterator[Section]:
    """What is known of extensions, names that they did not get, and those for the original."""
    if infos:
        yield Section(title="Extensions", rows=tuple((info.name, _told(info)) for info in infos))
    if clashes:
        rows = (
            (f"{clash.kind} {clash.name}", f"{clash.winner} has it, not {clash.loser}")
            for clash in clashes
        )
        yield Section(title="Names that two extensions want", rows=tuple(rows))
    if foreign:
        title = "Written for the original pi, which only that can run"
        yield Section(title=title, rows=tuple((path, "") for path in foreign))


def _told(info: ExtensionInfo) -> str:
    source = "" if info.rank != "package" else f" {info.source}"
    parts = (_state(info), f"{info.rank}{source}", info.path, info.problem)
    return " · ".join(filter(None, parts))


def _state(info: ExtensionInfo) -> str:
    if info.state == "loaded":
        return f"loaded in {info.milliseconds:.1f} ms"
    return "waits for its first use" if info.state == "waiting" else "not loaded"
