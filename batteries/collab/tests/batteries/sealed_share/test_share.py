"""``/share`` to a real relay, and the page that shows it."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pytest

from pi.base.errors import PiError
from pi.batteries.sealed_share.adapter import extension
from pi.testing import calls, says
from tests.batteries.collab.sessions import Person, person, relay_running

KEY = "sk-proj-0123456789abcdefghijklmnop"
BROWSER = shutil.which("chromium") or shutil.which("google-chrome")


class Agrees:
    """A user who reads the question and answers yes, or no."""

    def __init__(self, who: Person, answer: bool = True) -> None:
        self.asked: list[str] = []
        self.answer = answer
        who.ui.confirm = self  # type: ignore[method-assign]

    async def __call__(self, title: str, message: str, **how: Any) -> bool:
        self.asked.append(message)
        return self.answer


def configure(who: Person, relay: Any, **more: Any) -> None:
    server = f"http://{relay.address.removeprefix('ws://')}/s"
    who.session.settings.override({"share.store": "blob", "share.serverUrl": server, **more})


async def test_a_session_is_shared_redacted_and_removed_again(tmp_path: Path) -> None:
    async with (
        relay_running() as relay,
        person(tmp_path, "hanna", says(f"The key is {KEY}."), more=(extension,)) as hanna,
    ):
        configure(hanna, relay)
        user = Agrees(hanna)
        await hanna.session.prompts.prompt("Which key?")
        shared = await hanna.session.exports.share()
        assert "Secrets were redacted in 1 entry." in user.asked[0]
        base, _, key = shared.url.partition("#")
        assert len(key) == 43
        assert relay.relay is not None
        data = await relay.relay.shares.read(base.rpartition("/")[2])
        assert data is not None
        assert KEY.encode() not in data
        await hanna.run("/unshare")
        id = base.rpartition("/")[2]
        assert hanna.ui.texts[-1].startswith(id)
        await hanna.run(f"/unshare {base}")
        assert not relay.relay.shares.exists(id)
        await hanna.run("/unshare")
        assert hanna.ui.texts[-1] == "You have no encrypted shares."


@pytest.mark.behaviour("shares-are-scanned-before-upload")
async def test_nothing_is_uploaded_without_consent_or_with_a_secret(tmp_path: Path) -> None:
    async with (
        relay_running() as relay,
        person(tmp_path, "hanna", says("Hello."), more=(extension,)) as hanna,
    ):
        configure(hanna, relay)
        await hanna.session.prompts.prompt("Hi.")
        user = Agrees(hanna, answer=False)
        assert (await hanna.session.exports.share()).url == ""
        assert relay.relay is not None
        assert len(relay.relay.shares) == 0
        user.answer = True

        # A redactor that only sees the secret in the whole text, as one of an extension may.
        def late(text: str, sink: str) -> str:
            return text.replace('"role": "user"', "[hidden]")

        row = hanna.pi.add_redactor(late)
        with pytest.raises(PiError, match="nothing was uploaded"):
            await hanna.session.exports.share()
        assert len(relay.relay.shares) == 0
        row.remove()
        assert (await hanna.session.exports.share()).url


async def test_a_missing_or_unreachable_server_is_explained(tmp_path: Path) -> None:
    async with person(tmp_path, "hanna", says("Hello."), more=(extension,)) as hanna:
        Agrees(hanna)
        await hanna.session.prompts.prompt("Hi.")
        hanna.session.settings.override({"share.store": "blob"})
        with pytest.raises(PiError, match="No share server"):
            await hanna.session.exports.share()
        hanna.session.settings.override({"share.serverUrl": "http://127.0.0.1:9/s"})
        with pytest.raises(PiError, match="cannot be reached"):
            await hanna.session.exports.share()


@pytest.mark.full
@pytest.mark.slow
@pytest.mark.skipif(BROWSER is None, reason="no chromium here; not tested: the page of a share")
async def test_the_page_of_a_share_shows_the_session(tmp_path: Path) -> None:
    playwright = pytest.importorskip("playwright.async_api", reason="playwright is not installed")
    steps = (
        calls("bash", command="echo from-the-tool"),
        says("It **works**.<img src=x onerror=x>"),
    )
    async with (
        relay_running() as relay,
        person(tmp_path, "hanna", *steps, more=(extension,)) as hanna,
    ):
        configure(hanna, relay)
        Agrees(hanna)
        await hanna.session.prompts.prompt("Does it work?")
        url = (await hanna.session.exports.share()).url
        async with playwright.async_playwright() as engines:
            browser = await engines.chromium.launch(executable_path=BROWSER, args=["--no-sandbox"])
            page = await browser.new_page()
            problems: list[str] = []
            requests: list[str] = []
            page.on("console", lambda message: problems.append(message.text))
            page.on("pageerror", lambda error: problems.append(str(error)))
            page.on("request", lambda request: requests.append(request.url))
            await page.goto(url)
            await page.locator("#transcript", has_text="It works.").wait_for()
            assert await page.locator(".card.done").count() == 1
            assert await page.locator("textarea, input, img").count() == 0
            assert problems == []
            assert {each.split("/")[2] for each in requests} == {
                relay.address.removeprefix("ws://")
            }
            assert not any(url.partition("#")[2] in each for each in requests)
            await page.goto(url[:-4] + "AAAA")
            await page.locator("#problem", has_text="does not fit").wait_for()
            await browser.close()
