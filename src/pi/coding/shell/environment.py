"""What commands get to see of our environment, as rules that can be shown to a person. Pure."""

from __future__ import annotations

import re
from collections.abc import Mapping
from fnmatch import fnmatchcase
from typing import Literal, TypeAlias

from pi.ai.auth.config_values import SHORTEST_SECRET
from pi.ai.auth.secrets import EVERYDAY, SHORTEST_PART
from pi.base.records import Record

WithheldReason: TypeAlias = Literal["credential", "dotenv", "git", "session", "denied"]

MARKS = {"AI_AGENT": "pi", "PI_CODING_AGENT": "true"}
"""Tell every child who started it."""

SESSION_VARIABLES = frozenset(
    {"PI_SESSION_ID", "PI_SESSION_FILE", "PI_PROVIDER", "PI_MODEL", "PI_REASONING_LEVEL"}
)
"""Set anew for the bash tool; a pi that runs inside a pi does not hand on its parent's."""

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
"""Nobody sits at the keyboard of a command: what would ask or page gives up or goes on."""

AUTOMATED = {
    "CI": "true",
    "EDITOR": "true",
    "VISUAL": "true",
    "SSH_ASKPASS": "/usr/bin/false",
    "NPM_CONFIG_YES": "true",
    "NPM_CONFIG_UPDATE_NOTIFIER": "false",
    "YARN_ENABLE_INTERACTIVE": "false",
    "HOMEBREW_NO_AUTO_UPDATE": "1",
}
"""In addition, for the extended bash tool: programs behave as on a build server."""


class EnvironmentRules(Record):
    """Which variables are kept from commands of the person and of the model."""

    credentials: frozenset[str] = frozenset()
    """Keys and tokens of model providers; see ``pi.ai.auth.secrets``."""
    secrets: frozenset[str] = frozenset()
    """Values of keys and tokens: a variable of any name that holds one is withheld, too."""
    from_dotenv: frozenset[str] = frozenset()
    """Names whose value came only from a ``.env`` file."""
    allow: tuple[str, ...] = ()
    """Names or patterns (``AWS_*``) that are let through although they would be withheld."""
    deny: tuple[str, ...] = ()
    """Names or patterns that are withheld in addition; they beat ``allow``."""


class Withheld(Record):
    """A variable that commands do not see; its value is not told."""

    name: str
    reason: WithheldReason


def withheld(environ: Mapping[str, str], rules: EnvironmentRules) -> list[Withheld]:
    """What of ``environ`` commands do not see, sorted by name: for ``pi doctor``."""
    return [
        Withheld(name=name, reason=reason)
        for name in sorted(environ)
        if (reason := _reason(name, environ[name], rules)) is not None
    ]


def command_environment(environ: Mapping[str, str], rules: EnvironmentRules) -> dict[str, str]:
    """The environment of the bash tool and of the user's own ``!`` commands."""
    return program_environment(environ, rules) | UNATTENDED


def program_environment(environ: Mapping[str, str], rules: EnvironmentRules) -> dict[str, str]:
    """The environment of programs that the user sits in front of: editor, browser, uploads."""
    seen = {name: value for name, value in environ.items() if _reason(name, value, rules) is None}
    return seen | MARKS


def set_by_profiles(rules: EnvironmentRules) -> tuple[str, ...]:
    """Secrets that a profile or a prefix may set again in the shell of a command."""
    return tuple(sorted(n for n in rules.credentials if _reason(n, "", rules) is not None))


def automated(environ: Mapping[str, str]) -> dict[str, str]:
    """The variables of ``AUTOMATED``; ``PI_BASH_NO_CI`` leaves out the one that changes most."""
    no_ci = environ.get("PI_BASH_NO_CI") or environ.get("CLAUDE_BASH_NO_CI")
    return {name: value for name, value in AUTOMATED.items() if not (no_ci and name == "CI")}


def service_environment(environ: Mapping[str, str]) -> dict[str, str]:
    """The environment of extensions, MCP servers, status commands, installers and search tools."""
    from pi.base.processes import allow_listed  # no session begins with starting a process

    return allow_listed(environ) | MARKS


def _reason(name: str, value: str, rules: EnvironmentRules) -> WithheldReason | None:
    from pi.base.processes.environment import GIT_PLACES  # as above

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
    """Whether the value is a secret, or contains one that is too long to be there by chance."""
    if len(value) < SHORTEST_SECRET or EVERYDAY.fullmatch(name):
        return False
    return value in rules.secrets or any(
        len(secret) >= SHORTEST_PART and secret in value for secret in rules.secrets
    )


def _matches(name: str, patterns: tuple[str, ...]) -> bool:
    return any(fnmatchcase(name, pattern) for pattern in patterns)
