"""Rulebook and internal URLs: read like files, and written if the handler allows it."""

from __future__ import annotations

from pathlib import Path

from pi.agent.conversation import prompt_text
from pi.ai.messages import ToolResultMessage
from pi.ai.providers.faux import calls, says
from pi.extension import (
    ExtensionAPI,
    FileWritten,
    Resource,
    ResourceRef,
    ResourceWindow,
    ToolFailed,
)
from tests.coding.extension_host.stage import Play, playing


class Rules:
    """``rule://name``."""

    def __init__(self, pi: ExtensionAPI) -> None:
        self._pi = pi

    async def read(self, ref: ResourceRef, window: ResourceWindow) -> Resource:
        found = {
            item.key: item.value.content
            for item in self._pi.context.resources.load("rules")
            if not item.shadowed
        }
        if ref.rest not in found:
            raise ToolFailed(f"There is no rule {ref.rest}. There are: {', '.join(found)}.")
        return Resource(text=found[ref.rest])


class Artifacts:
    """``artifact://number``."""

    def __init__(self, pi: ExtensionAPI) -> None:
        self._pi = pi

    async def read(self, ref: ResourceRef, window: ResourceWindow) -> Resource:
        return Resource(text=self._pi.context.artifacts.read(int(ref.rest)) or "")


class Conflicts:
    """``conflict://number``: writing it decides it, in the file itself."""

    def __init__(self, pi: ExtensionAPI) -> None:
        self._pi = pi

    async def read(self, ref: ResourceRef, window: ResourceWindow) -> Resource:
        return Resource(text="<<<<<<< ours\n1\n=======\n2\n>>>>>>> theirs")

    async def write(self, ref: ResourceRef, text: str) -> FileWritten:
        await self._pi.context.files.write_file("merged", text.encode())
        return FileWritten(notes=("No conflict is left.",))


def urls(pi: ExtensionAPI) -> None:
    pi.add_scheme("rule", Rules(pi))
    pi.add_scheme("artifact", Artifacts(pi))
    pi.add_scheme("conflict", Conflicts(pi))
    pi.add_section("rules", lambda: "Read rule://tabs before you edit.")

    def inner(path: str) -> ResourceRef | None:
        archive, colon, name = path.partition(".zip:")
        return ResourceRef(text=path, rest=f"{archive}/{name}") if colon else None

    class Archive:
        async def read(self, ref: ResourceRef, window: ResourceWindow) -> Resource:
            return Resource(text=f"inside {ref.rest}")

    pi.add_path_form(inner, Archive())


def results(play: Play) -> list[str]:
    found = [m for m in play.session.messages if isinstance(m, ToolResultMessage)]
    return [str(message.content[0].text) for message in found]  # type: ignore[union-attr]


async def test_references_are_read_and_written_by_the_tools_for_files(tmp_path: Path) -> None:
    steps = (
        calls("read", path="rule://tabs"),
        calls("read", path="rule://gone"),
        calls("read", path="artifact://0"),
        calls("read", path="a.zip:b"),
        calls("write", path="conflict://1", content="2"),
        calls("write", path="rule://tabs", content="x"),
        says("ok"),
    )
    async with playing(tmp_path, urls, steps=steps, approve=True) as play:
        play.stage.write("project/.pi/rules/tabs.md", "Use tabs.")
        play.session.artifacts.save("bash", "a long output")
        await play.session.prompt("go")

        assert results(play) == [
            "Use tabs.",
            "There is no rule gone. There are: tabs.",
            "a long output",
            "inside a/b",
            "Successfully wrote to conflict://1\nNo conflict is left.",
            "rule://tabs can only be read.",
        ]
        assert (play.stage.cwd / "merged").read_text() == "2"
        assert "rule://tabs" in prompt_text(play.session.prompts.sections())
        assert play.failures == []
