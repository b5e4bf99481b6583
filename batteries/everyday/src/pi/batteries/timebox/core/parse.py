"""Parses the arguments of ``/timebox``."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from decimal import Decimal
from typing import TypeAlias

from pi.batteries.timebox.core.budget import Amounts, Dimension

COMPLETIONS = (
    "off",
    "status",
    "15m",
    "30m",
    "1h",
    "turns:3",
    "turns:5",
    "turns:10",
    "requests:20",
    "tokens:200k",
    "cost:2.50",
)
"""Completions of an argument."""

# At most as many digits as a double holds exactly: the original program reads these numbers, too.
_NUMBER = r"([0-9]{1,9}(?:\.[0-9]{1,9})?)"
_TIME = re.compile(rf"{_NUMBER}\s*([smh]?)", re.IGNORECASE)
_TURNS = re.compile(r"turns:\s*([0-9]{1,9})", re.IGNORECASE)
_REQUESTS = re.compile(r"requests:\s*([0-9]{1,9})", re.IGNORECASE)
_TOKENS = re.compile(rf"tokens:\s*{_NUMBER}\s*([km]?)", re.IGNORECASE)
_COST = re.compile(rf"cost:\s*\$?{_NUMBER}", re.IGNORECASE)
_MILLISECONDS = {"s": 1000, "m": 60_000, "": 60_000, "h": 3_600_000}
_TOKENS_OF = {"": 1, "k": 1000, "m": 1_000_000}

_DELIMITER = re.compile(r"(?:^|\s)--(?:\s|$)")
_GAP = re.compile(r"(?<=:)\s+|(?<=[0-9])\s+(?=[smhk](?:\s|$))", re.IGNORECASE)
"""A space inside of one limit, as in ``turns: 5`` or ``15 m``."""


@dataclass(frozen=True, slots=True)
class SetBudget:
    """Set a budget."""

    limits: Amounts
    on_stop_command: str | None = None
    ignored: tuple[str, ...] = ()
    """Words that are not limits."""


@dataclass(frozen=True, slots=True)
class TurnOff:
    """Remove the budget."""


@dataclass(frozen=True, slots=True)
class ShowStatus:
    """Show the remaining budget."""


@dataclass(frozen=True, slots=True)
class Invalid:
    """The text contains no valid limit."""


TimeboxCommand: TypeAlias = SetBudget | TurnOff | ShowStatus | Invalid

_SUB_COMMANDS: dict[str, TimeboxCommand] = {
    "off": TurnOff(),
    "disable": TurnOff(),
    "cancel": TurnOff(),
    "status": ShowStatus(),
}


def parse(text: str) -> TimeboxCommand:
    """Parse ``text``. A later limit overrides an earlier one of the same dimension."""
    budget, _, command = _DELIMITER.sub("\0", text, count=1).partition("\0")
    tokens = _GAP.sub("", budget).split()
    if tokens and (parsed := _SUB_COMMANDS.get(tokens[0].lower())) is not None:
        return parsed
    limits: dict[Dimension, float] = {}
    ignored = []
    for word in tokens:
        if (limit := _limit(word)) is None:
            ignored.append(word)
        else:
            limits |= limit
    if not limits:
        return Invalid()
    return SetBudget(limits, command.strip() or None, tuple(ignored))


def parse_time_ms(word: str) -> int | None:
    """``15m``, ``30s``, ``1.5h`` or minutes without a unit, in milliseconds; else ``None``."""
    return _parse_scaled(_TIME, word, _MILLISECONDS)


def parse_turns(word: str) -> int | None:
    """The number of ``turns:5``; ``None`` for other words."""
    match = _TURNS.fullmatch(word)
    return None if match is None else int(match[1])


def parse_requests(word: str) -> int | None:
    """The number of ``requests:20``; ``None`` for other words."""
    match = _REQUESTS.fullmatch(word)
    return None if match is None else int(match[1])


def parse_tokens(word: str) -> int | None:
    """The number of ``tokens:200k`` or ``tokens:1.5M``; ``None`` for other words."""
    return _parse_scaled(_TOKENS, word, _TOKENS_OF)


def parse_cost(word: str) -> float | None:
    """The US dollars of ``cost:2.50``; ``None`` for other words."""
    match = _COST.fullmatch(word)
    return None if match is None else float(match[1])


_PARSERS: dict[Dimension, Callable[[str], float | None]] = {
    "time": parse_time_ms,
    "turns": parse_turns,
    "requests": parse_requests,
    "tokens": parse_tokens,
    "cost": parse_cost,
}


def _limit(word: str) -> dict[Dimension, float] | None:
    """Parse one limit; ``None`` if the word is not a limit."""
    for dimension, parser in _PARSERS.items():
        if (amount := parser(word)) is not None:
            return {dimension: amount}
    return None


def _parse_scaled(pattern: re.Pattern[str], word: str, units: dict[str, int]) -> int | None:
    match = pattern.fullmatch(word)
    return None if match is None else int(Decimal(match[1]) * units[match[2].lower()])
