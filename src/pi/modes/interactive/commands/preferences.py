"""Commands about pi itself: settings, theme, keys, trust, and leaving."""

from __future__ import annotations

from pathlib import Path

from pi.base.errors import PiError
from pi.coding.trust.store import TrustStore
from pi.modes.interactive.changes import changelog as read_changelog
from pi.modes.interactive.changes import changes_since
from pi.modes.interactive.commands.built_in import BuiltInCommands
from pi.modes.interactive.commands.idle import must_be_idle
from pi.modes.interactive.dialogs.reference import Named, command_section, key_sections
from pi.modes.interactive.dialogs.sections import SectionsView
from pi.modes.interactive.dialogs.settings.dialog import edit_settings
from pi.modes.interactive.dialogs.themes import pick_theme
from pi.modes.interactive.dialogs.trust import ask_lasting_trust
from pi.modes.interactive.keymap import load_keys
from pi.modes.interactive.ui import Ui
from pi.tui.widgets.markdown.widget import Markdown


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
        Named(name=command.name, hint=command.hint, description=command.description)
        for command in BuiltInCommands(ui).listed()
    ]
    known = {row.name for row in own}
    others = [
        Named(name=command.name, description=command.description or "")
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
    must_be_idle(ui)
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
