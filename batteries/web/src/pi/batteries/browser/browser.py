"""The browser of a session: process, proxy and the tab in use."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import Any, TypeAlias

from pi.batteries.browser.chromium import NOWHERE, start_chromium
from pi.batteries.browser.devtools import (
    ENDED,
    BrowserGone,
    CommandFailed,
    DevTools,
    Params,
    TargetGone,
)
from pi.batteries.browser.tab import Tab
from pi.extension import Child, ExtensionAPI, Scope, ToolFailed, sanitise
from pi.extension.guards import FilteringProxy

START_SECONDS = 30.0
MAX_ERRORS = 2000
"""Bytes kept of the end of Chromium's standard error."""
LOGIN_PAGE = f"http://proxy{NOWHERE}/"
"""A page that is opened once, so that the proxy asks for its token."""

Streams: TypeAlias = tuple[asyncio.StreamReader, asyncio.StreamWriter]
Connect: TypeAlias = Callable[[str, int], Awaitable[Streams]]
"""Checks host and port, and connects; raises ``HttpError``."""


class Browser:
    """One Chromium with one tab; everything ends with ``close``."""

    def __init__(self, pi: ExtensionAPI, connect: Connect) -> None:
        self._pi = pi
        self._scope: Scope = pi.scope.inner("browser")
        self.proxy = FilteringProxy(self._scope, connect)
        self.accept_dialogs = False
        """Whether the next ``confirm`` or ``prompt`` of a page is accepted."""
        self._devtools: DevTools | None = None
        self._tab: Tab | None = None
        self._is_logged_in = False
        """Whether Chromium has the token of the proxy."""
        self._login = ""
        """The session of the tab in which the proxy asks for its token."""
        self._errors = b""

    @property
    def is_open(self) -> bool:
        """Whether commands can be sent to the process."""
        return self._devtools is not None and self._devtools.is_open

    async def open(self) -> None:
        """Start the proxy and the process. Raises ``ToolFailed`` if Chromium cannot be used."""
        await self.proxy.open()
        child = await start_chromium(self._pi, self._scope, self.proxy.port)
        reading = self._scope.spawn(self._read_errors(child), name="browser errors")
        devtools = self._devtools = DevTools(child, self._handle_event)
        self._scope.spawn(devtools.read(), name="browser messages")
        try:
            async with asyncio.timeout(START_SECONDS):
                await devtools.call(
                    "Browser.setDownloadBehavior", behavior="deny", eventsEnabled=True
                )
                await devtools.call("Target.setDiscoverTargets", discover=True)
        except BrowserGone as error:
            await asyncio.wait([reading], timeout=1.0)
            stderr = self._errors.decode("utf-8", "replace").strip()
            reason = "" if error.message == ENDED else f"\n{error.message}"
            text = f"Chromium ended when it was started.{reason}\n{sanitise(stderr)}".strip()
            raise ToolFailed(text) from error
        except CommandFailed as error:
            raise ToolFailed(f"Chromium cannot be used: {error.message}") from error
        except TimeoutError as error:
            raise ToolFailed(f"Chromium did not respond in {START_SECONDS:g} s.") from error

    async def _log_in(self, devtools: DevTools) -> None:
        """Give the token of the proxy to Chromium, which keeps it for all later requests.

        There is no option for it: an option could be read by other programs of this machine.
        """
        target = (await devtools.call("Target.createTarget", url="about:blank"))["targetId"]
        attached = await devtools.call("Target.attachToTarget", targetId=target, flatten=True)
        self._login = session = str(attached["sessionId"])
        patterns = [{"urlPattern": f"{LOGIN_PAGE}*"}]
        await devtools.call("Fetch.enable", session, handleAuthRequests=True, patterns=patterns)
        with suppress(CommandFailed):
            await devtools.call("Page.navigate", session, url=LOGIN_PAGE)
        await devtools.call("Target.closeTarget", targetId=target)
        self._login, self._is_logged_in = "", True

    def _answer_login(self, session: str, method: str, params: Params) -> None:
        assert self._devtools is not None
        request = params.get("requestId", "")
        if method == "Fetch.requestPaused":
            call = self._devtools.call("Fetch.continueRequest", session, requestId=request)
        elif method == "Fetch.authRequired" and params["authChallenge"]["source"] == "Proxy":
            answer = {
                "response": "ProvideCredentials",
                "username": "pi",
                "password": self.proxy.token,
            }
            call = self._devtools.call(
                "Fetch.continueWithAuth", session, requestId=request, authChallengeResponse=answer
            )
        else:
            return
        self._command(call)

    async def close(self) -> None:
        """End the process and remove its profile."""
        await self._scope.close()

    async def current(self) -> Tab | None:
        """The tab, if its page responds; ``None`` if there is no tab, or it crashed or hangs."""
        tab = self._tab
        if tab is None or tab.crashed:
            return None
        if not tab.may_be_stuck:
            return tab
        try:
            if await tab.recover():
                return tab
        except (TargetGone, CommandFailed):
            pass  # the tab has ended meanwhile: a new one replaces it
        return None

    async def new_tab(self) -> Tab:
        """Open a tab and close the last one. Raises ``ToolFailed`` if the browser opens none."""
        try:
            async with asyncio.timeout(START_SECONDS):
                return await self._create_tab()
        except TimeoutError as error:
            raise ToolFailed(f"Chromium did not open a tab in {START_SECONDS:g} s.") from error
        except (BrowserGone, CommandFailed, LookupError) as error:
            raise ToolFailed(f"Chromium did not open a tab: {error}") from error

    async def _create_tab(self) -> Tab:
        devtools = self._devtools
        assert devtools is not None
        old, self._tab = self._tab, None
        if not self._is_logged_in:
            await self._log_in(devtools)
        target = (await devtools.call("Target.createTarget", url="about:blank"))["targetId"]
        if old is not None:
            self._close_target(old.target)
        attached = await devtools.call("Target.attachToTarget", targetId=target, flatten=True)
        tab = self._tab = Tab(devtools, target, attached["sessionId"])
        await tab.prepare()
        return tab

    # Events ---------------------------------------------------------------------------------------

    def _handle_event(self, session: str, method: str, params: Params) -> None:
        tab = self._tab
        if session and session == self._login:
            self._answer_login(session, method, params)
            return
        if method == "Target.targetCreated":
            info = params["targetInfo"]
            # A page has opened another tab: only one is operated.
            if info["type"] == "page" and "openerId" in info:
                self._close_target(info["targetId"])
        if tab is None:
            return
        if method == "Target.attachedToTarget" and session == tab.session:
            self._command(tab.attach_frame(params["sessionId"], params["targetInfo"]))
        elif method == "Target.detachedFromTarget":
            tab.detach_frame(params["sessionId"])
        elif method == "Target.targetCrashed" and params["targetId"] == tab.target:
            tab.crash()
        elif method == "Browser.downloadWillBegin":
            name = params.get("suggestedFilename") or "a file"
            tab.observed.note(f"The page started a download of {name}; downloads are refused.")
        elif method == "Page.javascriptDialogOpening":
            self._answer_dialog(tab, session, params)
        else:
            tab.handle_event(session, method, params)

    def _answer_dialog(self, tab: Tab, session: str, params: Params) -> None:
        kind = params["type"]
        accept = self.accept_dialogs or kind in ("alert", "beforeunload")
        answer = "accepted" if accept else "dismissed"
        tab.observed.note(f"The page showed a dialog ({kind}): {params['message']!r}; {answer}.")
        answering: dict[str, Any] = {"accept": accept}
        if kind == "prompt" and accept:
            answering["promptText"] = params.get("defaultPrompt", "")
        assert self._devtools is not None
        self._command(self._devtools.call("Page.handleJavaScriptDialog", session, **answering))

    def _close_target(self, target: str) -> None:
        assert self._devtools is not None
        self._command(self._devtools.call("Target.closeTarget", targetId=target))

    def _command(self, work: Any) -> None:
        """Send a command in the background. Errors are ignored: the tab or frame is closed then."""

        async def send() -> None:
            try:
                await work
            except (BrowserGone, CommandFailed, TargetGone):
                return

        self._scope.spawn(send(), name="browser command")

    async def _read_errors(self, child: Child) -> None:
        while data := await child.errors.read(65536):
            self._errors = (self._errors + data)[-MAX_ERRORS:]
