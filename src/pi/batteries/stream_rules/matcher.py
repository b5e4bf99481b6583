"""Matches in a child process what may take long: patterns that RE2 rejects, and syntax trees."""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from importlib.util import find_spec
from pathlib import Path, PurePath

from pi.batteries.stream_rules.rules import StreamRule
from pi.extension import BadFrame, Child, ExtensionAPI, PiError, Record

SECONDS = 2.0
"""Time limit of one pattern. The end of an answer waits for it."""
START_SECONDS = 20.0
"""Time limit of the start of the process, on a machine under load."""
MAX_TEXT = 1_000_000
"""Characters of a block that are matched; a parser needs 0.5 s for as many."""
_START = (
    "import json,sys;sys.path[:]=json.loads(sys.argv[1]);"
    "from pi.batteries.stream_rules.matcher_process import main;main()"
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


def language_of(path: str) -> str:
    """The language of a file by its name; empty if it is none that can be parsed."""
    return _LANGUAGE_OF.get(PurePath(path).suffix.lower(), "")


def can_parse() -> bool:
    """Whether the library for syntax trees is installed."""
    return find_spec("ast_grep_py") is not None


class MatchRequest(Record):
    """A text, and the rules that it may break."""

    text: str
    rules: tuple[StreamRule, ...]
    removed: str = ""
    language: str = ""
    """Matches the syntax trees of the rules in this language; without it, their slow patterns."""
    is_whole: bool = True

    def patterns(self) -> Iterable[tuple[StreamRule, str, str]]:
        """Each rule with its patterns: for the process, and as written."""
        for rule in self.rules:
            if self.language:
                yield from ((rule, pattern, pattern) for pattern in rule.ast)
            else:
                slow = (each for each in rule.conditions if each.fast is None)
                yield from ((rule, each.python, each.source) for each in slow)

    def stable_lines(self) -> int | None:
        """Lines at the start of an incomplete text in which a match cannot be undone.

        A construct may go on, as ``if`` with ``else``, until a further line has arrived.
        """
        if self.is_whole:
            return None
        complete = self.text.split("\n")[:-1]
        filled = [number for number, line in enumerate(complete) if line.strip()]
        return filled[-1] if filled else 0


class SlowMatcher:
    """The process. It is started when it is first needed, and replaced if a pattern hangs."""

    def __init__(
        self, pi: ExtensionAPI, complain: Callable[[str], None], *, seconds: float = SECONDS
    ) -> None:
        self._pi = pi
        self._complain = complain
        self._seconds = seconds
        self._child: Child | None = None
        self._busy = asyncio.Lock()
        self._given_up: set[tuple[str, str]] = set()
        """Patterns that hang or fail, by rule."""

    async def find(self, request: MatchRequest) -> list[StreamRule]:
        """The rules of the request that match; those that cannot be matched are reported once."""
        if len(request.text) > MAX_TEXT:
            names = ", ".join(rule.name for rule in request.rules)
            self._complain(f"Not checked, the text is too long ({len(request.text):,}): {names}")
            return []
        async with self._busy:
            waiting = [
                each for each in request.patterns() if (each[0].name, each[2]) not in self._given_up
            ]
            found: dict[str, StreamRule] = {}
            while waiting:
                try:
                    done = await self._match(request, waiting, found)
                except PiError as error:
                    names = ", ".join(dict.fromkeys(rule.name for rule, _, _ in waiting))
                    self._give_up(waiting, f"Rules cannot be checked ({names}): {error.message}")
                    break
                waiting = waiting[done:]
            return [*found.values()]

    async def _match(
        self,
        request: MatchRequest,
        waiting: Sequence[tuple[StreamRule, str, str]],
        found: dict[str, StreamRule],
    ) -> int:
        """Match until a pattern hangs; returns how many are done."""
        child = await self._started()
        asked = {
            "text": request.text,
            "removed": request.removed,
            "language": request.language,
            "lines": request.stable_lines(),
            "patterns": [pattern for _, pattern, _ in waiting],
        }
        with suppress(ConnectionError):  # it has ended: there is no answer to read
            await child.write_frame(json.dumps(asked).encode())
        for number, (rule, _, source) in enumerate(waiting):
            frame = await self._read(child, self._seconds)
            if frame is None:
                await self._stop()
                text = f"Rule {rule.name}: {source!r} took longer than {self._seconds:g} s"
                self._give_up([waiting[number]], f"{text}. It is not checked any more.")
                return number + 1
            answer = json.loads(frame)
            if answer.get("matched"):
                found[rule.name] = rule
            if problem := answer.get("error"):
                self._give_up([waiting[number]], f"Rule {rule.name}: {source!r}: {problem}")
        return len(waiting)

    def _give_up(self, patterns: Sequence[tuple[StreamRule, str, str]], reason: str) -> None:
        self._given_up.update((rule.name, source) for rule, _, source in patterns)
        self._complain(reason)

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
            child = await self._pi.spawn(command, cwd=Path(sys.prefix), kind="matcher")
            self._child = child
            # The time limit of a pattern must not include the start of Python.
            hello = {"text": "", "removed": "", "language": "", "lines": None, "patterns": [""]}
            with suppress(ConnectionError):
                await child.write_frame(json.dumps(hello).encode())
            if await self._read(child, START_SECONDS) is None:
                await self._stop()
                raise PiError("the process that matches them did not start.")
        assert self._child is not None
        return self._child

    async def _stop(self) -> None:
        child, self._child = self._child, None
        if child is not None:
            await child.terminate(grace=0)
