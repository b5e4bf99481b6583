"""One tab: addresses, input, scripts, pictures."""

from __future__ import annotations

import asyncio
import json
from contextlib import suppress
from typing import Any

from pi.batteries.browser.chromium import WIDTH
from pi.batteries.browser.devtools import (
    CommandFailed,
    DevTools,
    Observed,
    Params,
    exception_text,
    tree_text,
)
from pi.extension import PiError, ToolFailed

RESPONSE_SECONDS = 3.0
"""How long a page may take to answer; after that its scripts count as stuck."""
MAX_PICTURE = 4_500_000
"""Maximum characters of a PNG picture in base64; larger ones are sent as JPEG."""
MAX_PAGE_HEIGHT = 8000
"""Maximum height of a picture of the whole page, in pixels."""
DOMAINS = ("Page", "Runtime", "Network", "Log", "Inspector")
KEYS: dict[str, tuple[int, str]] = {
    "Enter": (13, "\r"),
    "Tab": (9, ""),
    "Escape": (27, ""),
    "Backspace": (8, ""),
    "Delete": (46, ""),
    "Space": (32, " "),
    "ArrowLeft": (37, ""),
    "ArrowUp": (38, ""),
    "ArrowRight": (39, ""),
    "ArrowDown": (40, ""),
    "PageUp": (33, ""),
    "PageDown": (34, ""),
    "End": (35, ""),
    "Home": (36, ""),
}
# Fields are filled as a user would: the content is selected, then replaced by the input.
_SELECT_ALL = """function () {
  if (this.tagName === "SELECT") return "select";
  if (this.disabled || this.readOnly) return "locked";
  if (this.isContentEditable) {
    const range = document.createRange(); range.selectNodeContents(this);
    const chosen = getSelection(); chosen.removeAllRanges(); chosen.addRange(range);
  } else if (typeof this.select === "function") this.select();
  else return "none";
  return "text";
}"""
_CHOOSE = """function (wanted) {
  const found = [...this.options].find(o => o.value === wanted || o.label.trim() === wanted.trim());
  if (!found) return [...this.options].slice(0, 50).map(o => o.label.trim());
  this.value = found.value;
  this.dispatchEvent(new Event("input", {bubbles: true}));
  this.dispatchEvent(new Event("change", {bubbles: true}));
  return null;
}"""
_SETTLE = "new Promise(done => requestAnimationFrame(() => setTimeout(done, 50)))"
_POLL = """new Promise(done => {{
  const look = () => ({condition}) ? done(true) : setTimeout(look, 50);
  look();
}})"""


class NavigationFailed(PiError):
    """A page was not loaded; the message is Chromium's error, such as ``net::ERR_ABORTED``."""


class Tab:
    """Commands of one tab. ``handle_event`` receives the events of the tab and of its frames."""

    def __init__(self, devtools: DevTools, target: str, session: str) -> None:
        self.target = target
        self.session = session
        self.observed = Observed()
        self.crashed = False
        self.may_be_stuck = False
        """Whether an action is running or was interrupted: scripts of the page may be stuck."""
        self._devtools = devtools
        self._loaded = asyncio.Event()
        self._loaded.set()
        self._frames: dict[str, str] = {}
        """Targets of frames that have their own process, by session."""

    async def prepare(self) -> None:
        """Subscribe to events."""
        for domain in DOMAINS:
            await self._call(f"{domain}.enable")
        await self._call("Page.setInterceptFileChooserDialog", enabled=True)
        await self._call(
            "Target.setAutoAttach", autoAttach=True, waitForDebuggerOnStart=False, flatten=True
        )

    def handle_event(self, session: str, method: str, params: Params) -> bool:
        """Handle an event; returns whether it belongs to this tab."""
        if session != self.session and session not in self._frames:
            return False
        self.observed.handle_event(method, params)
        if session != self.session:
            return True
        if method == "Page.frameStartedLoading" and params["frameId"] == self.target:
            self._loaded.clear()
        elif method == "Page.loadEventFired" or (
            method == "Page.frameStoppedLoading" and params["frameId"] == self.target
        ):
            self._loaded.set()
        elif method == "Page.windowOpen":
            url = params.get("url") or "about:blank"
            self.observed.note(
                f"The page opened a new tab for {url}; it was closed. Open the address to see it."
            )
        elif method == "Page.fileChooserOpened":
            self.observed.note("The page asked for a file; files cannot be uploaded.")
        elif method == "Inspector.targetCrashed":
            self.crash()
        return True

    def crash(self) -> None:
        """Mark the tab as crashed, and fail its pending commands."""
        self.crashed = True
        self._loaded.set()
        self._devtools.drop(self.session, "The tab crashed. Open the page again.")

    async def attach_frame(self, session: str, info: Params) -> None:
        """Subscribe to the events of a frame that has its own process."""
        if info.get("type") != "iframe":
            return
        self._frames[session] = info["targetId"]
        for domain in ("Runtime", "Network", "Log"):
            await self._devtools.call(f"{domain}.enable", session)

    def detach_frame(self, session: str) -> None:
        """Remove a frame."""
        self._frames.pop(session, None)

    # Actions --------------------------------------------------------------------------------------

    async def open(self, url: str) -> None:
        """Load an address, and wait until it is loaded. Raises ``NavigationFailed``."""
        self._loaded.clear()
        result = await self._call("Page.navigate", url=url)
        if error := result.get("errorText"):
            self._loaded.set()
            raise NavigationFailed(str(error))
        if "loaderId" not in result:  # a fragment of the same page
            self._loaded.set()
        await self._loaded.wait()

    async def stop_loading(self) -> None:
        """Stop loading, and keep the part of the page that has arrived."""
        await self._call("Page.stopLoading")
        self._loaded.set()

    async def click(self, element: str) -> None:
        """Click the middle of an element. Raises ``ToolFailed`` if it is not visible."""
        await self._call("DOM.scrollIntoViewIfNeeded", objectId=element)
        quads = (await self._call("DOM.getContentQuads", objectId=element))["quads"]
        if not quads:
            raise ToolFailed("The element is not visible, so it cannot be clicked.")
        x, y = sum(quads[0][0::2]) / 4, sum(quads[0][1::2]) / 4
        point: dict[str, Any] = {"x": x, "y": y, "button": "left", "clickCount": 1}
        await self._call("Input.dispatchMouseEvent", type="mouseMoved", x=x, y=y)
        await self._call("Input.dispatchMouseEvent", type="mousePressed", **point)
        await self._call("Input.dispatchMouseEvent", type="mouseReleased", **point)
        await self._settle()

    async def fill(self, element: str, text: str) -> None:
        """Replace the content of a field, or choose an option.

        Raises ``ToolFailed`` if that is impossible.
        """
        await self._call("DOM.scrollIntoViewIfNeeded", objectId=element)
        kind = await self._call_on(element, _SELECT_ALL)
        if kind == "select":
            choices = await self._call_on(element, _CHOOSE, text)
            if choices is not None:
                raise ToolFailed(f"There is no option {text!r}. Options: {', '.join(choices)}.")
            await self._settle()
            return
        if kind != "text":
            why = "is disabled or read-only" if kind == "locked" else "takes no text"
            raise ToolFailed(f"The element {why}.")
        await self._call("DOM.focus", objectId=element)
        await self._call_on(element, _SELECT_ALL)
        if text:
            await self._call("Input.insertText", text=text)
        else:
            await self.press("Delete")
        await self._settle()

    async def press(self, key: str) -> None:
        """Press and release a key."""
        code, text = KEYS[key]
        key_text = " " if key == "Space" else key
        same: dict[str, Any] = {"key": key_text, "code": key, "windowsVirtualKeyCode": code}
        down: dict[str, Any] = {"type": "keyDown", "text": text} if text else {"type": "rawKeyDown"}
        await self._call("Input.dispatchKeyEvent", **down, **same)
        await self._call("Input.dispatchKeyEvent", type="keyUp", **same)
        await self._settle()

    async def evaluate(self, script: str) -> Any:
        """The value of a script or of its promise. Raises ``ToolFailed`` if the script throws."""
        # With top-level await the browser does not wait for a promise that is the result.
        result = await self._call(
            "Runtime.evaluate",
            expression=script,
            awaitPromise=True,
            userGesture=True,
            replMode=True,
        )
        remote_object = result["result"]
        if "exceptionDetails" not in result and remote_object.get("subtype") == "promise":
            promise = remote_object["objectId"]
            result = await self._call(
                "Runtime.awaitPromise", promiseObjectId=promise, returnByValue=True
            )
            remote_object = result["result"]
        elif "exceptionDetails" not in result and "objectId" in remote_object:
            return await self._call_on(remote_object["objectId"], "function () { return this; }")
        if details := result.get("exceptionDetails"):
            raise ToolFailed(f"The script failed: {exception_text(details)[:4000]}")
        return remote_object.get(
            "value", remote_object.get("unserializableValue", remote_object.get("description"))
        )

    async def wait_for(self, condition: str) -> None:
        """Wait until a script is true, also across navigations. Raises ``ToolFailed``."""
        while True:
            await self._loaded.wait()
            script = _POLL.format(condition=condition)
            with suppress(CommandFailed):  # the page was replaced: check the next one
                result = await self._call("Runtime.evaluate", expression=script, awaitPromise=True)
                if details := result.get("exceptionDetails"):
                    raise ToolFailed(f"The script failed: {exception_text(details)[:4000]}")
                return

    async def screenshot(self, *, full_page: bool) -> tuple[str, str]:
        """A picture in base64, and its MIME type."""
        area: dict[str, Any] = {}
        if full_page:
            size = (await self._call("Page.getLayoutMetrics"))["cssContentSize"]
            height = max(1, min(size["height"], MAX_PAGE_HEIGHT))
            clip = {
                "x": 0,
                "y": 0,
                "width": max(1, min(size["width"], 2 * WIDTH)),
                "height": height,
            }
            area = {"captureBeyondViewport": True, "clip": {**clip, "scale": 1}}
        data = (await self._call("Page.captureScreenshot", format="png", **area))["data"]
        if len(data) <= MAX_PICTURE:
            return data, "image/png"
        capture = await self._call("Page.captureScreenshot", format="jpeg", quality=60, **area)
        return capture["data"], "image/jpeg"

    async def tree(self, limit: int) -> str:
        """The accessibility tree of the page and its frames."""
        texts: list[str] = []
        root = (await self._call("Page.getFrameTree"))["frameTree"]
        for frame in _frames_of(root):
            nodes = (await self._call("Accessibility.getFullAXTree", frameId=frame["id"]))["nodes"]
            texts.append(_frame_text(frame, root, tree_text(nodes, limit=limit)))
        for session in tuple(self._frames):
            nodes = (await self._devtools.call("Accessibility.getFullAXTree", session))["nodes"]
            frame_text = tree_text(nodes, limit=limit, with_refs=False)
            texts.append(f"Frame of another site:\n{frame_text}" if frame_text else "")
        text = "\n".join(filter(None, texts))
        return text if len(text) <= limit else f"{text[:limit]}\n… the rest is left out"

    async def element(self, ref: int | None, selector: str) -> str:
        """The object id of an element. Raises ``ToolFailed`` if there is none."""
        if ref is not None:
            try:
                node = await self._call("DOM.resolveNode", backendNodeId=ref)
            except CommandFailed as error:
                raise ToolFailed(
                    f"There is no element with ref {ref} on this page. Get a new tree."
                ) from error
            return str(node["object"]["objectId"])
        if not selector:
            raise ToolFailed("Name the element: ref (from the tree), or selector (CSS).")
        script = f"document.querySelector({json.dumps(selector)})"
        result = await self._call("Runtime.evaluate", expression=script)
        if details := result.get("exceptionDetails"):
            raise ToolFailed(f"{selector!r} is not a CSS selector: {exception_text(details)}")
        if "objectId" not in result["result"]:
            raise ToolFailed(f"No element matches {selector!r}. Get the tree to see the page.")
        return str(result["result"]["objectId"])

    async def read_location(self) -> tuple[str, str]:
        """Address and title of the page."""
        history = await self._call("Page.getNavigationHistory")
        entry = history["entries"][history["currentIndex"]]
        return str(entry["url"]), str(entry.get("title", ""))

    async def recover(self) -> bool:
        """Whether the page responds after an interrupted action; stops scripts that are stuck."""
        for _ in range(2):
            try:
                async with asyncio.timeout(RESPONSE_SECONDS):
                    await self.stop_loading()
                    await self._call("Runtime.evaluate", expression="1")
                self.may_be_stuck = False
                return True
            except TimeoutError:
                # The only command that is answered while a script is busy.
                terminating = asyncio.ensure_future(self._call("Runtime.terminateExecution"))
                await asyncio.wait([terminating], timeout=RESPONSE_SECONDS)
                terminating.cancel()
                await asyncio.gather(terminating, return_exceptions=True)
        return False

    async def _settle(self) -> None:
        """Wait until the page has reacted, and has loaded the next page if it navigates."""
        with suppress(CommandFailed):  # the page was replaced meanwhile
            await self._call("Runtime.evaluate", expression=_SETTLE, awaitPromise=True)
        await self._loaded.wait()

    async def _call_on(self, element: str, function: str, *arguments: Any) -> Any:
        result = await self._call(
            "Runtime.callFunctionOn",
            objectId=element,
            functionDeclaration=function,
            arguments=[{"value": argument} for argument in arguments],
            returnByValue=True,
            userGesture=True,
        )
        if details := result.get("exceptionDetails"):
            raise ToolFailed(f"The page refused the input: {exception_text(details)}")
        return result["result"].get("value")

    async def _call(self, method: str, **params: Any) -> Params:
        return await self._devtools.call(method, self.session, **params)


def _frames_of(tree: Params) -> list[Params]:
    frames, waiting = list[Params](), [tree]
    while waiting:
        frame_tree = waiting.pop(0)
        frames.append(frame_tree["frame"])
        waiting += frame_tree.get("childFrames", ())
    return frames


def _frame_text(frame: Params, root: Params, text: str) -> str:
    if frame["id"] == root["frame"]["id"] or not text:
        return text
    return f"Frame {frame.get('url', '')[:200]}:\n{text}"
