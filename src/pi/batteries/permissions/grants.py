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
from pi.extension import CommandPart, change_reason


def _names(text: str) -> frozenset[str]:
    return frozenset(text.split())


_SUBCOMMANDS = _names(
    "git npm pnpm yarn bun cargo go docker podman kubectl pip pip3 uv poetry pipenv pdm hatch just "
    "brew apt apt-get systemctl terraform helm gh dotnet mvn gradle rustup conda make bundle rake "
    "npx bunx uvx pipx tox nox mix rails composer deno"
)
"""Programs with subcommands; a grant covers one subcommand."""
_DEEPER: dict[tuple[str, str], int] = {
    ("npm", "run"): 3, ("npm", "exec"): 3, ("pnpm", "run"): 3, ("pnpm", "exec"): 3,
    ("yarn", "run"): 3, ("bun", "run"): 3, ("uv", "run"): 3, ("uv", "pip"): 3, ("uv", "tool"): 3,
    ("poetry", "run"): 3, ("pipenv", "run"): 3, ("pdm", "run"): 3, ("hatch", "run"): 3,
    ("bundle", "exec"): 3, ("conda", "run"): 3, ("docker", "compose"): 3, ("gh", "pr"): 3,
    ("gh", "issue"): 3, ("gh", "run"): 3, ("go", "tool"): 3, ("git", "stash"): 3,
    ("git", "remote"): 3, ("git", "worktree"): 3, ("git", "submodule"): 3,
}  # fmt: skip
"""Subcommands that have subcommands, or run another program: words of the rule."""
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
    if line.unresolved or any(each.writes for each in line.redirections):
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
    words = [word.literal for word in part.words]
    text = _prefix(words) or _exact(words)
    if text is None or not (text or variables):
        return None
    rule = f"Bash({' '.join(filter(None, (*variables, text)))})"
    # The rule is compared with the command: quoting, blanks or stars may keep it from fitting.
    return rule if is_allowed(part, [parse_rule(rule, "allow")], strict=False) else None


def _exact(words: Sequence[str | None]) -> str | None:
    """The command as it is; ``None`` if a rule cannot contain it."""
    if any(word is None or "*" in word or word.endswith(":") for word in words):
        return None
    return " ".join(word or "" for word in words)


def _prefix(words: Sequence[str | None]) -> str:
    """The beginning of a command that a rule with ``:*`` names; empty if only the whole fits."""
    count = _prefix_length(words)
    named = words[:count]
    if not count or any(word is None or not _WORD.fullmatch(word.lstrip("./-")) for word in named):
        return ""
    return f"{' '.join(word or '' for word in named)}:*"


def _prefix_length(words: Sequence[str | None]) -> int:
    """How many words the rule names; 0 if a prefix would allow too much."""
    name = words[0] if words else None
    if name is None:
        return 0
    program = base_name(name)
    second = words[1] if len(words) > 1 else None
    if program in _CHECKERS or re.match(r"\./", name):
        return 1
    if _INTERPRETER.fullmatch(program):
        if second == "-m" and len(words) > 2:
            return 3
        return 2 if second and not second.startswith("-") else 0
    if program in _SUBCOMMANDS and second and re.fullmatch(r"[a-z@./][\w:@./-]*", second):
        count = _DEEPER.get((program, second), 2)
        return count if len(words) >= count else len(words)
    return 0
