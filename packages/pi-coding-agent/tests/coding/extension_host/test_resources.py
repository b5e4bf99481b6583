from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from pi.coding.extension_host.api.api import ExtensionAPI
from pi.coding.extension_host.errors import ExtensionError
from tests.coding.extension_host.extension_session import extension_session


async def test_rules_are_found_without_registration(tmp_path: Path) -> None:
    apis: list[ExtensionAPI] = []
    async with extension_session(tmp_path, apis.append, approve=True) as hosted:
        hosted.fixture.write("project/.cursor/rules/tabs.mdc", "Use tabs.")
        (rule,) = apis[0].context.resources.load("rules")

        assert (rule.key, rule.source, rule.scope) == ("tabs", "cursor", "project")


async def test_rules_of_an_untrusted_project_are_not_loaded(tmp_path: Path) -> None:
    apis: list[ExtensionAPI] = []
    async with extension_session(tmp_path, apis.append, approve=False) as hosted:
        hosted.fixture.write("project/.cursor/rules/tabs.mdc", "Use tabs.")
        hosted.fixture.write("project/.pi/rules/tabs.mdc", "Use tabs.")

        assert apis[0].context.resources.load("rules") == ()


async def test_resource_kinds_and_sources_of_extensions_can_be_added_and_removed(
    tmp_path: Path,
) -> None:
    seen: list[Any] = []

    def kinds(pi: ExtensionAPI) -> None:
        pi.context.resources.add_kind("snippets", lambda text, path: (path.stem, text), min)

    def sources(pi: ExtensionAPI) -> None:
        registration = pi.context.resources.add_source(
            "snippets", lambda search: [search.agent_dir / "hello"], priority=1
        )

        @pi.on("session_start")
        def load(event: Any, ctx: Any) -> None:
            seen.extend(item.value for item in ctx.resources.load("snippets"))
            registration.remove()
            seen.extend(ctx.resources.load("snippets"))

    stage_file = tmp_path / "home" / ".pi" / "agent" / "hello"
    stage_file.parent.mkdir(parents=True)
    stage_file.write_text("Hello!")
    async with extension_session(tmp_path, kinds, sources) as hosted:
        assert hosted.failures == []
        assert seen == [("hello", "Hello!")]
        await hosted.host.unload()
        assert len(hosted.host.registries.resource_sources) == 0


async def test_an_unknown_kind_is_reported(tmp_path: Path) -> None:
    apis: list[ExtensionAPI] = []
    async with extension_session(tmp_path, apis.append):
        with pytest.raises(ExtensionError, match="Unknown kind of resource 'songs'"):
            apis[0].context.resources.load("songs")


async def test_skills_and_templates_of_the_session_are_loaded(tmp_path: Path) -> None:
    apis: list[ExtensionAPI] = []
    agent = tmp_path / "home" / ".pi" / "agent"
    for name, text in {
        "skills/tidy/SKILL.md": "---\nname: tidy\ndescription: Tidy up.\n---\nTidy.",
        "prompts/hi.md": "Say hi.",
    }.items():
        (agent / name).parent.mkdir(parents=True)
        (agent / name).write_text(text)

    async with extension_session(tmp_path, apis.append):
        resources = apis[0].context.resources
        (skill,), (prompt,) = resources.load("skills"), resources.load("prompts")

        assert (skill.key, skill.value.description, skill.scope) == ("tidy", "Tidy up.", "user")
        assert (prompt.key, prompt.path) == ("hi", agent / "prompts/hi.md")


async def test_skills_of_accepted_agents_are_loaded(tmp_path: Path) -> None:
    apis: list[ExtensionAPI] = []
    skill = "---\nname: tidy\ndescription: Tidy up.\n---\nTidy."
    for name in (".pi/agent/skills", ".claude/skills", ".codex/skills"):
        path = tmp_path / "home" / name / "tidy" / "SKILL.md"
        path.parent.mkdir(parents=True)
        path.write_text(skill if "codex" not in name else skill.replace("tidy", "neat"))
    sources = '{"sources": {"claude": true, "codex": true}}'
    (tmp_path / "home/.pi/agent/settings.json").write_text(sources)

    async with extension_session(tmp_path, apis.append):
        items = apis[0].context.resources.load("skills")

    assert [(item.key, item.source, item.priority, item.shadowed) for item in items] == [
        ("tidy", "auto", 100, False),
        ("neat", "codex", 100, False),
    ]
