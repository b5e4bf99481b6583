"""Checks arguments against the regular expressions in schemas of servers.

``re`` may need years for a pattern of a stranger, and would stop the whole program meanwhile. So
validation ignores the patterns, and they are checked before the call: in linear time with RE2, and
without it, or if RE2 does not know the dialect, in a child process with a time limit.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from functools import lru_cache
from typing import Any

from pi.extension import ExtensionAPI, Json, PiError, Record, WorkerProcess

SECONDS = 1.0
"""Time limit of the patterns of one call without RE2; the server checks its arguments itself."""
MAX_CHECKED = 200
"""Maximum of patterns that one call is checked with."""
MAX_DEPTH = 30
MAX_SHOWN = 200
_NAMED = frozenset({"properties", "$defs", "definitions", "dependentSchemas"})
"""Keywords whose members are schemas by a name, which may be ``pattern`` itself."""


class PatternCheck(Record):
    """A text of the arguments, and the pattern that it has to match."""

    place: str
    text: str
    pattern: str


def without_patterns(schema: Any) -> Any:
    """A schema without regular expressions, for the validation on the event loop."""
    if isinstance(schema, list):
        return [without_patterns(part) for part in schema]
    if not isinstance(schema, dict):
        return schema
    plain: Json = {}
    for keyword, value in schema.items():
        if keyword in _NAMED and isinstance(value, dict):
            plain[keyword] = {name: without_patterns(member) for name, member in value.items()}
        elif keyword in ("enum", "const", "default", "examples"):
            plain[keyword] = value
        elif keyword not in ("pattern", "patternProperties"):
            plain[keyword] = without_patterns(value)
    if "patternProperties" in schema:
        # Which schema a name gets is not known without its patterns: any value is accepted.
        plain["additionalProperties"] = True
    return plain


def pattern_checks(schema: Json, arguments: Any) -> list[PatternCheck]:
    """The patterns that apply to the arguments. Alternatives are left to the server."""
    checks: list[PatternCheck] = []
    for check in _checks(schema, schema, arguments, "", MAX_DEPTH):
        checks.append(check)
        if len(checks) == MAX_CHECKED:
            break
    return checks


def _checks(
    root: Json, schema: Any, value: Any, location: str, depth: int
) -> Iterator[PatternCheck]:
    if not isinstance(schema, dict) or depth == 0:
        return
    deeper = depth - 1
    if (target := _target(root, schema.get("$ref"))) is not None:
        yield from _checks(root, target, value, location, deeper)
    parts = schema.get("allOf")
    for part in parts if isinstance(parts, list) else ():
        yield from _checks(root, part, value, location, deeper)
    if isinstance(value, str) and isinstance(pattern := schema.get("pattern"), str):
        yield PatternCheck(place=location, text=value, pattern=pattern)
    elif isinstance(value, list):
        for index, item in enumerate(value):
            yield from _checks(root, schema.get("items"), item, f"{location}[{index}]", deeper)
    elif isinstance(value, dict):
        properties = schema.get("properties")
        for name, member in value.items():
            part = properties.get(name) if isinstance(properties, dict) else None
            inner = f"{location}.{name}" if location else str(name)
            yield from _checks(root, part, member, inner, deeper)


def _target(root: Json, reference: Any) -> Any:
    if not isinstance(reference, str) or not reference.startswith("#/"):
        return None
    target: Any = root
    for name in reference[2:].split("/"):
        name = name.replace("~1", "/").replace("~0", "~")
        target = target.get(name) if isinstance(target, dict) else None
    return target


class PatternMatcher:
    """Matches patterns of servers without stopping the program."""

    def __init__(self, pi: ExtensionAPI, log: Callable[[str], None]) -> None:
        self._worker = WorkerProcess(pi, "pi.batteries.mcp.pattern_process:answers", kind="matcher")
        self._log = log
        self._hanging: set[str] = set()
        """Patterns that took too long; they are not tried again."""

    async def problems(self, schema: Json, arguments: Any) -> list[str]:
        """What does not match, one sentence each."""
        checks = pattern_checks(schema, arguments)
        slow = [check for check in checks if _linear(check.pattern) is None]
        failed = [
            check
            for check in checks
            if (regex := _linear(check.pattern)) is not None and not regex.search(check.text)
        ]
        clock = asyncio.get_running_loop()
        deadline = clock.time() + SECONDS
        for check in slow:
            remaining = deadline - clock.time()
            if remaining <= 0:
                self._log(f"{len(slow)} patterns took longer than {SECONDS:g} s together.")
                break
            if await self._fails(check, remaining):
                failed.append(check)
        return [
            f"{check.place or 'The value'} must match the pattern {check.pattern[:MAX_SHOWN]}"
            for check in checks
            if check in failed
        ]

    async def _fails(self, check: PatternCheck, seconds: float) -> bool:
        """Whether a pattern does not match. One that cannot be matched counts as matching."""
        if check.pattern in self._hanging:
            return False
        request = {"pattern": check.pattern, "text": check.text}
        try:
            answers = await self._worker.ask(request, seconds=seconds)
        except PiError as error:
            self._log(f"A pattern was not checked: {error.message}")
            return False
        if not answers:
            self._hanging.add(check.pattern)
            pattern_text = check.pattern[:MAX_SHOWN]
            self._log(
                f"The pattern {pattern_text} took longer than {seconds:.1f} s and is not checked."
            )
        return answers == [False]


@lru_cache(maxsize=256)
def _linear(pattern: str) -> Any:
    """The pattern compiled by RE2; ``None`` without RE2, or if it does not know the dialect."""
    try:
        import re2  # lazy: takes 3 ms, and the extra may be missing
    except ImportError:
        return None
    options = re2.Options()
    options.log_errors = False
    options.max_mem = 8 << 20
    try:
        return re2.compile(pattern, options)
    except re2.error:
        return None
