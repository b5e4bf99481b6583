"""A tiny client of the mock server: one call is one connection."""

from __future__ import annotations

import http.client
import json
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, NamedTuple

Json = dict[str, Any]


class Answer(NamedTuple):
    status: int
    content_type: str
    body: bytes

    @property
    def json(self) -> Any:
        return json.loads(self.body)

    @property
    def events(self) -> list[tuple[str, Any]]:
        """Name and data of each server-sent event; the name is empty if there is none."""
        return [_event(block) for block in self.body.decode().split("\n\n") if block]


def call(
    port: int,
    method: str,
    path: str,
    body: Json | bytes = b"",
    headers: Mapping[str, str] = MappingProxyType({}),
) -> Answer:
    data = body if isinstance(body, bytes) else json.dumps(body).encode()
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=10)
    try:
        connection.request(method, path, data, headers)
        response = connection.getresponse()
        return Answer(response.status, response.headers["content-type"], response.read())
    finally:
        connection.close()


def _event(block: str) -> tuple[str, Any]:
    fields = dict(line.split(": ", 1) for line in block.splitlines())
    data = fields["data"]
    return fields.get("event", ""), data if data == "[DONE]" else json.loads(data)
