"""The ways to use a session that the matrix of batteries compares: print, RPC, terminal."""

from __future__ import annotations

import base64
import json
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import takewhile
from typing import Any

from tests.journeys.json_clients import RpcClient
from tests.journeys.program import Journey
from tests.journeys.terminal import ESCAPE, Terminal

Json = dict[str, Any]


class Door:
    """A session that is used in one way."""

    name = ""

    def __init__(self, journey: Journey) -> None:
        self.journey = journey

    def prompts(self, text: str, *, picture: str = "", first: bool = False) -> list[Json]:
        """Send a prompt, wait for the end, and return the requests to the model.

        With ``picture`` this file is attached; with ``first`` the prompt begins a session.
        """
        model = self.journey.model
        model.requests.clear()
        self._prompt(text, picture, first=first)
        requests = list(model.requests)
        model.forget_script()
        return requests

    def leaves_file(self, name: str) -> bool:
        """Remove a file of the working folder; return whether it was there."""
        path = self.journey.home.cwd / name
        exists = path.exists()
        path.unlink(missing_ok=True)
        return exists

    def state(self, name: str) -> str:
        """Return the state of a battery in the list."""
        rows = json.loads(self.journey.pi("extensions", "list", "--json").out)
        return str(next(row["state"] for row in rows if row["name"] == name))

    def uses_model(self, provider: str, id: str) -> None:
        """Change the model of the session."""

    def strategy(self) -> str:
        """Return the strategy of the next compaction."""
        raise NotImplementedError

    def types_command(self, command: str) -> str:
        """Type a command; return the rows that it adds or changes."""
        raise NotImplementedError

    def rows_below_editor(self) -> str:
        """Return the rows below the editor."""
        raise NotImplementedError

    def close_dialogs(self) -> None:
        """Close the dialogs that are open on a screen."""

    def _prompt(self, text: str, picture: str, *, first: bool) -> None:
        raise NotImplementedError


class PrintDoor(Door):
    """``pi -p``: each prompt is a session."""

    name = "print"

    def __init__(self, journey: Journey, *options: str) -> None:
        super().__init__(journey)
        self._options = options

    def _prompt(self, text: str, picture: str, *, first: bool) -> None:
        files = [f"@{picture}"] if picture else []
        self.journey.pi("-p", *self._options, *files, text)


class RpcDoor(Door):
    """A session of ``pi --mode rpc``; dialogs are cancelled."""

    name = "rpc"

    def __init__(self, journey: Journey, client: RpcClient) -> None:
        super().__init__(journey)
        self.client = client

    def state(self, name: str) -> str:
        """Return the state of a battery in this session."""
        rows = self.client.request("get_extensions")["extensions"]
        return str(next(row["state"] for row in rows if row["name"] == name))

    def uses_model(self, provider: str, id: str) -> None:
        """Change the model."""
        self.client.request("set_model", provider=provider, modelId=id)

    def strategy(self) -> str:
        """Return what a preview names."""
        return str(self.client.request("preview_compaction")["strategy"])

    def _prompt(self, text: str, picture: str, *, first: bool) -> None:
        if first:
            self.client.request("new_session")
        images: Json = {}
        if picture:
            data = base64.b64encode((self.journey.home.cwd / picture).read_bytes()).decode()
            images["images"] = [{"type": "image", "data": data, "mimeType": "image/png"}]
        self.client.prompts(text, **images)


class TerminalDoor(Door):
    """A session on a terminal; questions are left with Escape."""

    name = "terminal"

    def __init__(self, journey: Journey, user: Terminal) -> None:
        super().__init__(journey)
        self.user = user

    def uses_model(self, provider: str, id: str) -> None:
        """Change the model."""
        self.types_command(f"/model {provider}/{id}")

    def strategy(self) -> str:
        """Return what a preview names."""
        screen = self.types_command("/compact --preview")
        return next((name for name in ("handoff", "snapcompact") if name in screen), "other")

    def types_command(self, command: str) -> str:
        """Type a command; return the rows that it adds or changes."""
        before = self.user.tape.splitlines()
        self.user.submits(command)
        self.settles()
        after = self.user.tape.splitlines()
        self.close_dialogs()
        pairs = zip(before, after, strict=False)
        unchanged = sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], pairs))
        return "\n".join(after[unchanged:])

    def rows_below_editor(self) -> str:
        """Return the rows below the editor."""
        return self.user.screen.rpartition("────")[2]

    def _prompt(self, text: str, picture: str, *, first: bool) -> None:
        if first:
            self.types_command("/new")
        if picture:
            self.user.pastes(str(self.journey.home.cwd / picture))
            self.user.types(" ")
        self.user.submits(text)
        self.settles()
        self.close_dialogs()

    def settles(self) -> str:
        """Wait until neither pi nor the model is at work; return the screen."""
        model = self.journey.model
        while True:
            count = len(model.requests)
            screen = self.user.settles()
            if not model.is_answering and len(model.requests) == count:
                return screen

    def close_dialogs(self) -> None:
        """Press Escape until no dialog is open."""
        for _ in range(5):
            if "────" in self.user.screen and "esc" not in self.user.screen.lower():
                return
            self.user.types(ESCAPE)
            self.settles()


@contextmanager
def open_door(journey: Journey, name: str, *options: str) -> Iterator[Door]:
    """Start a session that is used in the way ``name``."""
    if name == "print":
        yield PrintDoor(journey, *options)
    elif name == "rpc":
        with journey.rpc(*options) as client:
            yield RpcDoor(journey, client)
    else:
        with journey.terminal(*options) as user:
            user.shows("Ask anything")
            user.settles()
            yield TerminalDoor(journey, user)
