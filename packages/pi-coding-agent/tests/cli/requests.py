"""Prompts in the requests to the model server."""

from __future__ import annotations

import json

from bench.exchanges import Exchange
from bench.mock_process import MockProcess


def last_prompts(server: MockProcess) -> list[str]:
    """The prompts in the last request."""
    return prompts_in(server.log()[-1])


def prompts_in(exchange: Exchange) -> list[str]:
    """The prompts in a request."""
    messages = json.loads(exchange.body)["messages"]
    texts = [message["content"] for message in messages if message["role"] == "user"]
    return [text if isinstance(text, str) else text[0]["text"] for text in texts]
