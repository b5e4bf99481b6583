"""Proposes the rule that fits a command: what a dialog offers to store. Pure."""

from __future__ import annotations

import re
from collections.abc import Sequence

from pi.batteries.permissions.commands import (
    SCHEDULERS,
    base_name,
    decisive_assignments,
    is_allowed,
    parsed,
)
from pi.batteries.permissions.rules import parse_rule
from pi.extension.guards import CommandPart, change_reason


def _names(text: str) -> frozenset[str]:
    return frozenset(text.split())


_SUBCOMMANDS = _names(
    "git npm pnpm yarn bun cargo go docker podman kubectl pip pip3 uv poetry pipenv pdm hatch just "
    "brew apt apt-get systemctl terraform helm gh dotnet mvn gradle rustup conda make bundle rake "
    "npx bunx uvx pipx tox nox mix rails composer deno"
)
"""Programs with subcommands; a grant covers one subcommand."""
_DEEPER: dict[str, frozenset[str]] = {
    "npm": _names("run exec config cache token access owner team org dist-tag profile"),
    "pnpm": _names("run exec config store"),
    "yarn": _names("run config cache workspace"),
    "bun": _names("run pm"),
    "uv": _names("run pip tool cache python self"),
    "pip": _names("config cache"),
    "pip3": _names("config cache"),
    "poetry": _names("run config env cache self source"),
    **dict.fromkeys(("pipenv", "pdm", "hatch"), _names("run config env cache")),
    "bundle": _names("exec config"),
    "conda": _names("run env config"),
    **dict.fromkeys(
        ("docker", "podman"),
        _names(
            "compose image container volume network system builder buildx context secret plugin"
        ),
    ),
    "kubectl": _names("config rollout set create auth certificate"),
    "gh": _names(
        "pr issue run repo auth release workflow secret variable gist label cache alias extension "
        "ruleset project ssh-key gpg-key codespace config org search"
    ),
    "go": _names("tool mod env work"),
    "git": _names("stash remote worktree submodule bisect notes reflog bundle lfs maintenance"),
    "helm": _names("repo plugin registry"),
    "brew": _names("services bundle"),
    "terraform": _names("state workspace providers"),
    "rustup": _names("toolchain target component override self"),
}
"""Subcommands that have subcommands, or run another program: these are words of the rule, too."""
_NO_PREFIX = frozenset({("docker", "run"), ("podman", "run"), ("gh", "api")})
"""Subcommands whose arguments decide what they may reach."""
_CHECKERS = _names(
    "pytest py.test unittest mypy pyright ruff black isort flake8 pylint coverage tsc eslint "
    "prettier jest vitest mocha playwright cypress biome phpunit rspec rubocop shellcheck hadolint "
    "golangci-lint gofmt clang-format clang-tidy ctest ninja swiftlint ktlint"
)
"""Programs that check or test a project: a grant covers all arguments."""
_MODULES = _CHECKERS | _names("compileall build venv")
_INTERPRETER = re.compile(r"(?:python|pypy|node|ruby|perl|php|bash|sh)[\d.]*")
_WORD = re.compile(r"[A-Za-z@][\w.:@/+-]*")


def fitting_rules(command: str) -> tuple[str, ...]:
    """The rules that together allow a command line; empty if it can only be allowed once."""
    line = parsed(command)
    if line.unresolved or any(redirection.writes for redirection in line.redirections):
        return ()
    missing = [
        part
        for part in line.parts
        if (part.unresolved or decisive_assignments(part) or change_reason(part))
        and not part.is_launched
        and not is_allowed(part, (), strict=False)
    ]
    return rules_for(missing)


def rules_for(parts: Sequence[CommandPart]) -> tuple[str, ...]:
    """The rules that allow all ``parts``; empty if there is none for one of them."""
    rules = [rule_for(part) for part in parts]
    return () if None in rules else tuple(dict.fromkeys(rule for rule in rules if rule))


def rule_for(part: CommandPart) -> str | None:
    """The rule that would allow a part; ``None`` if no rule can."""
    if part.unresolved or (part.words and part.name is None):
        return None
    if part.name is not None and base_name(part.name) in SCHEDULERS:
        return None
    variables = decisive_assignments(part)
    literals = [word.literal for word in part.words]
    text = _prefix(literals) or _exact(literals)
    if text is None or not (text or variables):
        return None
    rule = f"Bash({' '.join(filter(None, (*variables, text)))})"
    # The rule is compared with the command: quoting, blanks or stars may keep it from fitting.
    return rule if is_allowed(part, [parse_rule(rule, "allow")], strict=False) else None


def _exact(literals: Sequence[str | None]) -> str | None:
    """The command as it is; ``None`` if a rule cannot contain it."""
    if any(word is None or "*" in word or word.endswith(":") for word in literals):
        return None
    return " ".join(word or "" for word in literals)


def _prefix(literals: Sequence[str | None]) -> str:
    """The beginning of a command that a rule with ``:*`` names; empty if only the whole fits."""
    count = _prefix_length(literals)
    named = literals[:count]
    if not count or any(word is None or not _WORD.fullmatch(word.lstrip("./-")) for word in named):
        return ""
    return f"{' '.join(word or '' for word in named)}:*"


def _prefix_length(literals: Sequence[str | None]) -> int:
    """How many words the rule names; 0 if a prefix would allow too much."""
    name = literals[0] if literals else None
    if name is None:
        return 0
    program = base_name(name)
    second = literals[1] if len(literals) > 1 else None
    if program in _CHECKERS or re.match(r"\./", name):
        return 1
    if _INTERPRETER.fullmatch(program):
        if second == "-m" and len(literals) > 2:
            return 3
        return 2 if second and not second.startswith("-") else 0
    if program in _SUBCOMMANDS and second and re.fullmatch(r"[a-z@./][\w:@./-]*", second):
        count = 3 if second in _DEEPER.get(program, ()) else 2
        return 0 if (program, second) in _NO_PREFIX else min(count, len(literals))
    return 0
