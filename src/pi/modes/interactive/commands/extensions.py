"""``/extensions``: what there is, and what became of it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from pi.coding.extension_host.clashes import Clash
from pi.coding.extension_host.loading import ExtensionInfo
from pi.modes.interactive.dialogs.sections import Section, SectionsView
from pi.modes.interactive.ui import Ui
from pi.tui.widgets.text import Text

NONE = "There are no extensions here. docs/how-to/write-an-extension.md says how to write one."


async def extensions(ui: Ui, arguments: str) -> None:
    """Show every extension that was found."""
    port = ui.port.extensions
    sections = list(extension_sections(port.infos(), port.clashes(), port.foreign()))
    ui.say(SectionsView(ui.theme, sections) if sections else Text(NONE, pad_y=0))


def extension_sections(
    infos: Sequence[ExtensionInfo], clashes: Sequence[Clash], foreign: Sequence[str]
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
