"""A client of the DevTools protocol, and the text of accessibility trees and events.

Messages are JSON texts over the pipes of a child process, each followed by a zero byte. Chromium
reads them from descriptor 3 and writes to descriptor 4; a shell connects these to standard input
and output. The accessibility tree of a page and the events of a tab (console, failed requests,
dialogs) become lines of text.
"""

from __future__ import annotations

import asyncio
import itertools
import json
from collections import OrderedDict, deque
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeAlias

from pi.extension import Child, PiError, one_line

MAX_MESSAGE = 64 * 1024 * 1024
"""Maximum bytes of a message from the browser: some contain data of the page."""
CHUNK = 256 * 1024
PIPES = ("/bin/sh", "-c", 'exec "$0" "$@" 3<&0 4>&1 </dev/null >/dev/null')
"""Command prefix that connects standard input and output to descriptors 3 and 4."""
ENDED = "The browser has ended."

Params: TypeAlias = dict[str, Any]
OnEvent: TypeAlias = Callable[[str, str, Params], None]
"""Called with the session (empty for the browser itself), the name of the event and its values."""
MAX_NAME = 300
"""Maximum characters of a name or value."""
MAX_DEPTH = 20
"""Maximum level of indentation; deeper nodes are shown at this level."""
_OPERATED = frozenset(
    {
        *("button", "checkbox", "combobox", "link", "listbox", "menuitem", "menuitemcheckbox"),
        *("menuitemradio", "option", "radio", "searchbox", "slider", "spinbutton", "switch"),
        *("tab", "textbox", "treeitem", "gridcell", "DisclosureTriangle", "Date", "ColorWell"),
    }
)
_WITHOUT_MEANING = frozenset({"generic", "none", "InlineTextBox", "LineBreak", "RootWebArea"})
_STATES = ("checked", "pressed", "selected", "expanded", "disabled", "required", "focused")

Node = Mapping[str, Any]
MAX_KEPT = 200
"""Messages and failures that are kept; the oldest are dropped."""
MAX_REQUESTS = 2000
"""Maximum of pending requests whose addresses are kept."""
MAX_LENGTH = 500
"""Maximum characters of one message."""


class BrowserGone(PiError):
    """The browser has ended, or sent an invalid message."""


class TargetGone(PiError):
    """The tab that a command was sent to has crashed or was closed."""


class CommandFailed(PiError):
    """The browser answered a command with an error."""


class DevTools:
    """Sends commands, and passes events to ``on_event``."""

    def __init__(self, child: Child, on_event: OnEvent) -> None:
        self._child = child
        self._on_event = on_event
        self._ids = itertools.count(1)
        self._waiting: dict[int, tuple[str, asyncio.Future[Params]]] = {}
        self._failure: BrowserGone | None = None

    @property
    def is_open(self) -> bool:
        """Whether commands can be sent."""
        return self._failure is None

    async def call(self, method: str, session: str = "", /, **params: Any) -> Params:
        """Send a command and return its result.

        Raises ``BrowserGone``, ``TargetGone`` or ``CommandFailed``.
        """
        if self._failure is not None:
            raise self._failure
        id = next(self._ids)
        message: Params = {"id": id, "method": method, "params": params}
        if session:
            message["sessionId"] = session
        future: asyncio.Future[Params] = asyncio.get_running_loop().create_future()
        self._waiting[id] = (session, future)
        try:
            await self._child.write(json.dumps(message).encode() + b"\0")
            return await future
        except ConnectionError as error:
            raise BrowserGone(ENDED) from error
        finally:
            del self._waiting[id]

    async def read(self) -> None:
        """Read messages until the browser ends."""
        try:
            await self._read()
            self._end(ENDED)
        except ValueError as error:
            self._end(f"The browser sent an invalid message: {error}.")
        finally:
            self._end("The browser was closed.")

    def drop(self, session: str, reason: str) -> None:
        """Raise ``TargetGone`` in all pending commands of a tab."""
        for owner, future in self._waiting.values():
            if owner == session and not future.done():
                future.set_exception(TargetGone(reason))

    async def _read(self) -> None:
        parts: list[bytes] = []
        size = 0
        while chunk := await self._child.output.read(CHUNK):
            *ends, rest = chunk.split(b"\0")
            for end in ends:
                parts.append(end)
                self._handle_message(b"".join(parts))
                parts, size = [], 0
            parts.append(rest)
            size += len(rest)
            if size > MAX_MESSAGE:
                raise ValueError(f"it is larger than {MAX_MESSAGE // 1024 // 1024} MB")

    def _handle_message(self, data: bytes) -> None:
        """Pass an answer to its call, or an event on. Raises ``ValueError`` if it is invalid."""
        try:
            message = json.loads(data)
        except RecursionError as error:
            raise ValueError("it is nested too deeply") from error
        match message:
            case {"id": int(id)}:
                _, future = self._waiting.get(id, ("", None))
                if future is not None and not future.done():  # else the call was cancelled
                    _settle(future, message)
            case {"method": str(method)}:
                try:
                    self._on_event(message.get("sessionId", ""), method, message.get("params", {}))
                except (LookupError, TypeError, AttributeError) as error:
                    raise ValueError(f"the event {method[:80]} has other values") from error
            case _:
                raise ValueError("it is neither an answer nor an event")

    def _end(self, reason: str) -> None:
        if self._failure is not None:
            return
        self._failure = BrowserGone(reason)
        for _, future in self._waiting.values():
            if not future.done():
                future.set_exception(self._failure)


def _settle(future: asyncio.Future[Params], message: Params) -> None:
    """Set the result or the error of a call. Raises ``ValueError`` for an invalid result."""
    error, result = message.get("error"), message.get("result", {})
    if error is not None:
        text = error.get("message", "it failed") if isinstance(error, dict) else error
        future.set_exception(CommandFailed(str(text)))
    elif isinstance(result, dict):
        future.set_result(result)
    else:
        raise ValueError("the result of a command is not an object")


def tree_text(nodes: Sequence[Node], *, limit: int, with_refs: bool = True) -> str:
    """The lines of a tree, as many as fit ``limit`` characters."""
    by_id = {node["nodeId"]: node for node in nodes}
    stack = [(node, 0, "") for node in reversed(nodes) if node.get("parentId") not in by_id]
    seen: set[str] = set()
    lines: list[str] = []
    size = 0
    while stack:
        node, depth, enclosing_name = stack.pop()
        if node["nodeId"] in seen:
            continue
        seen.add(node["nodeId"])
        line = _line(node, enclosing_name, with_refs=with_refs)
        if line:
            row = f"{'  ' * min(depth, MAX_DEPTH)}- {line}"
            size += len(row) + 1
            if size > limit:
                lines.append("… the rest of the page is left out")
                break
            lines.append(row)
            depth, enclosing_name = depth + 1, _text(node, "name")
        children = [by_id[id] for id in node.get("childIds", ()) if id in by_id]
        stack += [(child, depth, enclosing_name) for child in reversed(children)]
    return "\n".join(lines)


def _line(node: Node, enclosing_name: str, *, with_refs: bool) -> str:
    """The line of one element; empty if it has no meaning of its own."""
    role = _text(node, "role")
    name = _text(node, "name")
    properties = {
        property["name"]: property.get("value", {}).get("value") for property in _properties(node)
    }
    operated = role in _OPERATED or bool(properties.get("focusable") and role != "RootWebArea")
    if node.get("ignored") or (role in _WITHOUT_MEANING and not (operated and role == "generic")):
        return ""
    if role == "StaticText":
        # The text of a link or heading is its name.
        return "" if not name or name in enclosing_name else f"text {_quote(name)}"
    parts = [role, _quote(name)] if name else [role]
    if with_refs and operated and "backendDOMNodeId" in node:
        parts.append(f"[ref={node['backendDOMNodeId']}]")
    if properties.get("level"):
        parts.append(f"level={properties['level']}")
    if value := _text(node, "value"):
        parts.append(f"value={_quote(value)}")
    parts += [_state(key, properties[key]) for key in _STATES if _is_set(properties.get(key))]
    if role == "link" and (url := properties.get("url")):
        parts.append(one_line(str(url))[:MAX_NAME])
    return " ".join(parts)


def _is_set(value: Any) -> bool:
    return value not in (None, False, "false", "")


def _state(key: str, value: Any) -> str:
    return key if value in (True, "true") else f"{key}={one_line(str(value))}"


def _properties(node: Node) -> Sequence[Mapping[str, Any]]:
    properties: Sequence[Mapping[str, Any]] = node.get("properties", ())
    return properties


def _text(node: Node, key: str) -> str:
    value = node.get(key, {}).get("value", "")
    return one_line(str(value)).strip()


def _quote(text: str) -> str:
    cut = text if len(text) <= MAX_NAME else f"{text[:MAX_NAME]}…"
    return '"' + cut.replace('"', '\\"') + '"'


class Observed:
    """Collects events of a tab and its frames as lines of text."""

    def __init__(self) -> None:
        self.console: deque[str] = deque(maxlen=MAX_KEPT)
        self.failed_requests: deque[str] = deque(maxlen=MAX_KEPT)
        self._new: deque[str] = deque(maxlen=MAX_KEPT)
        self._notes: deque[str] = deque(maxlen=MAX_KEPT)
        self._urls: OrderedDict[str, str] = OrderedDict()

    def note(self, text: str) -> None:
        """Add a note for the model to the next result."""
        self._notes.append(shorten(text))

    def take_notes(self) -> list[str]:
        """The notes since the last call."""
        notes = list(self._notes)
        self._notes.clear()
        return notes

    def take_errors(self) -> list[str]:
        """Errors of the console and the network since the last call."""
        errors = list(self._new)
        self._new.clear()
        return errors

    def handle_event(self, method: str, params: dict[str, Any]) -> None:
        """Record an event of the console or the network; others are ignored."""
        handlers = {
            "Runtime.consoleAPICalled": self._on_console,
            "Runtime.exceptionThrown": self._on_exception,
            "Log.entryAdded": self._on_log,
            "Network.requestWillBeSent": self._on_request,
            "Network.responseReceived": self._on_response,
            "Network.loadingFailed": self._on_failure,
            "Network.loadingFinished": self._on_end,
        }
        if (handle := handlers.get(method)) is not None:
            handle(params)

    def _on_console(self, params: dict[str, Any]) -> None:
        level = str(params.get("type", "log"))
        message = " ".join(_argument(argument) for argument in params.get("args", ()))
        self._log(level, message, is_error=level in ("error", "assert"))

    def _on_exception(self, params: dict[str, Any]) -> None:
        self._log("exception", exception_text(params["exceptionDetails"]), is_error=True)

    def _on_log(self, params: dict[str, Any]) -> None:
        entry = params["entry"]
        if entry.get("source") == "network":
            return  # the events of the network have more details
        self._log(str(entry["level"]), str(entry["text"]), is_error=entry["level"] == "error")

    def _log(self, level: str, text: str, *, is_error: bool) -> None:
        line = shorten(f"{level}: {text}")
        self.console.append(line)
        if is_error:
            self._new.append(f"console {line}")

    def _on_request(self, params: dict[str, Any]) -> None:
        request = params["request"]
        self._urls[params["requestId"]] = f"{request['method']} {request['url']}"
        while len(self._urls) > MAX_REQUESTS:
            self._urls.popitem(last=False)

    def _on_response(self, params: dict[str, Any]) -> None:
        response = params["response"]
        if response["status"] >= 400:
            self._fail(params["requestId"], f"status {response['status']}", response["url"])

    def _on_failure(self, params: dict[str, Any]) -> None:
        reason = params.get("blockedReason") or params.get("errorText") or "failed"
        if not params.get("canceled"):
            self._fail(params["requestId"], reason, "a request")
        self._on_end(params)

    def _on_end(self, params: dict[str, Any]) -> None:
        self._urls.pop(params["requestId"], None)

    def _fail(self, request: str, reason: str, otherwise: str) -> None:
        line = shorten(f"{self._urls.get(request, otherwise)}: {reason}")
        self.failed_requests.append(line)
        self._new.append(f"network {line}")


def exception_text(details: dict[str, Any]) -> str:
    """The description of an exception of a script."""
    exception = details.get("exception", {})
    return str(exception.get("description") or exception.get("value") or details.get("text", ""))


def shorten(text: str) -> str:
    """One line of limited length."""
    line = one_line(text)
    return line if len(line) <= MAX_LENGTH else f"{line[:MAX_LENGTH]}…"


def _argument(value: dict[str, Any]) -> str:
    if "value" in value:
        return str(value["value"])
    return str(value.get("description") or value.get("type", ""))
