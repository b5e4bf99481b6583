"""Rulebook and internal URLs: read like files, and written if the handler allows it."""

from __future__ import annotations

import asyncio
from pathlib import Path

from pi.agent.conversation import prompt_text
from pi.ai.messages import Image, Text, ToolResultMessage
from pi.ai.providers.faux import call, calls, says
from pi.base.errors import PiError
from pi.extension import (
    ExtensionAPI,
    FileWritten,
    Resource,
    ResourceRef,
    ResourceWindow,
    ToolFailed,
)
from tests.coding.extension_host.extension_session import ExtensionFixture, extension_session

DOT = Image(
    data="iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==",
    mime_type="image/png",
)


class Rules:
    """``rule://name``."""

    def __init__(self, pi: ExtensionAPI) -> None:
        self._pi = pi

    async def read(self, ref: ResourceRef, window: ResourceWindow) -> Resource:
        rules = {
            item.key: item.value.content
            for item in self._pi.context.resources.load("rules")
            if not item.shadowed
        }
        if ref.rest not in rules:
            raise ToolFailed(f"There is no rule {ref.rest}. There are: {', '.join(rules)}.")
        return Resource(text=rules[ref.rest])


class Artifacts:
    """``artifact://number``."""

    def __init__(self, pi: ExtensionAPI) -> None:
        self._pi = pi

    async def read(self, ref: ResourceRef, window: ResourceWindow) -> Resource:
        return Resource(text=self._pi.context.artifacts.read(int(ref.rest)) or "")


class Conflicts:
    """``conflict://number``: writing it resolves the conflict in the file."""

    def __init__(self, pi: ExtensionAPI) -> None:
        self._pi = pi

    async def read(self, ref: ResourceRef, window: ResourceWindow) -> Resource:
        return Resource(text="<<<<<<< ours\n1\n=======\n2\n>>>>>>> theirs")

    async def write(self, ref: ResourceRef, text: str) -> FileWritten:
        await self._pi.context.files.write_file("merged", text.encode())
        return FileWritten(text=f"Resolved {ref.text}.", notes=("No conflict is left.",))


class Archive:
    """``name.zip:entry``, as lines of ``entry=text``: writing an entry rewrites the archive."""

    def __init__(self, pi: ExtensionAPI) -> None:
        self._pi = pi

    def touches(self, ref: ResourceRef) -> tuple[str, ...]:
        return (self._file(ref),)

    async def read(self, ref: ResourceRef, window: ResourceWindow) -> Resource:
        if ref.rest.endswith(".png"):
            return Resource(content=(Text(text="a dot"), DOT), details={"width": 1})
        return Resource(text=f"inside {ref.rest}")

    async def write(self, ref: ResourceRef, text: str) -> None:
        files, archive = self._pi.context.files, self._file(ref)
        try:
            before = await files.read_file(archive)
        except PiError:
            before = b""
        await asyncio.sleep(0.01)
        await files.write_file(archive, before + f"{ref.rest}={text}\n".encode())

    @staticmethod
    def _file(ref: ResourceRef) -> str:
        return ref.text.partition(":")[0]


def urls(pi: ExtensionAPI) -> None:
    pi.add_scheme("rule", Rules(pi))
    pi.add_scheme("artifact", Artifacts(pi))
    pi.add_scheme("conflict", Conflicts(pi))
    pi.add_section("rules", lambda: "Read rule://tabs before you edit.")

    def inner(path: str) -> ResourceRef | None:
        archive, colon, name = path.partition(".zip:")
        return ResourceRef(text=path, rest=f"{archive}/{name}") if colon else None

    pi.add_path_form(inner, Archive(pi))


def results(hosted: ExtensionFixture) -> list[str]:
    messages = [m for m in hosted.session.messages if isinstance(m, ToolResultMessage)]
    return [str(message.content[0].text) for message in messages]  # type: ignore[union-attr]


async def test_file_tools_read_and_write_references(tmp_path: Path) -> None:
    steps = (
        calls("read", path="rule://tabs"),
        calls("read", path="rule://gone"),
        calls("read", path="artifact://0"),
        calls("read", path="a.zip:b"),
        calls("write", path="conflict://1", content="2"),
        calls("write", path="rule://tabs", content="x"),
        says("ok"),
    )
    async with extension_session(tmp_path, urls, steps=steps, approve=True) as hosted:
        hosted.fixture.write("project/.pi/rules/tabs.md", "Use tabs.")
        hosted.session.artifacts.save("bash", "a long output")
        await hosted.session.prompt("go")

        assert results(hosted) == [
            "Use tabs.",
            "There is no rule gone. There are: tabs.",
            "a long output",
            "inside a/b",
            "Resolved conflict://1.\nNo conflict is left.",
            "rule://tabs can only be read.",
        ]
        assert (hosted.fixture.cwd / "merged").read_text() == "2"
        assert "rule://tabs" in prompt_text(hosted.session.prompts.sections())
        assert hosted.failures == []


async def test_parallel_writes_into_one_archive_lose_no_entry(tmp_path: Path) -> None:
    """``./a.zip`` and ``a.zip`` are one file."""
    both = says(
        "now",
        call("write", path="a.zip:x", content="1"),
        call("write", path="./a.zip:y", content="2"),
    )
    async with extension_session(tmp_path, urls, steps=(both, says("ok")), approve=True) as hosted:
        await hosted.session.prompt("go")

        written = (hosted.fixture.cwd / "a.zip").read_text().splitlines()
        assert [line.partition("=")[2] for line in written] == ["1", "2"]


async def test_a_reference_can_return_images_and_details(tmp_path: Path) -> None:
    steps = (calls("read", path="a.zip:dot.png"), says("ok"))
    async with extension_session(tmp_path, urls, steps=steps, approve=True) as hosted:
        await hosted.session.prompt("go")

        (result,) = [m for m in hosted.session.messages if isinstance(m, ToolResultMessage)]
        assert result.content == (Text(text="a dot"), DOT)
        assert result.details == {"width": 1}
