"""``ast_grep`` and ``ast_edit`` in real sessions, with the real parser."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from pi.ai.messages import Text, ToolResultMessage
from pi.ai.providers.faux import Step, calls, says
from pi.batteries.ast_tools import adapter
from pi.batteries.ast_tools.parser_process import reason_of
from pi.batteries.ast_tools.views import edit as edit_view
from pi.batteries.ast_tools.views import search as search_view
from pi.coding.port.drawing import PlainTheme
from pi.extension import (
    SYNTAX_LANGUAGES,
    ExtensionAPI,
    ToolFailed,
    ToolView,
    ViewOptions,
)
from tests.coding.extension_host.extension_session import extension_session

ON = {"astTools": {"enabled": True}}
pytest.importorskip("ast_grep_py", reason="ast-grep-py is not installed")


def prepare(folder: Path) -> None:
    (folder / "a.py").write_text("x = foo(1)\r\ny = foo(\r\n    2, 3)\r\n", newline="")
    (folder / "b.py").write_text("# foo(1)\ns = 'foo(2)'\nfoo(foo(7))\n")
    (folder / "c.ts").write_text("const z = foo(9);\n")
    (folder / "latin.py").write_bytes(b"foo('\xe9')\n")


async def results(
    tmp_path: Path,
    *steps: Step,
    ready: Callable[[Path], None] = prepare,
    extensions: tuple[Callable[[ExtensionAPI], object], ...] = (adapter.extension,),
) -> list[ToolResultMessage]:
    script = (*steps, says("done"))
    async with extension_session(tmp_path, *extensions, steps=script, settings=ON) as hosted:
        ready(Path(hosted.session.workspace.cwd))
        await hosted.session.prompt("go")
        assert hosted.failures == []
        return [m for m in hosted.session.messages if isinstance(m, ToolResultMessage)]


def text(result: ToolResultMessage) -> str:
    return "\n".join(part.text for part in result.content if isinstance(part, Text))


def details(result: ToolResultMessage) -> Any:
    return result.details


def project(tmp_path: Path) -> Path:
    return next(tmp_path.rglob("project"))


def search(pattern: str, **more: Any) -> Step:
    return calls("ast_grep", pattern=pattern, **more)


def edit(pattern: str, rewrite: str, **more: Any) -> Step:
    return calls("ast_edit", ops=[{"pattern": pattern, "rewrite": rewrite}], **more)


async def test_code_is_found_and_strings_and_comments_are_not(tmp_path: Path) -> None:
    (found,) = await results(tmp_path, search("foo($$$A)", lang="py"))

    assert text(found).splitlines() == [
        "a.py",
        "1: x = foo(1)",
        "2: y = foo(",
        "3:     2, 3)",
        "b.py",
        "3: foo(foo(7))",
        "3: foo(foo(7))",
    ]
    assert details(found)["total"] == 4


async def test_a_search_without_matches_is_marked_as_useless(tmp_path: Path) -> None:
    found, nothing = await results(tmp_path, search("foo($$$A)"), search("nowhere($A)"))

    assert (found.useless is True, nothing.useless is True) == (False, True)


async def test_a_search_can_be_continued(tmp_path: Path) -> None:
    first, second = await results(
        tmp_path, search("foo($$$A)", limit=2), search("foo($$$A)", limit=9, offset=2)
    )

    assert text(first).endswith("[3 more matches. Use offset=2 to continue.]")
    assert "c.ts\n1: const z = foo(9);" in text(second)


async def test_ignored_files_are_left_out(tmp_path: Path) -> None:
    def repository(folder: Path) -> None:
        prepare(folder)
        (folder / ".gitignore").write_text("b.py\n")
        subprocess.run(["git", "init", "-q", str(folder)], check=True)

    (found,) = await results(tmp_path, search("foo($X)"), ready=repository)

    assert details(found)["files"] == 2
    assert "b.py" not in text(found)


@pytest.mark.parametrize(
    ("step", "error"),
    [
        (search("foo($X)", lang="cobol"), "Unsupported language 'cobol'. Supported: bash, c,"),
        (search("foo($X)", path="nowhere"), "There is no file or folder nowhere."),
        (search("foo($X)", glob="*.rs"), "There are no files in a supported language at ."),
        (search("a\nb", lang="python"), "The pattern 'a\\nb' is invalid (python): "),
        (edit(" ", "x"), "The pattern ' ' is invalid"),
    ],
)
async def test_invalid_calls_fail_with_an_explanation(
    tmp_path: Path, step: Step, error: str
) -> None:
    (failed,) = await results(tmp_path, step)

    assert failed.is_error
    assert text(failed).startswith(error)


def test_a_missing_parser_is_reported_with_its_install_command(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(adapter, "can_parse_syntax", lambda: False)

    with pytest.raises(ToolFailed, match=r"Install it: .*'ast-grep-py>="):
        adapter.require_parser()


def test_backtraces_of_the_parser_are_left_out() -> None:
    raw = "cannot get matcher\n\nCaused by:\n    0: a\n    1: No root.\n\nStack backtrace:\n  0: x"

    assert reason_of(raw) == "No root."


def test_every_language_of_the_list_can_be_parsed() -> None:
    from ast_grep_py import SgRoot

    for language in SYNTAX_LANGUAGES:
        assert SgRoot("x", language).root() is not None


async def test_a_pattern_without_matches_leaves_nothing_pending(tmp_path: Path) -> None:
    (nothing,) = await results(tmp_path, edit("absent($X)", "x"))

    assert text(nothing) == "No matches in 3 files. Nothing is pending."


def view_of(shown: Any, **fields: Any) -> ToolView:
    arguments = {"pattern": "foo($X)"}
    return ToolView(
        **{"id": "1", "name": "ast", "arguments": arguments, "state": "done", "details": shown}
        | fields
    )


def test_views_are_collapsed_and_expanded() -> None:
    matches = [{"path": "a.py", "line": n, "lastLine": n, "text": f"foo({n})"} for n in range(20)]
    found = view_of({"matches": matches, "total": 20, "files": 1})
    diff = "\n".join(f"+{n} line" for n in range(20))
    files = [{"path": "a.py", "replacements": 20, "diff": diff}]
    changed = view_of({"files": files, "label": "20 replacements in 1 file"})

    for view, thing in ((search_view, found), (edit_view, changed)):
        collapsed = view(thing, ViewOptions(), PlainTheme())
        expanded = view(thing, ViewOptions(expanded=True), PlainTheme())
        assert collapsed is not None
        assert expanded is not None
        assert (len(collapsed), collapsed[-1]) == (12, "… 11 more lines")
        assert len(expanded) == 22
        assert view(view_of(None), ViewOptions(), PlainTheme()) is None
