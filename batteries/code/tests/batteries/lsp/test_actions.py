"""The ``lsp`` tool with the scripted server."""

from __future__ import annotations

from pathlib import Path

import pytest

from pi.ai.providers.faux import says
from pi.batteries.lsp.actions import locate
from pi.extension import ToolFailed
from tests.base.processes.children import needs_posix_shell
from tests.batteries.lsp.lsp_session import lsp, lsp_session

pytestmark = needs_posix_shell

A = ("a.demo", "one good\ngood b BAD\n")
B = ("b.demo", "good one\n")


async def results(
    tmp_path: Path, *steps: object, files: tuple[tuple[str, str], ...] = (A, B)
) -> tuple[list[str], Path]:
    async with lsp_session(tmp_path, *steps, says("."), files=files, real_time=True) as hosted:  # type: ignore[arg-type]
        found = await hosted.run()
        assert hosted.failures == []
        return found, hosted.cwd


async def test_queries_return_text_and_unsupported_ones_fail(tmp_path: Path) -> None:
    found, _ = await results(
        tmp_path,
        lsp("hover", file="a.demo", symbol="one"),
        lsp("definition", file="a.demo", line=2, symbol="good"),
        lsp("references", file="a.demo", line=2, symbol="good"),
        lsp("symbols", file="a.demo"),
        lsp("symbols", query="good"),
        lsp("diagnostics", file="*.demo"),
        lsp("request", file="a.demo", query="demo/echo", payload='{"x": [1]}'),
        lsp("request", file="a.demo", query="demo/echo", payload="{"),
        lsp("type_definition", file="a.demo", line=1),
    )
    both = "a.demo:1:5: one good\na.demo:2:1: good b BAD"
    assert found[:5] == [
        "the word one",
        both,
        both,
        "variable good :1\nvariable good :2",
        "variable good a.demo:1\nvariable good a.demo:2",
    ]
    assert found[5] == (
        "Diagnostics of a.demo: 1 error (demo)\n2:8 error: bad word [demo B1]\n\n"
        "Diagnostics of b.demo: no problems (demo)."
    )
    assert found[6] == '{\n "x": [\n  1\n ]\n}'
    assert found[7].startswith("! `payload` is not valid JSON")
    assert found[8] == "! demo does not support textDocument/typeDefinition."


async def test_rename_changes_all_files_or_previews_the_changes(tmp_path: Path) -> None:
    found, cwd = await results(
        tmp_path,
        lsp("rename", file="a.demo", line=1, symbol="good", new_name="fine", apply=False),
        lsp("rename", file="a.demo", line=1, symbol="good", new_name="fine"),
    )
    assert found[0] == "Would change:\na.demo: 2 edits\nb.demo: 1 edit"
    assert found[1] == "Changed:\na.demo: 2 edits\nb.demo: 1 edit"
    assert (cwd / "a.demo").read_text() == "one fine\nfine b BAD\n"
    assert (cwd / "b.demo").read_text() == "fine one\n"


async def test_rename_file_moves_it_and_updates_references(tmp_path: Path) -> None:
    found, cwd = await results(tmp_path, lsp("rename_file", file="b.demo", new_name="sub/c.demo"))
    assert found == ["Changed:\nb.demo → sub/c.demo\na.demo: 1 edit"]
    assert not (cwd / "b.demo").exists()
    assert (cwd / "sub/c.demo").read_text() == "good one\n"
    assert (cwd / "a.demo").read_text() == "one good\ngood c BAD\n"


async def test_code_actions_are_listed_and_applied(tmp_path: Path) -> None:
    found, cwd = await results(
        tmp_path,
        lsp("code_actions", file="a.demo", line=2),
        lsp("code_actions", file="a.demo", line=2, apply=True),
        lsp("code_actions", file="a.demo", line=2, query="replace bad", apply=True),
    )
    assert found[0] == "Replace BAD [demo]\nMend by command [demo]"
    assert found[1].startswith("! Several match")
    assert found[2] == "Applied: Replace BAD\nChanged:\na.demo: 1 edit"
    assert (cwd / "a.demo").read_text() == "one good\ngood b good\n"


async def test_an_action_waits_for_the_edit_that_the_server_requests_for_its_command(
    tmp_path: Path,
) -> None:
    found, cwd = await results(
        tmp_path, lsp("code_actions", file="a.demo", query="Mend by command", apply=True)
    )
    assert found == ["Applied: Mend by command\nChanged:\na.demo: 1 edit"]
    assert (cwd / "a.demo").read_text() == "one good\ngood b mended\n"


async def test_an_edit_of_a_command_that_fails_is_in_the_result(tmp_path: Path) -> None:
    found, _ = await results(
        tmp_path,
        lsp("code_actions", file="a.demo", query="Mend by command", apply=True),
        files=(("a.demo", "BAD OUTSIDE\n"),),
    )
    assert found[0].startswith("Applied: Mend by command\nThe edit failed: ")
    assert "outside.demo" in found[0]


async def test_status_and_capabilities_are_shown_and_reload_stops_the_server(
    tmp_path: Path,
) -> None:
    found, cwd = await results(
        tmp_path,
        lsp("capabilities", file="a.demo"),
        lsp("status"),
        lsp("reload", query="demo"),
        lsp("status"),
    )
    assert found[0].startswith("demo: codeActionProvider, definitionProvider, ")
    assert found[1] == f"demo [ready] {cwd} (0 documents)"
    assert found[3] == f"demo [stopped] {cwd} (0 documents)"


def test_a_symbol_is_found_by_line_name_and_number() -> None:
    text = "a = a + aa\n𝄞 = b\n"
    assert locate(text, 1, "a#2") == {"line": 0, "character": 4}
    assert locate(text, 1, "aa") == {"line": 0, "character": 8}
    assert locate(text, None, "b") == {"line": 1, "character": 5}
    with pytest.raises(ToolFailed, match="There is no a#3 on line 1"):
        locate(text, 1, "a#3")
    with pytest.raises(ToolFailed, match="Name a `line`"):
        locate(text, None, "")
