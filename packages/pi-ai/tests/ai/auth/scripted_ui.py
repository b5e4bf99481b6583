"""A login UI for tests: scripted answers and a replaceable browser."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

from pi.ai.auth.login import AuthUrl, LoginInfo, LoginPrompt, Notice
from pi.ai.http.client import HttpClient
from pi.ai.http.request import HttpRequest

Browser = Callable[[str], Awaitable[str | None]]
"""Visits the login page. Its return value is pasted; ``None`` pastes nothing."""


class ScriptedUI:
    """Returns one answer per prompt; runs the browser while the code can be pasted."""

    def __init__(self, *answers: str, browser: Browser | None = None) -> None:
        self.answers = list(answers)
        self.browser = browser
        self.prompts: list[LoginPrompt] = []
        self.notices: list[Notice] = []
        self.prompted = asyncio.Event()

    async def ask(self, prompt: LoginPrompt) -> str:
        self.prompts.append(prompt)
        self.prompted.set()
        if prompt.kind != "manual_code" or self.browser is None:
            return self.answers.pop(0) if self.answers else await never()
        page = next(notice for notice in self.notices if isinstance(notice, AuthUrl))
        pasted = await self.browser(page.url)
        return await never() if pasted is None else pasted

    def notify(self, notice: Notice) -> None:
        self.notices.append(notice)

    @property
    def shown(self) -> list[str]:
        """The texts of all plain notices."""
        return [notice.message for notice in self.notices if isinstance(notice, LoginInfo)]


async def never() -> str:
    """Wait for an answer that never comes."""
    await asyncio.Event().wait()
    raise AssertionError


def obedient_browser(http: HttpClient) -> Browser:
    """A browser that opens the login page and follows its redirect."""

    async def browse(url: str) -> None:
        page = await http.request(HttpRequest(url=url))
        await http.request(HttpRequest(url=page.headers.get("location")))

    return browse
