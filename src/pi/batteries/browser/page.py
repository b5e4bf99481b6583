"""A page as text: its accessibility tree, and what happens in it (console, requests, dialogs)."""

from __future__ import annotations

from collections import OrderedDict, deque
from collections.abc import Mapping, Sequence
from typing import Any

from pi.extension import one_line

MAX_NAME = 300
"""Characters of a name or value."""
MAX_DEPTH = 20
"""Levels of indentation; deeper ones are shown at this one."""
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
"""Addresses of requests that have not ended."""
MAX_LENGTH = 500
"""Characters of one message."""


def tree_text(nodes: Sequence[Node], *, limit: int, with_refs: bool = True) -> str:
    """The lines of a tree, as many as fit ``limit`` characters."""
    by_id = {node["nodeId"]: node for node in nodes}
    stack = [(node, 0, "") for node in reversed(nodes) if node.get("parentId") not in by_id]
    seen: set[str] = set()
    lines: list[str] = []
    size = 0
    while stack:
        node, depth, around = stack.pop()
        if node["nodeId"] in seen:
            continue
        seen.add(node["nodeId"])
        line = _line(node, around, with_refs=with_refs)
        if line:
            row = f"{'  ' * min(depth, MAX_DEPTH)}- {line}"
            size += len(row) + 1
            if size > limit:
                lines.append("… the rest of the page is left out")
                break
            lines.append(row)
            depth, around = depth + 1, _text(node, "name")
        children = [by_id[id] for id in node.get("childIds", ()) if id in by_id]
        stack += [(child, depth, around) for child in reversed(children)]
    return "\n".join(lines)


def _line(node: Node, around: str, *, with_refs: bool) -> str:
    """One element; empty if it says nothing."""
    role = _text(node, "role")
    name = _text(node, "name")
    properties = {each["name"]: each.get("value", {}).get("value") for each in _properties(node)}
    operated = role in _OPERATED or bool(properties.get("focusable") and role != "RootWebArea")
    if node.get("ignored") or (role in _WITHOUT_MEANING and not (operated and role == "generic")):
        return ""
    if role == "StaticText":
        # The text of a link or heading is its name.
        return "" if not name or name in around else f"text {_quoted(name)}"
    words = [role, _quoted(name)] if name else [role]
    if with_refs and operated and "backendDOMNodeId" in node:
        words.append(f"[ref={node['backendDOMNodeId']}]")
    if properties.get("level"):
        words.append(f"level={properties['level']}")
    if value := _text(node, "value"):
        words.append(f"value={_quoted(value)}")
    words += [_state(key, properties[key]) for key in _STATES if _is_set(properties.get(key))]
    if role == "link" and (url := properties.get("url")):
        words.append(one_line(str(url))[:MAX_NAME])
    return " ".join(words)


def _is_set(value: Any) -> bool:
    return value not in (None, False, "false", "")


def _state(key: str, value: Any) -> str:
    return key if value in (True, "true") else f"{key}={one_line(str(value))}"


def _properties(node: Node) -> Sequence[Mapping[str, Any]]:
    found: Sequence[Mapping[str, Any]] = node.get("properties", ())
    return found


def _text(node: Node, key: str) -> str:
    value = node.get(key, {}).get("value", "")
    return one_line(str(value)).strip()


def _quoted(text: str) -> str:
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
        """Something that the model has to know with the next result."""
        self._notes.append(shortened(text))

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

    def take(self, method: str, params: dict[str, Any]) -> None:
        """Look at one event."""
        known = {
            "Runtime.consoleAPICalled": self._on_console,
            "Runtime.exceptionThrown": self._on_exception,
            "Log.entryAdded": self._on_log,
            "Network.requestWillBeSent": self._on_request,
            "Network.responseReceived": self._on_response,
            "Network.loadingFailed": self._on_failure,
            "Network.loadingFinished": self._on_end,
        }
        if (handle := known.get(method)) is not None:
            handle(params)

    def _on_console(self, params: dict[str, Any]) -> None:
        level = str(params.get("type", "log"))
        words = " ".join(_argument(each) for each in params.get("args", ()))
        self._log(level, words, is_error=level in ("error", "assert"))

    def _on_exception(self, params: dict[str, Any]) -> None:
        self._log("exception", exception_text(params["exceptionDetails"]), is_error=True)

    def _on_log(self, params: dict[str, Any]) -> None:
        entry = params["entry"]
        if entry.get("source") == "network":
            return  # the events of the network say more
        self._log(str(entry["level"]), str(entry["text"]), is_error=entry["level"] == "error")

    def _log(self, level: str, text: str, *, is_error: bool) -> None:
        line = shortened(f"{level}: {text}")
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
        line = shortened(f"{self._urls.get(request, otherwise)}: {reason}")
        self.failed_requests.append(line)
        self._new.append(f"network {line}")


def exception_text(details: dict[str, Any]) -> str:
    """An exception of a script in one line."""
    exception = details.get("exception", {})
    return str(exception.get("description") or exception.get("value") or details.get("text", ""))


def shortened(text: str) -> str:
    """One line of limited length."""
    line = one_line(text)
    return line if len(line) <= MAX_LENGTH else f"{line[:MAX_LENGTH]}…"


def _argument(value: dict[str, Any]) -> str:
    if "value" in value:
        return str(value["value"])
    return str(value.get("description") or value.get("type", ""))
