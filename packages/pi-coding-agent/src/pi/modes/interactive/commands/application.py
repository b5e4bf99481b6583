"""Commands about pi itself: settings, theme, keys, trust, diagnostics, extensions, quitting."""

from __future__ import annotations

from pathlib import Path

from pi.base.errors import PiError
from pi.coding.trust import TrustStore
from pi.modes.interactive.changelog import changelog as read_changelog
from pi.modes.interactive.changelog import changes_since
from pi.modes.interactive.commands.table import BuiltInCommands, require_idle
from pi.modes.interactive.dialogs.key_sections import CommandHelp, command_sections, key_sections
from pi.modes.interactive.dialogs.project_trust import ask_lasting_trust
from pi.modes.interactive.dialogs.reports import Section, SectionsView
from pi.modes.interactive.dialogs.settings.dialog import edit_settings
from pi.modes.interactive.dialogs.settings.theme import pick_theme
from pi.modes.interactive.startup import load_keys
from pi.modes.interactive.ui import Ui
from pi.tui.widgets.markdown.widget import Markdown


async def settings(ui: Ui, arguments: str) -> None:
    """Open the settings."""
    await edit_settings(ui)


async def theme(ui: Ui, arguments: str) -> None:
    """Select a theme by name or from a list."""
    if arguments:
        ui.themes.use(arguments)
        name: str | None = arguments
    elif (picked := await pick_theme(ui)) is not None:
        name = picked.name
    else:
        return
    ui.port.settings.set({"theme": name})
    ui.notify(f"Theme: {name or 'follows the terminal'}")


async def hotkeys(ui: Ui, arguments: str) -> None:
    """Show all keys."""
    ui.add_output(SectionsView(ui.theme, _key_sections(ui)))


async def help(ui: Ui, arguments: str) -> None:
    """Show all commands: built-in ones, then those of extensions and files."""
    ui.add_output(SectionsView(ui.theme, _command_sections(ui)))
    ui.notify("Keys are listed by /hotkeys.")


def help_sections(ui: Ui) -> list[Section]:
    """Return the sections of the help: first characters, prompt keys, commands, other keys."""
    writing, *others = _key_sections(ui)
    return [others.pop(), writing, *_command_sections(ui), *others]


def _key_sections(ui: Ui) -> list[Section]:
    with_vim = ui.port.settings.values.editor.mode == "vim"
    return key_sections(ui.keymap, ui.port.extensions.shortcuts(), with_vim=with_vim)


def _command_sections(ui: Ui) -> list[Section]:
    own = [
        CommandHelp(name=command.name, hint=command.hint, description=command.description)
        for command in BuiltInCommands(ui).listed()
    ]
    own_names = {row.name for row in own}
    others = [
        CommandHelp(name=command.name, description=command.description or "")
        for command in ui.port.info.commands()
        if command.name not in own_names
    ]
    return command_sections([*own, *others], ui.keymap)


async def changelog(ui: Ui, arguments: str) -> None:
    """Show the changelog."""
    content = read_changelog(ui.host.docs)
    if content is None:
        raise PiError("This installation has no changelog.")
    if released := changes_since(content, ""):
        ui.add_output(Markdown(released, theme=ui.theme.markdown))
    else:
        ui.notify("No version has been released yet.")


async def trust(ui: Ui, arguments: str) -> None:
    """Ask whether to trust this folder; the decision applies when the project is loaded again."""
    cwd = ui.port.info.cwd
    choice = await ask_lasting_trust(ui, cwd)
    if choice is None:
        return
    # A decision about the parent folder replaces the one about this folder.
    changes: dict[Path, bool | None] = {cwd: None}
    store = TrustStore(ui.host.agent_dir / "trust.json", clock=ui.clock)
    store.decide(changes | {choice.directory: choice.trusted})
    decided = "trusted" if choice.trusted else "not trusted"
    ui.notify(f"{choice.directory} is {decided} from the next session or /reload on.")


async def reload(ui: Ui, arguments: str) -> None:
    """Reload everything that is read from files."""
    require_idle(ui)
    with ui.working("Reloading…"):
        await ui.port.sessions.reload()
    for warning in load_keys(ui.keymap, ui.host.agent_dir):
        ui.notify(warning, "warning")
    ui.themes.use(ui.port.settings.values.theme)
    ui.refresh()
    ui.notify("Reloaded settings, extensions, skills, prompts, themes, context files and keys")


async def quit(ui: Ui, arguments: str) -> None:
    """Quit; everything is saved."""
    ui.quit()
