"""Options, commands, settings, links and tests that the documentation names exist."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator
from inspect import signature
from pathlib import Path

import pytest

from pi.cli.options import FLAGS
from pi.cli.subcommand_rows import COMMANDS
from pi.coding.runtime.session.agent_session import AgentSession
from pi.coding.settings.table import SETTINGS
from pi.modes.interactive.commands.table import BUILT_IN
from scripts.workspace import battery_manifests, modules_of_tests
from tests.guide_tables import GUIDE, PAGES

ROOT = GUIDE.parent.parent
EVERYWHERE = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
FOR_PEOPLE = [ROOT / "README.md", *sorted(GUIDE.glob("*.md"))]
"""Pages that show options of pi only; other pages show options of other programs, too."""
OF_TESTS = {"--quick", "--full"}
"""Options of ``./test``, which the README shows."""
FILES = (".json", ".md", ".log", ".py")


def named(pattern: str, pages: list[Path]) -> Iterator[tuple[str, str]]:
    """Yield every match with the name of its page."""
    for page in pages:
        for match in re.finditer(pattern, page.read_text(encoding="utf-8")):
            yield match[1], page.name


@pytest.mark.parametrize("path", PAGES, ids=lambda path: path.name)
def test_a_generated_page_is_up_to_date(path: Path) -> None:
    assert path.read_text(encoding="utf-8") == PAGES[path](), "python -m tests.guide_tables"


def of_batteries() -> dict[str, set[str]]:
    """The subcommands of bundled extensions, with their options."""
    found: dict[str, set[str]] = {}
    for manifest in battery_manifests(ROOT):
        table = tomllib.loads(manifest.read_text(encoding="utf-8")).get("subcommands", {})
        for name, each in table.items():
            found[name] = {f"--{flag}" for flag in each.get("flags", {})}
    return found


def test_every_documented_option_exists() -> None:
    known = {flag.name for flag in FLAGS} | OF_TESTS
    known |= {flag.name for command in COMMANDS for flag in command.flags}
    known = known.union(*of_batteries().values())
    for manifest in battery_manifests(ROOT):
        flags = tomllib.loads(manifest.read_text(encoding="utf-8")).get("flags", {})
        known |= {f"--{name}" for name in flags}

    used = named(r"(?<![\w-])(--[a-z][a-z-]+)", FOR_PEOPLE)

    assert [found for found in used if found[0] not in known] == []


def test_every_documented_slash_command_exists() -> None:
    known = {row.name for row in BUILT_IN}
    for manifest in battery_manifests(ROOT):
        known |= set(tomllib.loads(manifest.read_text(encoding="utf-8")).get("commands", {}))

    assert [found for found in named(r"`/([a-z-]+)", FOR_PEOPLE) if found[0] not in known] == []


def test_every_documented_subcommand_exists() -> None:
    known = {command.name for command in COMMANDS} | {*of_batteries()}
    shown = "".join(block for block, _ in named(r"(?s)```sh\n(.*?)```", FOR_PEOPLE))
    used = set(re.findall(r"(?m)^(?:\./)?pi ([a-z]+)\b", shown))

    assert used - known == set()
    assert used


def test_every_documented_setting_exists() -> None:
    known = {setting.name for setting in SETTINGS}
    used = named(r"`([a-z]\w*\.[a-z][\w.]*)`", [GUIDE / "sessions.md", GUIDE / "safety.md"])

    assert [found for found in used if found[0] not in known and not found[0].endswith(FILES)] == []


def test_every_documented_session_member_exists() -> None:
    page = (ROOT / "docs" / "how-to" / "embed-pi.md").read_text(encoding="utf-8")
    _, _, table = page.partition("| `prompt(text, images)` |")
    table, _, parts = table.partition("\n\n")
    cells = re.findall(r"(?m)^\|([^|]*)\|", table)
    documented = re.findall(r"`(\w+)", "".join(cells)) + re.findall(r"`session\.(\w+)`", parts)
    made_with_it = signature(AgentSession).parameters

    assert "export" in documented
    assert [
        name for name in documented if not hasattr(AgentSession, name) and name not in made_with_it
    ] == []


def test_every_relative_link_has_an_existing_target() -> None:
    broken = [
        (link, page.name)
        for page in EVERYWHERE
        for link in re.findall(r"\]\((?!https?:)([^)#]+)[^)]*\)", page.read_text(encoding="utf-8"))
        if not (page.parent / link).exists()
    ]

    assert broken == []


def test_every_test_named_in_contributing_exists() -> None:
    tests = (path.read_text(encoding="utf-8") for path in modules_of_tests(ROOT))
    known = [name for text in tests for name in re.findall(r"def (test_\w+)\(", text)]
    shown = dict(named(r"(?:-k |`(?=test_))(\w+)`", [ROOT / "CONTRIBUTING.md"]))

    assert [part for part in shown if not any(part in name for name in known)] == []
    assert shown
