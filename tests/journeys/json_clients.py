"""Clients of the two protocols that pi speaks on its standard streams: RPC and ACP."""

from __future__ import annotations

import json
import subprocess
import threading
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from queue import Empty, Queue
from typing import Any

from tests.journeys.processes import SECONDS

Json = dict[str, Any]


class JsonLines:
    """Sends and receives JSON lines; ``records`` is everything that was received."""

    def __init__(self, process: subprocess.Popen[bytes]) -> None:
        self.process = process
        self.lines: list[str] = []
        self.records: list[Json] = []
        self.err = ""
        self._queue: Queue[bytes] = Queue()
        self._threads = [
            threading.Thread(target=self._read_out, daemon=True),
            threading.Thread(target=self._read_err, daemon=True),
        ]
        for thread in self._threads:
            thread.start()

    def send(self, record: Json) -> None:
        """Write one line."""
        assert self.process.stdin is not None
        self.process.stdin.write(json.dumps(record).encode() + b"\n")
        self.process.stdin.flush()

    def receive(self) -> Json:
        """Wait for the next line."""
        try:
            line = self._queue.get(timeout=SECONDS)
        except Empty:
            raise AssertionError(f"no answer in {SECONDS:.0f} s\n{self.err}") from None
        if not line:
            self._queue.put(line)  # the end, also for the next call
            self._threads[1].join()
            raise AssertionError(f"pi has ended\n{self.err}")
        self.lines.append(line.decode())
        record: Json = json.loads(line)
        self.records.append(record)
        self.handle(record)
        return record

    def handle(self, record: Json) -> None:
        """React to a record; subclasses answer requests of pi."""

    def until(self, matches: Callable[[Json], bool]) -> Json:
        """Receive records until one matches; return it."""
        while not matches(record := self.receive()):
            pass
        return record

    def close(self) -> int:
        """Close the input of pi, wait for its end, and return its exit code."""
        assert self.process.stdin is not None
        with suppress(BrokenPipeError):  # pi has ended before it has read everything
            self.process.stdin.close()
        try:
            code = self.process.wait(SECONDS)
        except subprocess.TimeoutExpired:
            self.process.kill()
            raise
        for thread in self._threads:
            thread.join()
        while line := self._queue.get():
            self.lines.append(line.decode())
            self.records.append(json.loads(line))
        self._queue.put(b"")  # for a second call
        return code

    def _read_out(self) -> None:
        assert self.process.stdout is not None
        for line in self.process.stdout:
            self._queue.put(line)
        self._queue.put(b"")

    def _read_err(self) -> None:
        assert self.process.stderr is not None
        for line in self.process.stderr:
            self.err += line.decode()


class RpcClient(JsonLines):
    """A program that drives ``pi --mode rpc``."""

    def __init__(self, process: subprocess.Popen[bytes]) -> None:
        super().__init__(process)
        self.answers: dict[str, Json] = {}
        """Fields of the answer to a dialog by method, e.g. ``{"confirm": {"confirmed": True}}``.

        A dialog without them is cancelled."""

    def ask(self, command: str, /, **fields: Any) -> Json:
        """Send a command; return its whole response."""
        id = f"{command}-{len(self.records)}"
        self.send({"id": id, "type": command, **fields})
        return self.until(lambda record: record["type"] == "response" and record.get("id") == id)

    def request(self, command: str, /, **fields: Any) -> Any:
        """Send a command that succeeds; return its data."""
        response = self.ask(command, **fields)
        assert response["success"], json.dumps(response)
        return response.get("data")

    def prompts(self, text: str, **fields: Any) -> list[Json]:
        """Send a prompt, wait until the agent is settled, and return the events since."""
        count = len(self.records)
        self.request("prompt", message=text, **fields)
        if not any(record["type"] == "agent_settled" for record in self.records[count:]):
            self.until(lambda record: record["type"] == "agent_settled")
        return self.records[count:]

    def events(self, kind: str) -> list[Json]:
        """The records of one type."""
        return [record for record in self.records if record["type"] == kind]

    def handle(self, record: Json) -> None:
        """Answer a dialog."""
        if record["type"] == "extension_ui_request" and record["method"] in (
            "select",
            "confirm",
            "input",
            "editor",
        ):
            answer = self.answers.get(record["method"], {"cancelled": True})
            self.send({"type": "extension_ui_response", "id": record["id"], **answer})


class AcpClient(JsonLines):
    """An editor that drives ``pi acp``."""

    def __init__(self, process: subprocess.Popen[bytes], cwd: Path) -> None:
        super().__init__(process)
        self.cwd = cwd
        self.updates: list[Json] = []
        """The session updates, in order."""
        self.handlers: dict[str, Callable[[Json], Json]] = {}
        """Results of requests of the agent, by method; others get an error."""
        self._count = 0

    def ask(self, method: str, **params: Any) -> Json:
        """Send a request; return the whole answer."""
        self._count += 1
        id = self._count
        self.send({"jsonrpc": "2.0", "id": id, "method": method, "params": params})
        return self.until(lambda record: record.get("id") == id and "method" not in record)

    def request(self, method: str, **params: Any) -> Any:
        """Send a request that succeeds; return its result."""
        answer = self.ask(method, **params)
        assert "result" in answer, answer
        return answer["result"]

    def opens(self, **capabilities: Any) -> str:
        """Initialise and open a session in the working folder; return its id."""
        self.request("initialize", protocolVersion=1, clientCapabilities=capabilities)
        return str(self.request("session/new", cwd=str(self.cwd), mcpServers=[])["sessionId"])

    def prompts(self, session: str, text: str) -> Json:
        """Send a prompt and wait for its end; return the result."""
        prompt = [{"type": "text", "text": text}]
        result: Json = self.request("session/prompt", sessionId=session, prompt=prompt)
        return result

    @property
    def text(self) -> str:
        """What the agent has said."""
        chunks = (u for u in self.updates if u["sessionUpdate"] == "agent_message_chunk")
        return "".join(chunk["content"]["text"] for chunk in chunks)

    def handle(self, record: Json) -> None:
        """Keep an update; answer a request of the agent."""
        if record.get("method") == "session/update":
            self.updates.append(record["params"]["update"])
        elif "method" in record and "id" in record:
            answer: Json = {"jsonrpc": "2.0", "id": record["id"]}
            if handler := self.handlers.get(record["method"]):
                answer["result"] = handler(record["params"])
            else:
                answer["error"] = {"code": -32601, "message": "not supported"}
            self.send(answer)
