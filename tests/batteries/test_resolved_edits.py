"""Changes of ``ast_edit`` that the tool ``resolve`` applies or discards."""

from __future__ import annotations

from pathlib import Path

from pi.ai.providers.faux import calls, says
from pi.batteries.ast_tools import adapter
from pi.batteries.resolve.adapter import extension as resolving
from pi.extension import (
    ExtensionAPI,
    SubSession,
)
from tests.batteries.ast_tools.test_sessions import (
    ON,
    details,
    edit,
    prepare,
    project,
    results,
    text,
)
from tests.coding.extension_host.extension_session import extension_session

BOTH = (resolving, adapter.extension)


async def test_an_edit_is_previewed_and_then_applied(tmp_path: Path) -> None:
    previewed, applied = await results(
        tmp_path,
        edit("foo($$$A)", "bar($$$A, None)", lang="python"),
        calls("resolve", action="apply", reason="right"),
        extensions=BOTH,
    )

    assert text(previewed).startswith("Preview: 3 replacements in 2 files. Nothing is changed yet.")
    assert "+1 x = bar(1, None)" in text(previewed)
    assert text(applied) == (
        "Applied: 3 replacements in 2 files.\na.py: 2 replacements\nb.py: 1 replacement"
    )
    folder = project(tmp_path)
    changed = b"x = bar(1, None)\r\ny = bar(2, 3, None)\r\n"
    assert (folder / "a.py").read_bytes() == changed
    assert (folder / "b.py").read_text() == "# foo(1)\ns = 'foo(2)'\nbar(foo(7), None)\n"
    assert (folder / "c.ts").read_text() == "const z = foo(9);\n"
    assert details(applied)["sourceDetails"]["replacements"] == 3


async def test_a_discarded_preview_changes_nothing(tmp_path: Path) -> None:
    _, discarded = await results(
        tmp_path,
        edit("foo($X)", "bar($X)"),
        calls("resolve", action="discard", reason="no"),
        extensions=BOTH,
    )

    assert text(discarded) == "Discarded: 3 replacements in 3 files"
    assert "foo(1)" in (project(tmp_path) / "a.py").read_text()


async def test_a_file_that_changed_after_the_preview_is_not_written(tmp_path: Path) -> None:
    _, _, refused = await results(
        tmp_path,
        edit("foo($X)", "bar($X)", lang="python"),
        calls("write", path="b.py", content="foo(8)\n"),
        calls("resolve", action="apply", reason="right"),
        extensions=BOTH,
    )

    assert refused.is_error
    assert text(refused) == (
        "Nothing was changed: b.py changed after the preview."
        " Call ast_edit again for a new preview."
    )
    assert "foo(1)" in (project(tmp_path) / "a.py").read_text()


async def test_previews_work_in_nested_sessions(tmp_path: Path) -> None:
    apis: list[ExtensionAPI] = []
    steps = (
        edit("foo($X)", "bar($X)", lang="python"),
        calls("resolve", action="apply", reason="right"),
        says("done"),
    )
    extensions = (apis.append, resolving, adapter.extension)
    async with extension_session(tmp_path, *extensions, steps=steps, settings=ON) as hosted:
        prepare(Path(hosted.session.workspace.cwd))
        handle = await apis[0].sub_session(SubSession(prompt="go", extensions="all"))
        result = await handle.result()

        assert "done" in str(result)
        choices = [each.options.tool_choice for each in hosted.fixture.provider.requests]
        assert choices == [None, {"type": "tool", "name": "resolve"}, None]
        assert not hosted.host.pending_actions.has_pending
    assert "bar(1)" in (project(tmp_path) / "a.py").read_text()
