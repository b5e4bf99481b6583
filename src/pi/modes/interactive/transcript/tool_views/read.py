"""read: which file and which lines; what was read only when everything is expanded."""

from __future__ import annotations

from pi.base.terminal_text import one_line
from pi.modes.interactive.transcript.call import Call
from pi.modes.interactive.transcript.look import Look
from pi.modes.interactive.transcript.tool_views.view import Shown, failure, folded_head
from pi.tui.widgets.markdown.highlight import highlight

_LANGUAGES = {
    "py": "python", "js": "javascript", "ts": "typescript", "tsx": "tsx", "jsx": "jsx",
    "rs": "rust", "go": "go", "rb": "ruby", "java": "java", "kt": "kotlin", "swift": "swift",
    "c": "c", "h": "c", "cc": "cpp", "cpp": "cpp", "hpp": "cpp", "cs": "csharp", "php": "php",
    "sh": "bash", "bash": "bash", "zsh": "bash", "fish": "fish", "ps1": "powershell",
    "json": "json", "toml": "toml", "yaml": "yaml", "yml": "yaml", "ini": "ini", "xml": "xml",
    "html": "html", "css": "css", "scss": "scss", "sql": "sql", "md": "markdown",
    "lua": "lua", "zig": "zig", "hs": "haskell", "scala": "scala", "dart": "dart", "r": "r",
}  # fmt: skip


def read_view(call: Call, look: Look, width: int) -> Shown:
    """The path with its lines."""
    path = look.short_path(one_line(call.argument("path"))) or "…"
    title = look.theme.paint("accent")(path) + look.theme.paint("warning")(_window(call))
    if call.state == "failed":
        return Shown(title, failure(call, look, width))
    if not look.is_expanded or call.images:
        return Shown(title)
    return Shown(
        title, folded_head(code_lines(call.text, call.argument("path"), look), 0, look, width)
    )


def language_of(path: str) -> str:
    """The language of a file by its name, as highlighters call it; empty if it is not known."""
    name = path.rpartition("/")[2].lower()
    if name in ("makefile", "dockerfile"):
        return {"makefile": "make", "dockerfile": "docker"}[name]
    return _LANGUAGES.get(name.rpartition(".")[2], "") if "." in name else ""


def code_lines(text: str, path: str, look: Look) -> list[str]:
    """Source code, coloured by the language of its file."""
    language = language_of(path)
    if language:
        return highlight(text, language, look.theme.code)
    paint = look.theme.paint("toolOutput")
    return [paint(line) for line in text.removesuffix("\n").split("\n")] if text else []


def _window(call: Call) -> str:
    offset, limit = call.arguments.get("offset"), call.arguments.get("limit")
    if not isinstance(offset, int | float) and not isinstance(limit, int | float):
        return ""
    first = int(offset) if isinstance(offset, int | float) else 1
    return f":{first}-{first + int(limit) - 1}" if isinstance(limit, int | float) else f":{first}"
