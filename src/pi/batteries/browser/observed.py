"""What happens in a tab while it is not asked: console, failed requests, dialogs, downloads."""

from __future__ import annotations

from collections import OrderedDict, deque
from typing import Any

from pi.extension import one_line

MAX_KEPT = 200
"""Messages and failures that are kept; the oldest are dropped."""
MAX_REQUESTS = 2000
"""Addresses of requests that have not ended."""
MAX_LENGTH = 500
"""Characters of one message."""


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
