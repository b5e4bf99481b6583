"""TCP connections of extensions, under the address policy."""

from __future__ import annotations

from pathlib import Path

import pytest

from pi.extension import ExtensionAPI, HttpError
from pi.extension.guards import AddressPolicy, AddressRefused
from tests.coding.extension_host.extension_session import extension_session
from tests.coding.web_site import web_site


async def test_a_connection_goes_only_to_allowed_addresses(tmp_path: Path) -> None:
    apis: list[ExtensionAPI] = []
    async with extension_session(tmp_path, apis.append), web_site({"/": ("text/plain", b"x")}) as s:
        connect = apis[0].http.connect
        reader, writer = await connect("127.0.0.1", s.port)
        writer.write(b"GET / HTTP/1.1\r\n\r\n")
        answer = await reader.read()
        writer.close()

        assert answer.endswith(b"\r\n\r\nx")
        with pytest.raises(AddressRefused):
            await connect("127.0.0.1", s.port, allow_address=AddressPolicy())
        with pytest.raises(HttpError, match="Cannot connect to 127"):
            await connect("127.0.0.1", 1)
        with pytest.raises(HttpError, match="is not a host name"):
            await connect("ä", 1)
