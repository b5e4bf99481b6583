"""The call of ``generate_image`` in the transcript; the screen draws the pictures below it."""

from __future__ import annotations

from pi.extension import Theme, ToolView, ViewOptions, one_line

MAX_PROMPT = 80
"""Characters of the prompt that a collapsed call shows."""


def generate_image(view: ToolView, options: ViewOptions, theme: Theme) -> list[str] | None:
    """The prompt, then the files."""
    prompt = one_line(str(view.arguments.get("prompt", "")))
    if not options.expanded and len(prompt) > MAX_PROMPT:
        prompt = f"{prompt[: MAX_PROMPT - 1]}…"
    details = view.details
    if view.state != "done" or not isinstance(details, dict) or "files" not in details:
        return [prompt, *map(one_line, view.text.splitlines())] if prompt else None
    model = theme.fg("muted", f"{details.get('provider')}/{details.get('model')}")
    rows = []
    for file in details["files"]:
        size = theme.fg("dim", f"{file['bytes']:,} bytes")
        rows.append(f"{theme.fg('accent', one_line(str(file['path'])))} {size}")
    return [f"{prompt} {model}", *rows]
