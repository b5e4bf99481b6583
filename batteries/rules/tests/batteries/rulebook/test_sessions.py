"""The rulebook in whole sessions, with a script in place of a model."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from pi.agent.conversation import prompt_text
from pi.ai.messages import Text, ToolResultMessage
from pi.ai.providers.faux import Step, calls, says
from pi.batteries.rulebook.adapter import extension
from pi.batteries.stream_rules.adapter import extension as stream_rules
from pi.coding.session.entries import CustomMessage
from pi.coding.session.opening import open_session
from tests.coding.extension_host.extension_session import (
    ExtensionFixture,
    FakeUI,
    extension_session,
)
from tests.files import put

ALWAYS = "---\nalwaysApply: true\n---\nAlways use tabs."
LISTED = "---\ndescription: How tests are written\nglobs: 'tests/**'\n---\nOne claim per test."
FOR_TYPESCRIPT = "---\nalwaysApply: true\nglobs: '*.ts'\n---\nNo any."
HYBRID = "---\nalwaysApply: true\ncondition: FORBIDDEN\n---\nNot the word."


@asynccontextmanager
async def with_rules(
    tmp_path: Path,
    files: dict[str, str],
    *steps: Step,
    extensions: tuple[Any, ...] = (),
    rulebook: dict[str, Any] | None = None,
    settings: dict[str, Any] | None = None,
    **options: Any,
) -> AsyncIterator[ExtensionFixture]:
    """A session with the rulebook; ``files`` are paths below the project."""
    for name, text in files.items():
        put(tmp_path / "home/project" / name, text)
    chosen = {"rulebook": {"enabled": True, **(rulebook or {})}, **(settings or {})}
    options.setdefault("approve", True)
    async with extension_session(
        tmp_path, extension, *extensions, steps=steps, settings=chosen, **options
    ) as hosted:
        yield hosted


def prompt(hosted: ExtensionFixture) -> str:
    return prompt_text(hosted.session.prompts.sections())


def results(hosted: ExtensionFixture) -> list[str]:
    messages = [m for m in hosted.session.messages if isinstance(m, ToolResultMessage)]
    return ["".join(p.text for p in m.content if isinstance(p, Text)) for m in messages]


def sent_rules(hosted: ExtensionFixture) -> list[list[str]]:
    messages = [m for m in hosted.session.messages if isinstance(m, CustomMessage)]
    return [m.details["rules"] for m in messages if m.custom_type == "rulebook-rules"]  # type: ignore[index]


async def test_rules_that_always_apply_come_before_the_list(tmp_path: Path) -> None:
    files = {".pi/rules/list.md": LISTED, ".pi/rules/tabs.md": ALWAYS}
    async with with_rules(tmp_path, files, says("ok")) as hosted:
        await hosted.session.prompt("go")

        text = prompt(hosted)
        assert "<always_rules>\nAlways use tabs.\n</always_rules>\n\n<rulebook>\n# Rules\n" in text
        assert '<rule name="list">How tests are written<glob>tests/**</glob></rule>' in text
        assert "One claim per test." not in text
        system = str(hosted.fixture.provider.requests[0].messages[0])
        assert "Always use tabs." in system
        assert hosted.failures == []


async def test_the_prompt_changes_with_a_reload_only(tmp_path: Path) -> None:
    steps = (calls("write", path=".pi/rules/new.md", content=ALWAYS), says("ok"), says("ok"))
    async with with_rules(tmp_path, {".pi/rules/list.md": LISTED}, *steps) as hosted:
        before = prompt(hosted)
        await hosted.session.prompt("one")
        await hosted.session.prompt("two")

        assert prompt(hosted) == before
        assert [str(r.messages[0]) for r in hosted.fixture.provider.requests] == [
            str(hosted.fixture.provider.requests[0].messages[0])
        ] * 3
    async with with_rules(tmp_path, {}) as hosted:
        assert "Always use tabs." in prompt(hosted)


async def test_rules_are_read_by_their_exact_name(tmp_path: Path) -> None:
    files = {
        ".pi/rules/list.md": LISTED,
        ".pi/rules/tabs.md": ALWAYS,
        ".pi/rules/plain.md": "No front matter.",
        ".pi/rules/word.md": "---\ncondition: FORBIDDEN\n---\nx",
    }
    names = ("list", "tabs", "List", "plain", "word")
    steps = (*(calls("read", path=f"rule://{name}") for name in names), says("ok"))
    on = {"ttsr": {"enabled": True, "builtinRules": False}}
    async with with_rules(
        tmp_path, files, *steps, extensions=(stream_rules,), settings=on
    ) as hosted:
        await hosted.session.prompt("go")

        available = "Available rules: list, tabs"
        assert results(hosted) == [
            "One claim per test.",
            "Always use tabs.",
            f"Unknown rule: List. {available}",
            f"Unknown rule: plain. {available}",
            f"Unknown rule: word. {available}",
        ]


async def test_a_conditional_rule_falls_back_to_always_apply_while_stream_rules_are_off(
    tmp_path: Path,
) -> None:
    files = {".pi/rules/word.md": HYBRID}
    async with with_rules(tmp_path / "off", files, extensions=(stream_rules,)) as hosted:
        assert "Not the word." in prompt(hosted)
    on = {"ttsr": {"enabled": True, "builtinRules": False}}
    for condition, is_back in (("FORBIDDEN", False), ("(", True)):
        text = {".pi/rules/word.md": HYBRID.replace("FORBIDDEN", condition)}
        async with with_rules(
            tmp_path / str(is_back), text, extensions=(stream_rules,), settings=on
        ) as hosted:
            assert ("Not the word." in prompt(hosted)) is is_back


async def test_a_disabled_rule_is_not_offered(tmp_path: Path) -> None:
    files = {
        ".pi/rules/tabs.md": ALWAYS,
        ".pi/rules/off.md": ALWAYS.replace("alwaysApply", "enabled: false\nalwaysApply"),
    }
    off = {"ttsr": {"disabledRules": ["tabs"]}}
    steps = (calls("read", path="rule://tabs"), says("ok"))
    async with with_rules(tmp_path, files, *steps, settings=off) as hosted:
        await hosted.session.prompt("go")

        assert "tabs" not in prompt(hosted)
        assert results(hosted) == ["Unknown rule: tabs. Available rules: none"]


async def test_rules_of_every_agent_are_used_and_the_first_of_a_name_is_preferred(
    tmp_path: Path,
) -> None:
    files = {
        ".pi/rules/same.md": ALWAYS,
        ".claude/rules/same.md": "---\nalwaysApply: true\n---\nOf Claude Code.",
        ".codex/rules/c.md": "---\nalwaysApply: true\n---\nOf Codex.",
        ".agents/rules/a.md": "---\nalwaysApply: true\n---\nOf agents.",
        ".gemini/rules/g.md": "---\nalwaysApply: true\n---\nOf Gemini.",
        ".cursor/rules/u.mdc": "---\nalwaysApply: true\nglobs: *.ts,*.tsx\n---\nOf Cursor.",
        ".cursorrules": "Of old Cursor.",
        ".windsurf/rules/w.md": "---\ntrigger: always_on\n---\nOf Windsurf.",
        ".windsurfrules": "Of old Windsurf.",
        ".clinerules/l.md": "---\nalwaysApply: true\n---\nOf Cline.",
    }
    async with with_rules(tmp_path, files) as hosted:
        text = prompt(hosted)
        positions = [
            text.index(content)
            for content in (
                *("Always use tabs.", "Of Codex.", "Of agents.", "Of Gemini.", "Of Cursor."),
                *("Of old Cursor.", "Of Windsurf.", "Of old Windsurf.", "Of Cline."),
            )
        ]
        assert positions == sorted(positions)
        assert "Of Claude Code." not in text


async def test_rules_of_an_untrusted_project_are_not_read(tmp_path: Path) -> None:
    files = {".cursorrules": "Of the project.", ".pi/rules/tabs.md": ALWAYS}
    put(tmp_path / "home/.pi/agent/rules/mine.md", "---\nalwaysApply: true\n---\nMy own.")
    ui = FakeUI()
    async with with_rules(tmp_path, files, approve=False, ui=ui) as hosted:
        await hosted.session.prompt("/rules")

        assert "My own." in prompt(hosted)
        assert "Of the project." not in prompt(hosted)
        assert "Always use tabs." not in prompt(hosted)
        assert "The project is not trusted: its rules are not read." in ui.seen[-1][1]


async def test_globs_are_shown_unless_they_are_enforced(tmp_path: Path) -> None:
    files = {".pi/rules/ts.md": FOR_TYPESCRIPT}
    steps = (calls("write", path="a.ts", content="1"), says("ok"))
    async with with_rules(tmp_path, files, *steps) as hosted:
        await hosted.session.prompt("go")

        assert "No any." in prompt(hosted)
        assert sent_rules(hosted) == []


async def test_enforced_globs_send_the_rule_with_the_first_matching_file(tmp_path: Path) -> None:
    files = {".pi/rules/ts.md": FOR_TYPESCRIPT, ".pi/rules/tabs.md": ALWAYS, "old.ts": "1"}
    steps = (
        calls("write", path="a.py", content="1"),
        calls("read", path="gone.ts"),
        calls("read", path="old.ts"),
        calls("write", path="src/new.ts", content="2"),
        calls("read", path="rule://ts"),
        says("ok"),
    )
    async with with_rules(tmp_path, files, *steps, rulebook={"globs": "enforce"}) as hosted:
        await hosted.session.prompt("go")

        assert "No any." not in prompt(hosted)
        assert "Always use tabs." in prompt(hosted)
        assert sent_rules(hosted) == [["ts"]]
        requests = [str(request.messages) for request in hosted.fixture.provider.requests]
        assert ["No any." in text for text in requests] == [False] * 3 + [True] * 3
        assert results(hosted)[-1] == "No any."
        assert hosted.failures == []


async def test_a_rule_for_a_written_file_is_sent_once_also_in_a_resumed_session(
    tmp_path: Path,
) -> None:
    files = {".pi/rules/ts.md": FOR_TYPESCRIPT}
    steps = (calls("write", path="a.ts", content="1"), says("ok"))
    how: dict[str, Any] = {"rulebook": {"globs": "enforce"}}
    async with with_rules(tmp_path, files, *steps, **how) as hosted:
        await hosted.session.prompt("go")
        assert sent_rules(hosted) == [["ts"]]
        file = hosted.session.session_file
    assert file is not None
    resumed: dict[str, Any] = {"open_log": lambda location: open_session(file, location)}
    async with with_rules(tmp_path, files, *steps, **how, **resumed) as hosted:
        await hosted.session.prompt("go")
        assert sent_rules(hosted) == [["ts"]]


async def test_the_command_works_while_the_rulebook_is_off(tmp_path: Path) -> None:
    ui = FakeUI()
    files = {".pi/rules/tabs.md": ALWAYS}
    async with with_rules(tmp_path, files, rulebook={"enabled": False}, ui=ui) as hosted:
        await hosted.session.prompt("/rules")
        await hosted.session.prompt("/rules tabs")
        await hosted.session.prompt("/rules tab")

        listed, one, unknown = (seen[1] for seen in ui.seen)
        assert listed.startswith("The rulebook is off")
        assert "tabs: alwaysApply (pi, project, .pi/rules/tabs.md)" in listed
        assert one.endswith("Always use tabs.\n")
        assert unknown == "Unknown rule tab. Did you mean tabs?\n"
        assert "Always use tabs." not in prompt(hosted)


async def test_stream_rules_are_listed_with_the_bundled_ones(tmp_path: Path) -> None:
    ui = FakeUI()
    on = {"ttsr": {"enabled": True}}
    files = {".pi/rules/word.md": HYBRID}
    async with with_rules(
        tmp_path, files, extensions=(stream_rules,), settings=on, ui=ui
    ) as hosted:
        await hosted.session.prompt("/rules")

        listed = ui.seen[-1][1]
        assert "word: has a condition (pi, project, .pi/rules/word.md)" in listed
        assert "no-verify: Hooks of git are not skipped. (builtin-defaults)" in listed
