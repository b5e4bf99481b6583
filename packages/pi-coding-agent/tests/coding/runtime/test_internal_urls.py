"""``artifact://``, ``agent://`` and ``skill://`` in a session without extensions."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from pi.ai.messages import Image, ToolResultMessage
from pi.ai.providers.faux import Step, calls, says
from pi.coding.runtime.options import ToolFilter
from pi.coding.runtime.session.agent_session import AgentSession
from tests.coding.runtime.session_fixture import SessionFixture

FOUND = '{"findings": [{"file": "a.py"}]}'
SKILL = "---\nname: pdf\ndescription: Fill in forms.\n---\nUse forms.md."
PNG = bytes.fromhex(
    "89504e470d0a1a0a0000000d49484452000000010000000108060000001f15c4890000000d49444154"
    "789c6364f8cf500f0003860180" "5a347d6b0000000049454e44ae426082"
)  # fmt: skip


async def opened(fixture: SessionFixture, **options: Any) -> AgentSession:
    """A session with all tools, an artifact, two outputs and two skills."""
    fixture.write(".pi/agent/skills/pdf/SKILL.md", SKILL)
    fixture.write(".pi/agent/skills/pdf/forms.md", "the forms")
    fixture.write(".pi/agent/skills/pdf/dot.png", "").write_bytes(PNG)
    fixture.write(".pi/agent/skills/loose.md", "---\ndescription: One file.\n---\nLoose.")
    tools = ToolFilter(only=("read", "write", "edit", "ls"))
    session = await fixture.open(tools=tools, **options)
    session.artifacts.save("bash", "one\ntwo\nthree")
    session.artifacts.outputs.save(session.artifacts.outputs.allocate("Anna"), FOUND)
    session.artifacts.outputs.save(session.artifacts.outputs.allocate("Bob"), "# Words")
    return session


async def used(tmp_path: Path, *steps: Step, **options: Any) -> list[ToolResultMessage]:
    """The results of these tool calls."""
    fixture = SessionFixture(tmp_path, *steps, says("done"))
    session = await opened(fixture, **options)
    await session.prompt("go")
    await session.close()
    return [message for message in session.messages if isinstance(message, ToolResultMessage)]


def text_of(result: ToolResultMessage) -> str:
    return str(result.content[0].text)  # type: ignore[union-attr]


@pytest.mark.parametrize("persistent", [True, False])
@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        ({"path": "artifact://0"}, "one\ntwo\nthree"),
        ({"path": "artifact://0", "offset": 3}, "three"),
        ({"path": "artifact://7"}, "Artifact 7 not found. Available: 0"),
        ({"path": "artifact://x"}, "artifact:// ID must be numeric, got: x"),
        ({"path": "agent://Bob"}, "# Words"),
        ({"path": "agent://Anna/findings/0/file"}, "a.py"),
        ({"path": "agent://Anna?q=.findings[0].file"}, "a.py"),
        ({"path": "agent://Cid"}, "Not found: Cid. Available: Anna, Bob"),
        (
            {"path": "agent://Anna/findings", "limit": 1},
            "agent://Anna/findings is a part of an output: offset and limit cannot be used with"
            " it.",
        ),
        ({"path": "skill://pdf"}, SKILL),
        ({"path": "skill://pdf/forms.md"}, "the forms"),
        ({"path": "skill://loose/x"}, "skill://loose/x does not exist: the skill loose is a"
         " single file."),
        ({"path": "skill://docx"}, "Skill not found: docx. Available: loose, pdf"),
        (
            {"path": "skill://pdf/../../auth.json"},
            "skill://pdf/../../auth.json leads out of the folder of the skill.",
        ),
    ],
)  # fmt: skip
async def test_internal_urls_are_read_or_refused_with_a_reason(
    tmp_path: Path, arguments: Any, text: str, persistent: bool
) -> None:
    (result,) = await used(tmp_path, calls("read", **arguments), persistent=persistent)

    assert text_of(result) == text


async def test_an_image_of_a_skill_is_returned_as_an_image(tmp_path: Path) -> None:
    (result,) = await used(tmp_path, calls("read", path="skill://pdf/dot.png"))

    assert any(isinstance(block, Image) for block in result.content)


async def test_names_below_internal_urls_are_listed(tmp_path: Path) -> None:
    urls = ("artifact://", "agent://", "skill://", "skill://pdf")
    results = await used(tmp_path, *(calls("ls", path=url) for url in urls))

    listed = ["0", "Anna\nBob", "loose\npdf", "dot.png\nforms.md\nSKILL.md"]
    assert [text_of(result) for result in results] == listed


async def test_internal_urls_cannot_be_written(tmp_path: Path) -> None:
    edits = [{"oldText": "a", "newText": "b"}]
    write = calls("write", path="artifact://0", content="x")
    results = await used(tmp_path, write, calls("edit", path="skill://pdf", edits=edits))

    assert [(text_of(result), result.is_error) for result in results] == [
        ("artifact://0 can only be read.", True),
        ("skill://pdf can only be read.", True),
    ]


async def test_internal_urls_are_completed_in_the_editor(tmp_path: Path) -> None:
    session = await opened(SessionFixture(tmp_path))

    complete = session.extensions.references
    assert await complete("artifact://") == ["artifact://0"]
    assert await complete("agent://A") == ["agent://Anna", "agent://Bob"]
    assert await complete("skill://") == ["skill://loose", "skill://pdf"]
    assert await complete("other://") == []
    await session.close()
