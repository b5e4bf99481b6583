"""What a program that embeds pi says to the model, in nobody's name."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from pi.base.records import replace
from pi.coding.runtime.core import Core
from pi.coding.runtime.events import Streaming
from pi.coding.session.messages import CustomMessage


async def send_custom(
    core: Core,
    message: CustomMessage,
    *,
    deliver_as: Streaming,
    trigger_turn: bool,
    prepare: Callable[[], Awaitable[None]],
) -> None:
    """Have the model see ``message``.

    While it works, ``deliver_as`` says when. At rest the message is only kept, unless
    ``trigger_turn`` says to ask the model, after ``prepare``, and to wait until it is idle again.
    """
    agent = core.agent
    message = replace(message, timestamp=message.timestamp or core.host.clock.now_ms())
    if core.busy:
        await (agent.steer if deliver_as == "steer" else agent.follow_up)(message)
    elif trigger_turn:
        await prepare()
        await agent.prompt((message,))
    else:
        await core.say(message)
