"""``/extensions`` in an editor: lists extensions, and switches one as everywhere else."""

from __future__ import annotations

from pi.base.errors import PiError
from pi.coding.port.extensions import SwitchesPort

EXTENSIONS = {
    "name": "extensions",
    "description": "list extensions, or switch one on or off",
    "input": {"hint": "[on or off NAME]"},
}
USAGE = "Use /extensions, /extensions on NAME [VALUE] or /extensions off NAME."


async def run_extensions(switches: SwitchesPort, arguments: str) -> str:
    """Return the list, or what is true after a switch; errors are part of the text."""
    from pi.coding.extension_host.listing import extension_lines  # lazy: rarely typed
    from pi.coding.extension_host.switches import find_row, parse_given

    try:
        match arguments.split(maxsplit=2):
            case [] | ["list"]:
                # Two spaces begin no list in Markdown, which editors show.
                lines = (line.replace("  ", "- ", 1) for line in extension_lines(switches.rows()))
                return "\n".join(lines)
            case ["on", name, *texts]:
                value = parse_given(find_row(switches.rows(), name), texts[0]) if texts else None
                return await switches.switch(name, on=True, value=value)
            case ["off", name]:
                return await switches.switch(name, on=False)
            case _:
                return USAGE
    except PiError as error:
        return error.explain()
