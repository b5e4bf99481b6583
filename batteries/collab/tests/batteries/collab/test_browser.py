"""The browser client in real Chromium, with a real relay and a real host."""

from __future__ import annotations

import asyncio
import json
import shutil
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio

from pi.ai.messages import (
    AssistantMessage,
    Text,
    Thinking,
    ToolCall,
    ToolResultMessage,
    UserMessage,
)
from pi.base.records import replace
from pi.coding.extension_host.api.api import ExtensionAPI
from pi.coding.session.entries import MessageEntry
from pi.testing import calls, says
from tests.batteries.collab.sessions import Gate, Person, person, relay_running

playwright = pytest.importorskip("playwright.async_api", reason="playwright is not installed")

BROWSER = shutil.which("chromium") or shutil.which("google-chrome")
pytestmark = [
    pytest.mark.skipif(BROWSER is None, reason="no chromium here; not tested: the web client"),
    pytest.mark.slow,
    pytest.mark.asyncio(loop_scope="module"),  # one browser for all tests: it starts slowly
]

WAIT_MS = 20_000
PAYLOAD = (
    "\"'><script>hit('script')</script><img src=x onerror=hit('onerror')>"
    "<svg onload=hit('onload')></svg><a href=\"javascript:hit('a')\">a</a>"
    "[b](javascript:hit('b')) [c](java\tscript:hit('c')) [d](\x01javascript:hit('d'))"
    " [e](JAVASCRIPT:hit('e')) [f](data:text/html,<script>hit('f')</script>)"
    " ![g](https://evil.example/g.png) <javascript:hit('h')> [i](vbscript:hit)"
    "<style>*{display:none}</style></textarea></title>--><!--"
)


class Visit:
    """An open page with its console messages and requests."""

    def __init__(self, page: Any) -> None:
        self.page = page
        self.problems: list[str] = []
        self.requests: list[str] = []
        page.on("console", lambda message: self.problems.append(f"{message.type}: {message.text}"))
        page.on("pageerror", lambda error: self.problems.append(str(error)))
        page.on("request", lambda request: self.requests.append(request.url))
        page.on("websocket", lambda socket: self.requests.append(socket.url))

    async def text(self) -> str:
        return str(await self.page.inner_text("#transcript"))

    async def shows(self, words: str) -> None:
        await self.page.locator("#transcript", has_text=words).wait_for(timeout=WAIT_MS)

    async def idle(self) -> None:
        await self.page.locator("#activity").wait_for(state="hidden", timeout=WAIT_MS)


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def chromium() -> AsyncIterator[Any]:
    async with playwright.async_playwright() as engines:
        browser = await engines.chromium.launch(executable_path=BROWSER, args=["--no-sandbox"])
        yield browser
        await browser.close()


async def visit(chromium: Any, address: str, *, width: int = 1100, **options: Any) -> Visit:
    context = await chromium.new_context(viewport={"width": width, "height": 800}, **options)
    await context.add_init_script("window.hits = []; window.hit = (what) => hits.push(what);")
    visited = Visit(await context.new_page())
    await visited.page.goto(address)
    return visited


async def joined(chromium: Any, host: Person, *, view: bool = False, **options: Any) -> Visit:
    assert host.sharing.host is not None
    link = host.sharing.host.link
    visited = await visit(chromium, (link.view_only() if view else link).page(), **options)
    await visited.page.locator("#status[data-kind=live]").wait_for(timeout=WAIT_MS)
    return visited


@pytest.mark.full
async def test_a_conversation_with_tools_steering_and_abort(chromium: Any, tmp_path: Path) -> None:
    gate = Gate()
    steps = (
        calls("write", path="notes.txt", content="hello\n"),
        calls("edit", path="notes.txt", edits=[{"oldText": "hello", "newText": "bye"}]),
        says("The **notes** are changed."),
        says("word " * 200),
        says("Shorter."),
        says("other " * 200),
    )
    async with (
        relay_running() as relay,
        person(tmp_path, "hanna", *steps, more=(gate.extension,)) as hanna,
    ):
        await hanna.run(f"/collab {relay.address}")
        visited = await joined(chromium, hanna)
        page = visited.page
        await page.fill("#prompt", "Change the notes.")
        await page.press("#prompt", "Enter")
        await visited.shows("The notes are changed.")
        assert await page.locator(".card").count() == 2
        assert await page.locator(".card.done").count() == 2
        assert await page.locator(".diff .added").inner_text() == "+1 bye\n"
        assert await page.locator(".badge", has_text="guest").count() >= 1
        assert await page.inner_text(".words strong") == "notes"

        await visited.idle()
        gate.close(after=60)
        await page.fill("#prompt", "Go on.")
        await page.press("#prompt", "Enter")
        await gate.reached.wait()
        await page.locator(".live", has_text="word word").wait_for(timeout=WAIT_MS)
        assert await page.inner_text("#send") == "Steer"
        await page.fill("#prompt", "Be brief.")
        await page.press("#prompt", "Enter")
        await page.locator(".queue li", has_text="queued").wait_for(timeout=WAIT_MS)
        gate.open.set()
        await visited.shows("Shorter.")
        assert await page.locator(".queue li").count() == 0

        await visited.idle()
        gate.close(after=60)
        await page.fill("#prompt", "And again.")
        await page.press("#prompt", "Enter")
        await gate.reached.wait()
        await page.click("#stop")
        await visited.shows("Interrupted")
        gate.open.set()
        await visited.idle()
        texts = [json.loads(line).get("message", {}) for line in hanna.lines]
        prompts = [m["content"][0]["text"] for m in texts if m.get("role") == "user"]
        assert prompts == ["Change the notes.", "Go on.", "Be brief.", "And again."]
        assert await page.locator(".card").count() == 2
        here = relay.address.removeprefix("ws://")
        assert {url.split("/")[2] for url in visited.requests} == {here}
        assert not any("#" in url or hanna.link()[-20:] in url for url in visited.requests)
        assert visited.problems == []


@pytest.mark.full
async def test_view_only_guests_have_no_controls_that_write(chromium: Any, tmp_path: Path) -> None:
    async with (
        relay_running() as relay,
        person(tmp_path, "hanna", says("One."), says("Two.")) as hanna,
    ):
        await hanna.session.prompts.prompt("First.")
        await hanna.run(f"/collab {relay.address}")
        visited = await joined(chromium, hanna, view=True)
        page = visited.page
        await visited.shows("One.")
        assert (
            await page.locator("textarea, form:visible, #stop, #send, input:visible").count() == 0
        )
        assert "View only" in await page.inner_text("#foot")
        # The module itself refuses, too, whatever a user types into the console.
        refusal = await page.evaluate(
            """async () => {
              const {Room} = await import('./room.js');
              const {parseCode} = await import('./sealing.js');
              const room = new Room(parseCode(location.hash), 'x', 'ws://localhost/', {});
              try { room.write({t: 'prompt', text: 'Let me'}); return ''; }
              catch (error) { return error.message; }
            }"""
        )
        assert refusal == "This link is read-only."
        await hanna.session.prompts.prompt("Second.")
        await visited.shows("Two.")
        assert visited.problems == []


@pytest.mark.behaviour("web-client-runs-nothing-of-the-session")
async def test_a_hostile_transcript_executes_no_script(chromium: Any, tmp_path: Path) -> None:
    answer = AssistantMessage(
        content=(
            Thinking(thinking=PAYLOAD),
            Text(text=f"# {PAYLOAD}\n\n- {PAYLOAD}\n\n> {PAYLOAD}\n\n|{PAYLOAD}|b|\n|-|-|\n|c|d|"),
            Text(text=f"{PAYLOAD}\n\n```{PAYLOAD}\n{PAYLOAD}\n```\nhttps://x.example/{PAYLOAD}"),
            ToolCall(id=PAYLOAD, name=PAYLOAD, arguments={PAYLOAD: PAYLOAD, "command": PAYLOAD}),
        ),
        api="faux",
        provider="faux",
        model=PAYLOAD,
        stop_reason="toolUse",
    )
    result = ToolResultMessage(
        tool_call_id=PAYLOAD,
        tool_name=PAYLOAD,
        content=(Text(text=PAYLOAD),),
        details={"diff": f"+{PAYLOAD}"},
    )
    async with relay_running() as relay, person(tmp_path, "hanna", says("ok")) as hanna:
        for message in (answer, result):
            hanna.session.entries.log.append(MessageEntry(message=message))
        await hanna.pi.set_session_name(PAYLOAD)
        await hanna.run(f"/collab {relay.address}")
        visited = await joined(chromium, hanna)
        page = visited.page
        await page.evaluate("for (const d of document.querySelectorAll('details')) d.open = true")
        await visited.shows("hit('script')")
        for link in await page.query_selector_all("#transcript .dead-link"):
            await link.click(force=True)
        assert await page.evaluate("hits") == []
        counts = "['script', 'style', 'svg', 'iframe', 'img'].map(e =>"
        found = await page.evaluate(f"{counts} document.querySelectorAll('#session ' + e).length)")
        assert found == [0, 0, 0, 0, 0]
        hrefs = await page.evaluate("[...document.querySelectorAll('a')].map(a => a.protocol)")
        assert set(hrefs) <= {"http:", "https:"}
        attributes = await page.evaluate(
            "[...document.querySelectorAll('*')].flatMap(e => [...e.attributes])"
            ".filter(a => a.name.startsWith('on')).length"
        )
        assert attributes == 0
        here = relay.address.removeprefix("ws://")
        assert {url.split("/")[2] for url in visited.requests} == {here}
        assert visited.problems == []
        # Even code of the page itself could not make elements of text.
        blocked = (
            "() => { try { document.body.innerHTML = '<b>x</b>'; } catch (e) { return e.name } }"
        )
        assert await page.evaluate(blocked) == "TypeError"


@pytest.mark.full
async def test_a_question_that_is_sent_again_keeps_the_draft(chromium: Any, tmp_path: Path) -> None:
    async with relay_running() as relay, person(tmp_path, "hanna", says("One.")) as hanna:
        await hanna.session.prompts.prompt("First.")
        await hanna.run(f"/collab {relay.address}")
        visited = await joined(chromium, hanna)
        page = visited.page
        never: asyncio.Future[str] = asyncio.get_running_loop().create_future()

        async def ask(*given: Any, **how: Any) -> str:
            return await never

        hanna.ui.input = ask  # type: ignore[method-assign]
        asked = asyncio.create_task(hanna.pi.context.ui.with_guests.input("Your colour?", "red"))
        try:
            field = page.get_by_role("textbox", name="Your colour?")
            await field.wait_for(timeout=WAIT_MS)
            await field.fill("blu")
            await page.fill("#prompt", "a draft")
            # A new connection of the host: all guests join again, and get the question again.
            await relay.stop()
            await page.locator("#status[data-kind=connecting]").wait_for(timeout=WAIT_MS)
            await relay.start()
            await page.locator("#status[data-kind=live]").wait_for(timeout=WAIT_MS)
            assert await field.input_value() == "blu"
            assert await page.input_value("#prompt") == "a draft"
            assert await page.locator(".question").count() == 1
            await field.fill("blue")
            await field.press("Enter")
            assert await asyncio.wait_for(asked, 20) == "blue"
            await page.locator(".question").wait_for(state="detached", timeout=WAIT_MS)
        finally:
            asked.cancel()


@pytest.mark.full
async def test_a_page_that_rejoins_shows_the_running_turn(chromium: Any, tmp_path: Path) -> None:
    gate = Gate()
    steps = (calls("bash", command="echo out"), says("word " * 200))
    async with (
        relay_running() as relay,
        person(tmp_path, "hanna", *steps, more=(gate.extension,)) as hanna,
    ):
        await hanna.run(f"/collab {relay.address}")
        visited = await joined(chromium, hanna)
        page = visited.page
        gate.close(after=50)
        running = asyncio.create_task(hanna.session.prompts.prompt("Go."))
        await gate.reached.wait()
        await page.locator(".live", has_text="word word").wait_for(timeout=WAIT_MS)
        await relay.stop()
        await page.locator("#status[data-kind=connecting]").wait_for(timeout=WAIT_MS)
        assert not await page.locator("#activity").is_visible()
        await relay.start()
        await page.locator("#status[data-kind=live]").wait_for(timeout=WAIT_MS)
        await page.locator("#activity").wait_for(timeout=WAIT_MS)
        await page.locator("#stop:enabled").wait_for(timeout=WAIT_MS)
        assert await page.locator(".live").count() == 1
        assert await page.locator(".card").count() == 1
        gate.open.set()
        await running
        await visited.idle()
        assert (await visited.text()).count("word") == 200
        assert await page.locator(".row.user, .row.assistant").count() == 3


class Hub:
    """Sub-agents of another extension."""

    def __init__(self) -> None:
        self.commands: list[tuple[str, str, str]] = []
        self.rows = [
            {"id": "a1", "name": "Reviewer", "status": "running", "task": "Review <b>it</b>"}
        ]
        self.listeners: list[Callable[[], None]] = []

    def on_change(self, listener: Callable[[], None]) -> Callable[[], None]:
        self.listeners.append(listener)
        return lambda: self.listeners.remove(listener)

    def extension(self, pi: ExtensionAPI) -> None:
        pi.provide("agent_hub", self)

    def agents(self) -> list[dict[str, str]]:
        return self.rows

    async def command(self, agent: str, action: str, text: str = "") -> None:
        self.commands.append((agent, action, text))

    async def transcript(self, agent: str, offset: int, limit: int) -> tuple[str, int | None]:
        return (f"part {offset}\n", 7 if offset == 0 else None)


@pytest.mark.full
async def test_sub_agents_are_shown_and_can_be_steered(chromium: Any, tmp_path: Path) -> None:
    hub = Hub()
    async with (
        relay_running() as relay,
        person(tmp_path, "hanna", says("One."), more=(hub.extension,)) as hanna,
    ):
        await hanna.session.prompts.prompt("First.")
        await hanna.run(f"/collab {relay.address}")
        page = (await joined(chromium, hanna)).page
        await page.click("#agents-button")
        panel = page.get_by_role("complementary", name="Sub-agents")
        assert "Review <b>it</b>" in await panel.inner_text()
        await panel.get_by_label("Message to Reviewer").fill("look again")
        await panel.get_by_role("button", name="Send").click()
        await panel.get_by_role("button", name="Stop").click()
        await panel.get_by_role("button", name="Transcript").click()
        await panel.locator("pre", has_text="part 0\npart 7").wait_for(timeout=WAIT_MS)
        assert hub.commands == [("a1", "chat", "look again"), ("a1", "kill", "")]

        hub.rows.append({"id": "a2", "name": "Tester", "status": "running", "task": "Test it"})
        for listener in hub.listeners:
            listener()
        await panel.get_by_text("Tester").wait_for(timeout=WAIT_MS)

        viewer = (await joined(chromium, hanna, view=True)).page
        await viewer.click("#agents-button")
        assert "Reviewer" in await viewer.inner_text("#agents")
        assert await viewer.locator("#agents button, #agents input").count() == 0


@pytest.mark.full
async def test_labels_keys_and_narrow_screens_are_supported(chromium: Any, tmp_path: Path) -> None:
    long_line = "x" * 400
    async with (
        relay_running() as relay,
        person(tmp_path, "hanna", says(f"`{long_line}`\n\n|a|b|\n|-|-|\n|{long_line}|c|")) as hanna,
    ):
        await hanna.session.prompts.prompt("First.")
        await hanna.run(f"/collab {relay.address}")
        visited = await joined(chromium, hanna, width=375, has_touch=True, is_mobile=True)
        page = visited.page
        await visited.shows("First.")
        assert await page.evaluate("document.documentElement.scrollWidth") == 375
        unlabelled = await page.evaluate(
            """[...document.querySelectorAll('button, input, textarea, a')].filter(e =>
              e.checkVisibility() && !(e.textContent.trim() || e.ariaLabel || e.labels?.length
              || e.getAttribute('aria-labelledby'))).map(e => e.outerHTML)"""
        )
        assert unlabelled == []
        sizes = await page.evaluate(
            "[...document.querySelectorAll('input, textarea')]"
            ".map(e => parseFloat(getComputedStyle(e).fontSize))"
        )
        assert min(sizes) >= 16  # below, phones zoom in
        for role, name in (("main", "Conversation"), ("textbox", "Prompt"), ("button", "Send")):
            assert await page.get_by_role(role, name=name).count() == 1
        # Enter of an input method does not send; nor does Enter on a phone.
        await page.fill("#prompt", "にほん")
        await page.evaluate(
            "document.querySelector('#prompt').dispatchEvent(new KeyboardEvent('keydown',"
            " {key: 'Enter', keyCode: 229, bubbles: true, cancelable: true}))"
        )
        await page.press("#prompt", "Enter")
        assert (await page.input_value("#prompt")).startswith("にほん")
        assert await page.locator(".queue li").count() == 0


@pytest.mark.full
async def test_the_connect_screen_explains_bad_links(chromium: Any) -> None:
    async with relay_running() as relay:
        visited = await visit(chromium, relay.address.replace("ws", "http") + "/")
        page = visited.page
        for link, words in (
            ("nonsense", "not a link"),
            ("AAECAwQFBgcICQoLDA0ODw#AAAA", "version 4"),
            ("other.example/r/AAECAwQFBgcICQoLDA0ODw.5.AAAA", "another relay"),
            ("AAECAwQFBgcICQoLDA0ODw.5.AAAA", "incomplete"),
        ):
            await page.get_by_label("Link").fill(link)
            await page.get_by_role("button", name="Join").click()
            await page.locator("#connect-error", has_text=words).wait_for(timeout=WAIT_MS)
        unknown = "AAECAwQFBgcICQoLDA0ODw.5." + "A" * 43
        await page.get_by_label("Link").fill(unknown)
        await page.get_by_role("button", name="Join").click()
        await page.locator("#status[data-kind=ended]").wait_for(timeout=WAIT_MS)


@pytest.mark.behaviour("web-client-runs-only-pinned-modules")
async def test_a_module_that_was_changed_does_not_run(chromium: Any) -> None:
    async with relay_running() as relay:
        assert relay.relay is not None
        files = relay.relay.pages.files
        changed = files["markdown.js"].body + b"\nhit('changed');"
        files["markdown.js"] = replace(files["markdown.js"], body=changed)
        visited = await visit(chromium, relay.address.replace("ws", "http") + "/")
        # A module of the same relay that no page pins is refused as well.
        files["other.js"] = replace(files["markdown.js"], body=b"hit('other');")
        refused = await visited.page.evaluate("import('/other.js').then(() => '', String)")
        assert "Failed to fetch" in refused
        assert await visited.page.locator("#connect").is_hidden()
        assert await visited.page.evaluate("hits") == []
        problems = "\n".join(visited.problems)
        assert "digest" in problems  # of the changed one
        assert "Content Security Policy" in problems  # of the other one


@pytest.mark.full
async def test_frames_are_sealed_as_in_the_test_vectors(chromium: Any) -> None:
    vectors = json.loads(Path("docs/reference/collab-vectors.json").read_text())
    async with relay_running() as relay:
        visited = await visit(chromium, relay.address.replace("ws", "http") + "/")
        found = await visited.page.evaluate(
            """async (v) => {
              const {Sealer} = await import('./sealing.js');
              const bytes = (hex) =>
                Uint8Array.from(hex.match(/../g) ?? [], (b) => parseInt(b, 16));
              const hex = (data) => [...data].map((b) => b.toString(16).padStart(2, '0')).join('');
              const keys = {room: bytes(v.room), key: bytes(v.key), token: bytes(v.token)};
              const sealer = await Sealer.create(keys);
              const random = crypto.getRandomValues.bind(crypto);
              const found = [];
              for (const f of v.frames) {
                if (f.direction === 1) {
                  crypto.getRandomValues = (into) => { into.set(bytes(f.iv)); return into; };
                  const frame = await sealer.seal(new TextEncoder().encode(f.plaintext),
                    {peer: f.peer, epoch: bytes(f.epoch), counter: f.counter, prove: f.proved});
                  crypto.getRandomValues = random;
                  found.push(hex(frame.subarray(4)) === f.frame.slice(8));
                } else {
                  const opened = await sealer.open(bytes(f.frame));
                  found.push(new TextDecoder().decode(opened.plaintext) === f.plaintext);
                }
              }
              return found;
            }""",
            vectors,
        )
        assert len(found) == len(vectors["frames"]) >= 2
        assert all(found)


def turn(number: int) -> tuple[UserMessage, AssistantMessage]:
    text = f"## Answer {number}\n\n" + "Some *words* about `it`. " * 30
    return (
        UserMessage(content=(Text(text=f"Question {number}"),)),
        AssistantMessage(
            content=(Text(text=text),), api="faux", provider="faux", model="m", stop_reason="stop"
        ),
    )


@pytest.mark.full
async def test_five_thousand_entries_open_at_the_end(chromium: Any, tmp_path: Path) -> None:
    async with relay_running() as relay, person(tmp_path, "hanna", says("ok")) as hanna:
        for number in range(2500):
            for message in turn(number):
                hanna.session.entries.log.append(MessageEntry(message=message))
        await hanna.run(f"/collab {relay.address}")
        visited = await joined(chromium, hanna)
        page = visited.page
        await visited.shows("Answer 2499")
        drawn = await page.locator(".row").count()
        assert drawn < 200
        await page.evaluate("document.querySelector('#scroll').scrollTop = 0")
        await visited.shows("Answer 2440")
        assert drawn < await page.locator(".row").count() < 400
        assert visited.problems == []
