"""Asks the child process that parses; it is started when it is first needed."""

from __future__ import annotations

from pi.extension import (
    SYNTAX_LANGUAGES,
    ExtensionAPI,
    PiError,
    Record,
    ToolFailed,
    WorkerProcess,
    can_parse_syntax,
)

SECONDS = 10.0
"""Time limit of one file."""
INSTALL = "pip install 'pi-harness[rules]'"
_ALIASES = {
    "c#": "csharp",
    "c++": "cpp",
    "cs": "csharp",
    "golang": "go",
    "js": "javascript",
    "jsx": "javascript",
    "kt": "kotlin",
    "py": "python",
    "rb": "ruby",
    "rs": "rust",
    "sh": "bash",
    "shell": "bash",
    "terraform": "hcl",
    "ts": "typescript",
    "yml": "yaml",
}


def checked_language(name: str) -> str:
    """The language that ``name`` stands for. Raises ``ToolFailed`` if the parser has none."""
    plain = name.strip().lower()
    found = _ALIASES.get(plain, plain)
    if found not in SYNTAX_LANGUAGES:
        known = ", ".join(SYNTAX_LANGUAGES)
        raise ToolFailed(f"Unsupported language {name!r}. Supported: {known}.")
    return found


def require_parser() -> None:
    """Raise ``ToolFailed`` if the library for syntax trees is not installed."""
    if not can_parse_syntax():
        raise ToolFailed(f"Syntax trees need the package ast-grep-py. Install it with: {INSTALL}")


class TreeMatch(Record):
    """One match in a text: a span of characters, and the lines it covers, counted from 1."""

    start: int
    end: int
    line: int
    last_line: int
    new: str = ""
    """What replaces it, if there is a rewrite."""


class TreeParser:
    """The process. It is replaced if a parser crashes or takes too long."""

    def __init__(self, pi: ExtensionAPI, *, seconds: float = SECONDS) -> None:
        function = "pi.batteries.ast_tools.parser_process:answers"
        self._worker = WorkerProcess(pi, function, kind="matcher")
        self._seconds = seconds

    async def find(
        self, text: str, language: str, pattern: str, rewrite: str | None = None
    ) -> list[TreeMatch]:
        """The matches of a pattern. Raises ``ToolFailed`` if the pattern is invalid."""
        require_parser()
        request = {"text": text, "language": language, "pattern": pattern, "rewrite": rewrite}
        try:
            found = await self._worker.ask(request, seconds=self._seconds)
        except PiError as error:
            raise ToolFailed(error.message) from error
        if not found:
            raise ToolFailed(
                f"Parsing {language} failed or took longer than {self._seconds:g} s."
                " Use a narrower path, or grep."
            )
        (answer,) = found
        if "error" in answer:
            raise ToolFailed(f"The pattern {pattern!r} is invalid ({language}): {answer['error']}")
        return [
            TreeMatch(
                start=each["start"],
                end=each["end"],
                line=each["line"],
                last_line=each["lastLine"],
                new=each.get("new", ""),
            )
            for each in answer["matches"]
        ]
