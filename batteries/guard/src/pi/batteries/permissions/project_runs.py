"""Which commands test, check or build the project, and so run its code. Pure."""

from __future__ import annotations

import re

from pi.batteries.permissions.commands import base_name
from pi.extension.guards import CommandPart

_PYTHON_CHECKERS = (
    r"pytest|py\.test|unittest|mypy|pyright|basedpyright|ruff|black|isort|flake8|pylint|coverage|tox"
    "|nox|compileall"
)
_NODE_CHECKERS = "tsc|vue-tsc|svelte-check|eslint|prettier|jest|vitest|mocha|biome|ava|stylelint"
_CHECKERS = re.compile(
    rf"{_PYTHON_CHECKERS}|{_NODE_CHECKERS}|phpunit|phpstan|rspec|rubocop|shellcheck|hadolint"
    r"|golangci-lint|gofmt|clang-format|clang-tidy|ctest|ninja|swiftlint|ktlint"
)
"""Programs that only test or check a project, with any arguments."""
_SCRIPTS = (
    r"(?:(?:run|run-script) )?(?:test|t|tests|lint|build|check|typecheck|type-check|types|tsc"
    r"|format|fmt|unit|coverage)(?:[:_-][\w:-]*)?"
)
"""Scripts of ``package.json`` by their usual names: others may start servers."""
_PROJECT_RUNS = re.compile(
    rf"python[\d.]* -m (?:{_PYTHON_CHECKERS})\b.*"
    rf"|(?:uv|poetry|pipenv|pdm|rye|hatch) run (?:python[\d.]* -m )?(?:{_PYTHON_CHECKERS})\b.*"
    rf"|(?:npm|pnpm|yarn|bun|composer) {_SCRIPTS}(?: .*)?"
    rf"|(?:npx|bunx|pnpm exec|yarn) (?:{_NODE_CHECKERS})\b.*"
    r"|node --test\b.*|deno (?:test|check|lint|fmt)\b.*"
    r"|cargo (?:test|check|build|clippy|fmt|bench|nextest)\b.*|go (?:test|vet|build|fmt)\b.*"
    r"|make(?: -\S+| \d+)*"
    r"(?: (?:test|check|lint|build|all|clean|format|fmt|type|unit|coverage)[\w-]*)*"
    r"|(?:just|rake|bundle exec rake) (?:test|check|lint|build|spec|fmt)[\w-]*"
    r"|bundle exec (?:rspec|rubocop)\b.*"
    r"|(?:gradle|gradlew|mvn|mvnw)(?: -\S+)* (?:test|check|build|verify|compile|assemble|clean)\b.*"
    r"|(?:dotnet|swift|flutter|dart) (?:test|build|analyze)\b.*"
    r"|mix (?:test|compile|format|credo)\b.*"
    r"|(?:bazel|zig|stack|cabal) (?:test|build)\b.*|cmake --build\b.*|meson (?:test|compile)\b.*",
    re.DOTALL,
)


def tests_project(part: CommandPart) -> bool:
    """Whether a part tests, checks or builds the project, which runs the code of the project."""
    name = base_name(part.name or "")
    if _CHECKERS.fullmatch(name):
        return True
    others = (word.literal if word.literal is not None else "?" for word in part.arguments)
    return _PROJECT_RUNS.fullmatch(" ".join((name, *others))) is not None
