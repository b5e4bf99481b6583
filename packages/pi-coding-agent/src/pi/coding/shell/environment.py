"""Environment variables for child processes, and the rules that withhold some of them. Pure."""

from __future__ import annotations

import re
from collections.abc import Mapping
from fnmatch import fnmatchcase
from typing import Literal, TypeAlias

from pi.ai.auth.config_values import SHORTEST_SECRET
from pi.base.records import Record

WithheldReason: TypeAlias = Literal["credential", "dotenv", "git", "session", "denied"]

MARKER_VARIABLES = {"AI_AGENT": "pi", "PI_CODING_AGENT": "true"}
"""Set for every child process."""

SESSION_VARIABLES = frozenset(
    {"PI_SESSION_ID", "PI_SESSION_FILE", "PI_PROVIDER", "PI_MODEL", "PI_REASONING_LEVEL"}
)
"""Set for the bash tool. A nested pi does not pass on those of its parent."""

UNATTENDED = {
    "GIT_TERMINAL_PROMPT": "0",
    "GIT_EDITOR": "true",
    "GIT_SEQUENCE_EDITOR": "true",
    "GIT_MERGE_AUTOEDIT": "no",
    "GIT_PAGER": "cat",
    "GCM_INTERACTIVE": "never",
    "SSH_ASKPASS_REQUIRE": "never",
    "PAGER": "cat",
    "MANPAGER": "cat",
    "SYSTEMD_PAGER": "cat",
    "DEBIAN_FRONTEND": "noninteractive",
    "PIP_NO_INPUT": "1",
}
"""Commands have no keyboard: programs must not prompt, page or open an editor."""


class EnvironmentRules(Record):
    """The variables that are withheld from commands of the user and of the model."""

    credentials: frozenset[str] = frozenset()
    """Keys and tokens of model providers; see ``pi.ai.auth.secrets``."""
    secrets: frozenset[str] = frozenset()
    """Values of keys and tokens: a variable that contains one is withheld, whatever its name."""
    from_dotenv: frozenset[str] = frozenset()
    """Names that are set only by a ``.env`` file."""
    allow: tuple[str, ...] = ()
    """Names or patterns (``AWS_*``) that are passed on although they would be withheld."""
    deny: tuple[str, ...] = ()
    """Names or patterns that are withheld in addition; takes precedence over ``allow``."""


class Withheld(Record):
    """A variable that commands do not see, without its value."""

    name: str
    reason: WithheldReason


def withheld_variables(environ: Mapping[str, str], rules: EnvironmentRules) -> list[Withheld]:
    """Return the variables that commands do not see, sorted by name, for ``pi doctor``."""
    return [
        Withheld(name=name, reason=reason)
        for name in sorted(environ)
        if (reason := _reason(name, environ[name], rules)) is not None
    ]


def command_environment(environ: Mapping[str, str], rules: EnvironmentRules) -> dict[str, str]:
    """Return the environment of the bash tool and of the user's ``!`` commands."""
    return program_environment(environ, rules) | UNATTENDED


def program_environment(environ: Mapping[str, str], rules: EnvironmentRules) -> dict[str, str]:
    """Return the environment of interactive programs: editor, browser, uploads."""
    seen = {name: value for name, value in environ.items() if _reason(name, value, rules) is None}
    return seen | MARKER_VARIABLES


def set_by_profiles(rules: EnvironmentRules) -> tuple[str, ...]:
    """Return the secrets to unset, because a shell profile or prefix may set them again."""
    return tuple(sorted(n for n in rules.credentials if _reason(n, "", rules) is not None))


def service_environment(environ: Mapping[str, str]) -> dict[str, str]:
    """Return the environment of extensions, MCP servers, status commands, installers, searches."""
    from pi.base.processes import allow_listed  # lazy: starting pi runs no process

    return allow_listed(environ) | MARKER_VARIABLES


def _reason(name: str, value: str, rules: EnvironmentRules) -> WithheldReason | None:
    from pi.base.processes.environment import GIT_PLACES  # lazy: starting pi runs no process

    if _matches(name, rules.deny):
        return "denied"
    if name in SESSION_VARIABLES:
        return "session"
    if _matches(name, rules.allow):
        return None
    if name in rules.credentials or _holds_secret(name, value, rules):
        return "credential"
    if name in rules.from_dotenv:
        return "dotenv"
    return "git" if re.fullmatch(GIT_PLACES, name) else None


def _holds_secret(name: str, value: str, rules: EnvironmentRules) -> bool:
    """Whether the value is a secret, or contains one that is too long to match by chance."""
    from pi.ai.auth.secrets import EVERYDAY, SHORTEST_PART  # lazy: starting pi runs no process

    if len(value) < SHORTEST_SECRET or re.fullmatch(EVERYDAY, name):
        return False
    return value in rules.secrets or any(
        len(secret) >= SHORTEST_PART and secret in value for secret in rules.secrets
    )


def _matches(name: str, patterns: tuple[str, ...]) -> bool:
    return any(fnmatchcase(name, pattern) for pattern in patterns)
