"""``/extensions``: what there is, and what became of it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from pi.base.terminal_text import one_line
from pi.coding.extension_host.clashes import Clash
from pi.coding.extension_host.loading import ExtensionInfo
from pi.modes.interactive.ui import Ui
from pi.tui.widgets.text import Text

NONE = "There are no extensions here. docs/how-to/write-an-extension.md says how to write one."


async def extensions(ui: Ui, arguments: str) -> None:
    """Show every extension that was found."""
    port = ui.port.extensions
    lines = list(extension_lines(port.infos(), port.clashes(), port.foreign()))
    ui.say(Text("\n".join(lines or [NONE]), pad_y=0))


def extension_lines(
    infos: Sequence[ExtensionInfo], clashes: Sequence[Clash], foreign: Sequence[str]
) -> Iterator[str]:
    """What is known of extensions, names that they did not get, and those for the original."""
    if infos:
        yield "Extensions"
    width = max((len(one_line(info.name)) for info in infos), default=0)
    for info in infos:
        yield f"  {one_line(info.name):{width}}  {_state(info)} · {_origin(info)}"
        if info.problem:
            yield f"    {one_line(info.problem)}"
    if clashes:
        yield "Names that somebody else has"
    for clash in clashes:
        name = one_line(f"{clash.kind} {clash.name}")
        yield f"  {name} of {one_line(clash.loser)}: {one_line(clash.winner)} has it"
    if foreign:
        yield "Written for the original pi, which only that can run"
    yield from (f"  {one_line(path)}" for path in foreign)


def _state(info: ExtensionInfo) -> str:
    if info.state == "loaded":
        return f"loaded in {info.milliseconds:.1f} ms"
    return "waits for its first use" if info.state == "waiting" else "not loaded"


def _origin(info: ExtensionInfo) -> str:
    """How it came here, and where it is."""
    source = "" if info.rank != "package" else f" {one_line(info.source)}"
    return f"{info.rank}{source} · {one_line(info.path)}"
