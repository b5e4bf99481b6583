"""Writes through the scripted server: diagnostics of the new text, formatting, late notes."""

from __future__ import annotations

from pathlib import Path

import pytest

from pi.ai.messages import ToolResultMessage
from pi.ai.providers.faux import calls, says
from tests.base.processes.children import needs_posix_shell
from tests.batteries.lsp.lsp_session import demo, edit, lsp, lsp_session, write
from tests.sampling import sampled

pytestmark = needs_posix_shell

WROTE = "Successfully wrote to a.demo"
CLEAN = "Diagnostics of a.demo: no problems (demo)."
BAD = "Diagnostics of a.demo: 1 error (demo)\n1:6 error: bad word [demo B1]"


@pytest.mark.parametrize("how", sampled(["pull", "register", "push", "plain"], keep=1))
async def test_an_error_is_reported_and_its_fix_is_clean(tmp_path: Path, how: str) -> None:
    steps = (
        write("a.demo", "good BAD\n"),
        edit("a.demo", "BAD", "word"),
        write("a.demo", "very BAD\n"),
        says("done"),
    )
    async with lsp_session(tmp_path, *steps, servers=demo(how), real_time=True) as hosted:
        first, second, third = await hosted.run()

        assert first == f"{WROTE}\n{BAD}"
        assert second == f"Successfully replaced 1 block(s) in a.demo.\n{CLEAN}"
        assert third == f"{WROTE}\n{BAD}"
        assert hosted.failures == []


@pytest.mark.full
@pytest.mark.parametrize("how", ["push", "plain"])
async def test_diagnostics_of_an_older_text_are_dropped(tmp_path: Path, how: str) -> None:
    steps = (
        write("a.demo", "good BAD\n"),
        write("a.demo", "STALE\n"),
        write("a.demo", "STALE BAD\n"),
        says("done"),
    )
    async with lsp_session(tmp_path, *steps, servers=demo(how), real_time=True) as hosted:
        results = await hosted.run()

    assert results == [
        f"{WROTE}\n{BAD}",
        f"{WROTE}\n{CLEAN}",
        f"{WROTE}\n{BAD.replace('1:6', '1:7')}",
    ]


async def test_no_server_is_started_before_a_matching_write(tmp_path: Path) -> None:
    steps = (
        write("a.txt", "BAD\n"),
        lsp("status"),
        write("a.demo", "x\n"),
        lsp("status"),
        says("."),
    )
    async with lsp_session(tmp_path, *steps, real_time=True) as hosted:
        plain, before, _, after = await hosted.run()

    assert plain == "Successfully wrote to a.txt"
    assert before == "No language server has been started."
    assert after.startswith(f"demo [ready] {hosted.cwd} (1 documents)")


async def test_settings_switch_diagnostics_of_write_and_edit_off(tmp_path: Path) -> None:
    steps = (write("a.demo", "BAD\n"), edit("a.demo", "BAD", "BAD BAD"), says("done"))
    settings = {"diagnosticsOnWrite": False, "diagnosticsOnEdit": False}
    async with lsp_session(tmp_path, *steps, settings=settings) as hosted:
        results = await hosted.run()

    assert results == [WROTE, "Successfully replaced 1 block(s) in a.demo."]


async def test_the_result_of_a_formatted_write_shows_the_bytes_on_disk(tmp_path: Path) -> None:
    steps = (write("a.demo", "one  \ntwo BAD \n"), calls("read", path="a.demo"), says("done"))
    settings = {"formatOnWrite": True}
    async with lsp_session(tmp_path, *steps, settings=settings, real_time=True) as hosted:
        written, read = await hosted.run()
        on_disk = (hosted.cwd / "a.demo").read_bytes()

    assert on_disk == b"one\ntwo BAD\n"
    assert read == "one\ntwo BAD\n"
    assert "demo formatted a.demo. On disk, in place of your text:\n@@ -1,2 +1,2 @@\n" in written
    assert "-one  \n-two BAD \n+one\n+two BAD" in written
    assert "2:5 error: bad word [demo B1]" in written


async def test_the_diff_of_an_edit_is_that_of_the_formatted_file(tmp_path: Path) -> None:
    steps = (edit("a.demo", "two", "three  "), says("done"))
    settings = {"formatOnWrite": True}
    files = (("a.demo", "one\ntwo\n"),)
    async with lsp_session(
        tmp_path, *steps, settings=settings, files=files, real_time=True
    ) as hosted:
        await hosted.run()
        [result] = [m for m in hosted.session.messages if isinstance(m, ToolResultMessage)]

    assert isinstance(result.details, dict)
    assert "+2 three\n" in f"{result.details['diff']}\n"


@pytest.mark.timing
async def test_a_slow_server_delays_a_write_by_three_seconds_and_its_result_comes_once(
    tmp_path: Path,
) -> None:
    go = tmp_path / "go"
    steps = (
        write("a.demo", f"BAD WAIT={go}\n"),
        lsp("status"),
        calls("bash", command=f"touch {go}; sleep 0.3"),
        lsp("hover", file="a.demo", symbol="WAIT"),
        lsp("status"),
        says("done"),
        says("again"),
    )
    async with lsp_session(tmp_path, *steps) as hosted:
        results, seconds = await hosted.run_past_the_limit()
        # More on a busy machine: the clock of the test goes on while the file is written.
        assert seconds[0] >= 3
        await hosted.session.prompt("more")
        late = hosted.late

    assert results[0] == (
        f"{WROTE}\ndemo has not answered within 3 s. Its diagnostics follow when they arrive."
    )
    assert late == ["Diagnostics of a.demo: 1 error (demo)\n1:1 error: bad word [demo B1]"]


async def test_a_late_result_is_dropped_if_the_file_has_changed(tmp_path: Path) -> None:
    go = tmp_path / "go"
    steps = (
        write("a.demo", f"BAD WAIT={go}\n"),
        calls("bash", command=f"touch {go}; echo good > a.demo; sleep 0.3"),
        says("done"),
        says("again"),
    )
    async with lsp_session(tmp_path, *steps) as hosted:
        await hosted.run_past_the_limit()
        await hosted.session.prompt("more")

        assert hosted.late == []


async def test_files_that_a_command_changed_are_noticed(tmp_path: Path) -> None:
    steps = (
        write("a.demo", "good\n"),
        calls("bash", command="echo BAD > a.demo; echo BAD > b.part"),
        lsp("diagnostics", file="a.demo"),
        says("done"),
    )
    async with lsp_session(tmp_path, *steps, real_time=True) as hosted:
        results = await hosted.run()

    assert results[2].startswith("Diagnostics of a.demo: 1 error, 1 warning (demo)\n")


async def test_a_binary_or_huge_file_is_not_sent_to_a_server(tmp_path: Path) -> None:
    steps = (write("a.demo", "x" * 2_100_000), lsp("status"), says("done"))
    async with lsp_session(tmp_path, *steps) as hosted:
        written, status = await hosted.run()

    assert (written, status) == (WROTE, "No language server has been started.")
