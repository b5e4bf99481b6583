"""What the model server was asked."""

from __future__ import annotations

import json

from bench.exchanges import Exchange
from bench.mock_process import MockProcess


def asked(server: MockProcess) -> list[str]:
    """What the user said, as the last request shows it."""
    return spoken(server.log()[-1])


def spoken(exchange: Exchange) -> list[str]:
    """What the user said, as a request shows it."""
    messages = json.loads(exchange.body)["messages"]
    texts = [message["content"] for message in messages if message["role"] == "user"]
    return [text if isinstance(text, str) else text[0]["text"] for text in texts]
