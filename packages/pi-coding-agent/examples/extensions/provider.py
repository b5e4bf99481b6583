"""A model that echoes the prompt: a provider in one file, without a network."""

from __future__ import annotations

from collections.abc import Callable

from pi.extension import Call, ExtensionAPI, MessageBuilder, Text, UserMessage


async def echo(call: Call, builder: MessageBuilder, flush: Callable[[], None]) -> None:
    """Answer with the last prompt of the user."""
    prompts = [message for message in call.messages if isinstance(message, UserMessage)]
    content = prompts[-1].content if prompts else ""
    if isinstance(content, tuple):
        content = "".join(block.text for block in content if isinstance(block, Text))
    builder.start()
    for word in content.split(" "):
        builder.text(0, f"{word} ")
        flush()
    builder.finish("stop")


def extension(pi: ExtensionAPI) -> None:
    """Register ``parrot/echo``. A server needs ``base_url`` and ``api`` instead of ``answer``."""
    model = {"id": "echo", "name": "Echo", "contextWindow": 8000, "maxTokens": 1000}
    pi.register_provider("parrot", {"api": "parrot", "models": [model], "answer": echo})
