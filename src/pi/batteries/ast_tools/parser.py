"""Asks the child process that parses; it is started when it is first needed."""

from __future__ import annotations

import asyncio
import json
import sys
from contextlib import suppress
from importlib.util import find_spec
from pathlib import Path, PurePath
from typing import Any

from pi.extension import BadFrame, Child, ExtensionAPI, Record, ToolFailed

SECONDS = 10.0
"""Time limit of one file."""
START_SECONDS = 20.0
"""Time limit of the start of the process, on a machine under load."""
INSTALL = "pip install 'pi-harness[rules]'"
_START = (
    "import json,sys;sys.path[:]=json.loads(sys.argv[1]);"
    "from pi.batteries.ast_tools.parser_process import main;main()"
)

LANGUAGES = {
    language: suffixes.split()
    for language, suffixes in {
        "bash": ".sh .bash .zsh",
        "c": ".c .h",
        "cpp": ".cc .cpp .cxx .hh .hpp .hxx",
        "csharp": ".cs",
        "css": ".css",
        "elixir": ".ex .exs",
        "go": ".go",
        "haskell": ".hs",
        "hcl": ".hcl .tf",
        "html": ".htm .html",
        "java": ".java",
        "javascript": ".cjs .js .jsx .mjs",
        "json": ".json",
        "kotlin": ".kt .kts",
        "lua": ".lua",
        "nix": ".nix",
        "php": ".php",
        "python": ".py .pyi",
        "ruby": ".rb",
        "rust": ".rs",
        "scala": ".sbt .scala",
        "solidity": ".sol",
        "swift": ".swift",
        "tsx": ".tsx",
        "typescript": ".cts .mts .ts",
        "yaml": ".yaml .yml",
    }.items()
}
"""Languages that the parser knows. It panics if it is asked for another one."""
_LANGUAGE_OF = {suffix: name for name, suffixes in LANGUAGES.items() for suffix in suffixes}
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


def language_of(path: str) -> str:
    """The language of a file by its name; empty if it is none that can be parsed."""
    return _LANGUAGE_OF.get(PurePath(path).suffix.lower(), "")


def checked_language(name: str) -> str:
    """The language that ``name`` stands for. Raises ``ToolFailed`` if the parser has none."""
    plain = name.strip().lower()
    found = _ALIASES.get(plain, plain)
    if found not in LANGUAGES:
        known = ", ".join(LANGUAGES)
        raise ToolFailed(f"Unsupported language {name!r}. Supported: {known}.")
    return found


def require_parser() -> None:
    """Raise ``ToolFailed`` if the library for syntax trees is not installed."""
    if find_spec("ast_grep_py") is None:
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
        self._pi = pi
        self._seconds = seconds
        self._child: Child | None = None
        self._busy = asyncio.Lock()

    async def find(
        self, text: str, language: str, pattern: str, rewrite: str | None = None
    ) -> list[TreeMatch]:
        """The matches of a pattern. Raises ``ToolFailed`` if the pattern is invalid."""
        require_parser()
        request = {"text": text, "language": language, "pattern": pattern, "rewrite": rewrite}
        async with self._busy:
            answer = await self._ask(request)
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

    async def _ask(self, request: dict[str, Any]) -> dict[str, Any]:
        child = await self._started()
        with suppress(ConnectionError):  # it has ended: there is no answer to read
            await child.write_frame(json.dumps(request).encode())
        frame = await self._read(child, self._seconds)
        if frame is None:
            await self._stop()
            raise ToolFailed(
                f"Parsing {request['language']} failed or took longer than {self._seconds:g} s."
                " Use a narrower path, or grep."
            )
        answer: dict[str, Any] = json.loads(frame)
        return answer

    async def _read(self, child: Child, seconds: float) -> bytes | None:
        """The next answer; ``None`` if the process takes too long or has ended."""
        try:
            async with asyncio.timeout(seconds):
                return await child.read_frame()
        except (TimeoutError, BadFrame):
            return None
        except asyncio.CancelledError:
            await self._stop()  # an answer that is not read would be taken for the next one
            raise

    async def _started(self) -> Child:
        if self._child is None:
            command = [sys.executable, "-I", "-c", _START, json.dumps(sys.path)]
            self._child = await self._pi.spawn(command, cwd=Path(sys.prefix), kind="matcher")
            with suppress(ConnectionError):
                await self._child.write_frame(b"{}")
            if await self._read(self._child, START_SECONDS) is None:
                await self._stop()
                raise ToolFailed("The process that parses files did not start.")
        assert self._child is not None
        return self._child

    async def _stop(self) -> None:
        child, self._child = self._child, None
        if child is not None:
            await child.terminate(grace=0)
