"""Pages that hang, crash, ask or download, and browsers that are missing or killed."""

from __future__ import annotations

import asyncio
import os
import shlex
import signal
import sys
from pathlib import Path
from typing import Any

import pytest

from pi.ai.providers.faux import calls, says
from pi.batteries.browser.chromium import (
    command_line,
    find_chromium,
    profile_folder,
    sweep_profiles,
)
from pi.batteries.browser.devtools import BrowserGone, DevTools
from pi.extension import ToolFailed
from tests.batteries.browser.browser_session import (
    HTML,
    PATHS,
    browse,
    browsing,
    needs_chromium,
    ref_of,
    results,
)
from tests.coding.web_site import web_site
from tests.files import stand_in

PLAIN = (HTML, b"<!doctype html><title>plain</title><h1>Plain</h1>")


async def browse_site(tmp_path: Path, pages: dict[str, Any], *steps: dict[str, Any]) -> list[str]:
    """Calls whose ``url`` is a path of a loopback site."""
    async with web_site(pages) as site:
        steps_with_urls = [
            {**step, "url": site.url + step["url"]} if "url" in step else step for step in steps
        ]
        return await browse(tmp_path, *steps_with_urls, allow=(f"127.0.0.1:{site.port}",))


def test_a_missing_browser_is_explained(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pi.batteries.browser.chromium.PLACES", (str(tmp_path / "chrome"),))

    with pytest.raises(ToolFailed, match="No Chromium was found") as raised:
        find_chromium({"PATH": str(tmp_path)})
    assert str(tmp_path / "chrome") in raised.value.message
    assert "apt install chromium" in raised.value.message


def test_a_configured_browser_is_preferred_and_must_be_executable(tmp_path: Path) -> None:
    program = tmp_path / "my-chrome"
    program.write_text("#!/bin/sh\n")

    with pytest.raises(ToolFailed, match="is not a program"):
        find_chromium({**PATHS, "PUPPETEER_EXECUTABLE_PATH": str(program)})
    program.chmod(0o755)
    program_path = find_chromium({**PATHS, "PUPPETEER_EXECUTABLE_PATH": str(program)})
    assert program_path == str(program)


def test_the_sandbox_is_disabled_for_root_only(tmp_path: Path) -> None:
    as_user = command_line("chromium", tmp_path, 1, is_root=False)

    assert "--no-sandbox" not in as_user
    assert "--proxy-bypass-list=<-loopback>" in as_user
    assert "--no-sandbox" in command_line("chromium", tmp_path, 1, is_root=True)


def test_a_long_temporary_folder_is_not_used_for_profiles() -> None:
    assert profile_folder("/var/tmp") == Path("/var/tmp")
    assert profile_folder("/var/folders/zz/" + "x" * 30) == Path("/tmp")


def test_profiles_of_ended_processes_are_removed(tmp_path: Path) -> None:
    ended = os.posix_spawn("/bin/true", ["true"], {})
    os.waitpid(ended, 0)
    own, abandoned = (tmp_path / f"pi-browser-{pid}-x" for pid in (os.getpid(), ended))
    own.mkdir()
    abandoned.mkdir()

    sweep_profiles(tmp_path)

    assert own.exists() and not abandoned.exists()


async def test_a_program_that_is_not_a_browser_is_reported(tmp_path: Path) -> None:
    program = tmp_path / "broken"
    program.write_text("#!/bin/sh\necho cannot open display >&2\nexit 1\n")
    program.chmod(0o755)
    environ = {"PUPPETEER_EXECUTABLE_PATH": str(program)}

    (text,) = await browse(
        tmp_path, {"action": "open", "url": "http://a.example/"}, environ=environ
    )

    assert text == "! Chromium ended when it was started.\ncannot open display"


async def test_messages_are_cut_at_zero_bytes_and_have_a_limit(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    class Pipe:
        def __init__(self) -> None:
            self.output = asyncio.StreamReader()

        async def write(self, data: bytes) -> None:
            self.output.feed_data(b'{"method": "E", "params": {"a": 1}}\0{"id": 1, "res')
            self.output.feed_data(b'ult": {"b": 2}}\0' + b"x" * 100)

    monkeypatch.setattr("pi.batteries.browser.devtools.MAX_MESSAGE", 50)
    events: list[Any] = []
    devtools = DevTools(Pipe(), lambda *event: events.append(event))  # type: ignore[arg-type]
    result, _ = await asyncio.gather(devtools.call("A"), devtools.read())

    assert (result, events) == ({"b": 2}, [("", "E", {"a": 1})])
    assert not devtools.is_open


@pytest.mark.parametrize(
    "message",
    [
        *(b"5", b"[1]", b"{}", b'{"id": [1]}', b'{"method": 3}', b"\xff", b"[" * 100_000),
        *(b'{"id": 1, "result": 7}', b'{"method": "E"}'),
    ],
)
async def test_a_message_that_is_not_of_the_protocol_ends_the_browser_with_a_reason(
    message: bytes,
) -> None:
    class Pipe:
        def __init__(self) -> None:
            self.output = asyncio.StreamReader()

        async def write(self, data: bytes) -> None:
            self.output.feed_data(message + b"\0")

    def take(session: str, method: str, params: dict[str, Any]) -> None:
        params["targetInfo"]

    devtools = DevTools(Pipe(), take)  # type: ignore[arg-type]
    reading = asyncio.create_task(devtools.read())
    with pytest.raises(BrowserGone, match="The browser sent an invalid message: "):
        await devtools.call("A")
    await reading


SILENT = """\
import json, os
for _ in range(2):
    asked = b""
    while not asked.endswith(b"\\0"):
        asked += os.read(3, 1)
    answer = {"id": json.loads(asked[:-1])["id"], "result": {}}
    os.write(4, json.dumps(answer).encode() + b"\\0")
os.read(3, 1 << 20)
os.read(3, 1 << 20)
"""


async def test_a_browser_that_opens_no_tab_times_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("pi.batteries.browser.browser.START_SECONDS", 1.0)
    program = stand_in(
        tmp_path / "silent", f"exec {shlex.quote(sys.executable)} -c {shlex.quote(SILENT)}"
    )

    (text,) = await browse(
        tmp_path,
        {"action": "open", "url": "http://a.example/"},
        environ={"PUPPETEER_EXECUTABLE_PATH": str(program)},
    )

    assert text == "! Chromium did not open a tab in 1 s."


@needs_chromium
@pytest.mark.full
async def test_dialogs_downloads_and_new_tabs_do_not_block_the_tool(tmp_path: Path) -> None:
    page = b"""<!doctype html><title>ask</title><script>alert("first")</script>
    <button onclick="this.textContent = confirm('sure?') ? 'yes' : 'no'">ask</button>
    <a href=/file download>file</a><a id=tab href=/plain target=_blank>tab</a><input type=file>"""
    file = (200, {"Content-Disposition": "attachment; filename=a.bin"}, b"\0" * 10)
    texts = await browse_site(
        tmp_path,
        {"/": (HTML, page), "/file": file, "/plain": PLAIN},
        {"action": "open", "url": "/"},
        {"action": "click", "selector": "button"},
        {"action": "click", "selector": "button", "dialogs": "accept"},
        {"action": "click", "selector": "a"},
        {"action": "click", "selector": "#tab"},
        {"action": "click", "selector": "input"},
        {"action": "open", "url": "/file"},
        {"action": "tree"},
    )

    assert "The page showed a dialog (alert): 'first'; accepted." in texts[0]
    assert 'button "no"' in texts[1] and "'sure?'; dismissed." in texts[1]
    assert 'button "yes"' in texts[2]
    assert "a download of a.bin; downloads are refused" in texts[3] + texts[4]
    assert "opened a new tab for http://127.0.0.1" in texts[4]
    assert "files cannot be uploaded" in texts[5]
    assert texts[6].startswith("! ") and "It is a download" in texts[6]
    assert 'button "yes"' in texts[7]


@needs_chromium
@pytest.mark.full
async def test_a_script_that_does_not_end_times_out(tmp_path: Path) -> None:
    texts = await browse_site(
        tmp_path,
        {"/": PLAIN, "/busy": (HTML, b"<title>busy</title><script>for (;;);</script>")},
        {"action": "open", "url": "/"},
        {"action": "evaluate", "script": "for (;;);", "seconds": 1},
        {"action": "evaluate", "script": "6 * 7"},
        {"action": "evaluate", "script": "new Promise(() => 0)", "seconds": 1},
        {"action": "open", "url": "/busy", "seconds": 2},
        {"action": "open", "url": "/"},
        {"action": "wait", "selector": "#never", "seconds": 1},
        {"action": "evaluate", "script": "throw new Error('mine')"},
    )

    assert texts[1].startswith("! evaluate took longer than 1 s.")
    assert "\n\n42" in texts[2]
    assert texts[3].startswith("! evaluate took longer")
    assert texts[4].startswith("! open took longer than 2 s.")
    assert 'heading "Plain"' in texts[5]
    assert texts[6].startswith("! wait took longer")
    assert texts[7].startswith("! The script failed: Error: mine")


class Requests(list[Any]):
    """Requests of a site, and whether there was one for ``/ping``."""

    def __init__(self) -> None:
        super().__init__()
        self.pinged = asyncio.Event()

    def append(self, request: Any) -> None:
        super().append(request)
        if request[0] == "/ping":
            self.pinged.set()


def renderers() -> list[int]:
    """The processes of pages below this process."""
    parents, pids = dict[int, int](), list[int]()
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            stat = (folder / "stat").read_text()
            parents[int(folder.name)] = int(stat.rpartition(")")[2].split()[1])
            if b"--type=renderer" in (folder / "cmdline").read_bytes():
                pids.append(int(folder.name))
        except OSError:
            continue  # it has ended
    return [pid for pid in pids if _is_below(pid, parents)]


def _is_below(pid: int, parents: dict[int, int]) -> bool:
    while pid in parents and pid != os.getpid():
        pid = parents[pid]
    return pid == os.getpid()


@needs_chromium
@pytest.mark.full
@pytest.mark.skipif(sys.platform != "linux", reason="finds the processes of pages in /proc")
async def test_a_tab_that_crashes_is_replaced_by_the_next_open(tmp_path: Path) -> None:
    async with web_site({"/": PLAIN}) as site:
        requests = Requests()
        site.requests = requests
        script = "await fetch('/ping'); await new Promise(() => 0)"
        steps = (
            {"action": "open", "url": site.url},
            {"action": "evaluate", "script": script, "seconds": 60},
            {"action": "tree"},
            {"action": "open", "url": site.url},
        )
        async with browsing(tmp_path, *steps, allow=(f"127.0.0.1:{site.port}",)) as hosted:
            running = asyncio.ensure_future(hosted.session.prompt("go"))
            await asyncio.wait_for(requests.pinged.wait(), 60)
            for pid in renderers():
                os.kill(pid, signal.SIGKILL)
            await running
            texts = results(hosted)

    assert texts[1].startswith("! The tab crashed.")
    assert texts[2].startswith("! No page is open")
    assert 'heading "Plain"' in texts[3]


@needs_chromium
@pytest.mark.full
async def test_a_server_that_does_not_respond_times_out(tmp_path: Path) -> None:
    async def hang(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.read()
        writer.close()

    server = await asyncio.start_server(hang, "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    async with server:
        url = f"http://127.0.0.1:{port}/"
        opened = {"action": "open", "url": url}
        texts = await browse(
            tmp_path, {**opened, "seconds": 1}, {"action": "tree"}, allow=(f"127.0.0.1:{port}",)
        )

    assert texts[0].startswith("! open took longer than 1 s.")
    assert texts[1].startswith("[Page about:blank.")


@needs_chromium
@pytest.mark.full
async def test_an_abort_cancels_the_running_action(tmp_path: Path) -> None:
    async with web_site({"/": PLAIN}) as site:
        steps = (
            {"action": "open", "url": site.url},
            {"action": "wait", "script": "fetch('/ping') && false", "seconds": 120},
        )
        requests = Requests()
        site.requests = requests
        async with browsing(tmp_path, *steps, allow=(f"127.0.0.1:{site.port}",)) as hosted:
            running = asyncio.ensure_future(hosted.session.prompt("go"))
            await asyncio.wait_for(requests.pinged.wait(), 60)
            await hosted.session.abort()
            await running
            texts = results(hosted)

    assert 'heading "Plain"' in texts[0]
    assert len(texts) == 2 and texts[1].startswith("! ")


@needs_chromium
@pytest.mark.full
async def test_elements_are_operated_by_the_refs_of_the_tree(tmp_path: Path) -> None:
    page = b"""<!doctype html><title>refs</title><button onclick="this.textContent='b'">a</button>
    <input disabled aria-label=off><select aria-label=s><option>x<option>y</select>"""
    async with web_site({"/": (HTML, page)}) as site:
        allow = (f"127.0.0.1:{site.port}",)
        opened = {"action": "open", "url": site.url}
        async with browsing(tmp_path, opened, allow=allow) as hosted:
            await hosted.session.prompt("go")
            (tree,) = results(hosted)
            ref = ref_of(tree, 'button "a"')
            hosted.fixture.provider.add(calls("browser", action="click", ref=ref), says("done"))
            await hosted.session.prompt("on")
            assert 'button "b"' in results(hosted)[1]
        texts = await browse(
            tmp_path / "second",
            opened,
            {"action": "type", "selector": "input", "text": "x"},
            {"action": "type", "selector": "select", "text": "z"},
            {"action": "click", "ref": 999999},
            {"action": "click", "selector": "p p"},
            {"action": "click", "selector": "!"},
            {"action": "click"},
            {"action": "type", "key": "Nope"},
            allow=allow,
        )

    assert "disabled or read-only" in texts[1]
    assert "There is no option 'z'. Options: x, y." in texts[2]
    assert "no element with ref 999999" in texts[3]
    assert "No element matches 'p p'" in texts[4]
    assert "'!' is not a CSS selector" in texts[5]
    assert "Name the element" in texts[6]
    assert "Unknown key 'Nope'" in texts[7]
