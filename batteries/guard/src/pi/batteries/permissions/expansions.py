"""The texts that a word with variables may stand for. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

from pi.extension.guards import CommandLine

_EXPANSION = re.compile(
    r"\$\{(?P<indirect>[!#]?)(?P<braced>\w+)(?:\[[^]]*\])?(?P<operation>[^${}]*)\}|\$(?P<name>\w+)"
    r"|\$\([^()]*\)|`[^`]*`|\$[@*]"
)
"""Without nested ones, so that the inner ones are replaced first."""
_DEFAULT = re.compile(r":?[-=+](.*)", re.DOTALL)
UNKNOWN = "*"
MAX_READINGS, MAX_STEPS = 40, 200


class KnownValues:
    """The values of the variables of a line, as far as they are written in it."""

    def __init__(self, values: Mapping[str, str]) -> None:
        self._values = {name: [value] for name, value in values.items()}

    def learn(self, line: CommandLine) -> None:
        """Add the values that a line assigns."""
        for part in line.parts:
            for assignment in part.assignments:
                word = assignment.value
                value = word.text if word.text is not None else word.raw
                self._values.setdefault(assignment.name, []).append(value)

    def readings(self, raw: str) -> tuple[str, ...]:
        """The texts that a word may stand for, with ``*`` for what is not known."""
        finished: dict[str, None] = {}
        pending = [raw]
        for _ in range(MAX_STEPS):
            if not pending or len(finished) + len(pending) > MAX_READINGS:
                break
            text = pending.pop()
            expansion = _EXPANSION.search(text)
            if expansion is None:
                finished.setdefault(text)
                continue
            before, behind = text[: expansion.start()], text[expansion.end() :]
            pending += [f"{before}{value}{behind}" for value in self._values_of(expansion)]
        finished |= dict.fromkeys(_EXPANSION.sub(UNKNOWN, text) for text in pending)
        return tuple(finished)

    def _values_of(self, expansion: re.Match[str]) -> Iterable[str]:
        values = self._values.get(expansion["braced"] or expansion["name"] or "", [])
        operation = expansion["operation"] or ""
        if default := _DEFAULT.fullmatch(operation):
            return [*(values or [UNKNOWN]), default[1]]
        if operation or expansion["indirect"]:
            return [UNKNOWN]
        return values or [UNKNOWN]


def transforms(raw: str) -> bool:
    """Whether a word changes the value of a variable: ``${x#a}``, ``${x,,}``, ``${!x}``."""
    for expansion in _EXPANSION.finditer(raw):
        operation = expansion["operation"] or ""
        if (operation and not _DEFAULT.fullmatch(operation)) or expansion["indirect"] == "!":
            return True
    return False
