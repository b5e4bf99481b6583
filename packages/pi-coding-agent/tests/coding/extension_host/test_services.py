from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

from pi.coding.extension_host.api.api import ExtensionAPI
from pi.coding.extension_host.errors import ExtensionError
from tests.coding.extension_host.extension_session import extension_session


async def test_a_setting_has_its_declared_kind_and_default(tmp_path: Path) -> None:
    apis: list[ExtensionAPI] = []
    changes: list[int] = []
    settings = {"weather": {"units": "metric", "days": "many"}}

    async with extension_session(tmp_path, apis.append, settings=settings) as hosted:
        (pi,) = apis
        pi.settings.declare("weather.units", str, "imperial")
        pi.settings.declare_all([("weather.days", int, 3, "how many")])
        pi.settings.declare("weather.city", str, "Berlin")
        listening = pi.settings.on_change(lambda: changes.append(1))
        hosted.session.settings.override({"weather.days": 5})
        listening.remove()
        hosted.session.settings.override({"weather.days": 7})

        names = ["weather.units", "weather.days", "weather.city", "weather.other"]
        assert [pi.settings.get(name) for name in names] == ["metric", 7, "Berlin", None]
        assert pi.settings.declared["weather.days"] == (int, 3, "how many")
    assert changes == [1]


async def test_a_setting_is_stored_in_the_requested_place(tmp_path: Path) -> None:
    apis: list[ExtensionAPI] = []
    changes: list[Any] = []

    async with extension_session(tmp_path, apis.append, approve=True) as hosted:
        (pi,) = apis
        pi.settings.declare("roles.default", str, "")
        pi.settings.on_change(lambda: changes.append(pi.settings.get("roles.default")))
        file = hosted.fixture.agent_dir / "settings.json"
        pi.settings.set("roles.default", "openai/gpt")
        assert json.loads(file.read_text())["roles"] == {"default": "openai/gpt"}
        pi.settings.set("roles.default", "mine", place="project")
        pi.settings.set("roles.default", "now", place="session")
        pi.settings.set("roles.default", None)
        with pytest.raises(ExtensionError, match=r"Cannot set \"roles.default\": Expected `str`"):
            pi.settings.set("roles.default", 3)
        with pytest.raises(ExtensionError, match="not the name of a setting"):
            pi.settings.set("roles.", 3)
        with pytest.raises(ExtensionError, match="Unknown place"):
            pi.settings.set("roles.default", "x", place="world")  # type: ignore[arg-type]

    assert changes == ["openai/gpt", "mine", "now", "now"]
    assert json.loads(file.read_text())["roles"] == {}
    project = json.loads((hosted.fixture.cwd / ".pi/settings.json").read_text())
    assert project == {"roles": {"default": "mine"}}


async def test_an_extension_can_send_and_stream_http_requests(tmp_path: Path) -> None:
    apis: list[ExtensionAPI] = []

    async def answer(reader: Any, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(b"HTTP/1.1 200 OK\r\ncontent-length: 5\r\n\r\nhello")
        await writer.drain()
        writer.close()

    server = await asyncio.start_server(answer, "127.0.0.1", 0)
    url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/"
    async with server, extension_session(tmp_path, apis.append):
        response = await apis[0].http.request(url, headers={"X-A": "1"})
        async with apis[0].http.stream(url) as stream:
            pieces = [piece async for piece in stream]

    assert (response.status, response.body) == (200, b"hello")
    assert (stream.status, b"".join(pieces)) == (200, b"hello")
