"""The role ``vision``: another model answers if the model of the session cannot see a picture."""

from __future__ import annotations

from collections.abc import Sequence

from pi.extension import (
    ExtensionAPI,
    Image,
    Message,
    Policy,
    Request,
    RoleModel,
    UserMessage,
    replace,
)


class VisionRole(Policy):
    """Sends requests whose prompt has a picture to the model of the role."""

    def __init__(self, pi: ExtensionAPI) -> None:
        self._pi = pi
        self._announced = 0
        """The time of the prompt for which the user was informed."""

    async def before_request(self, request: Request) -> Request:
        """Use the model of the role for this request only."""
        prompt = last_prompt(request.messages)
        if request.model.sees_images or prompt is None or not _has_image(prompt):
            return request
        found = (await self._pi.models.for_role("vision", current=False)).models
        if not found:
            return request
        self._announce(found[0], prompt)
        level = found[0].thinking or request.thinking
        return replace(request, model=found[0].model, thinking=level)

    def _announce(self, found: RoleModel, prompt: UserMessage) -> None:
        if self._announced != prompt.timestamp:
            self._announced = prompt.timestamp
            name = f"{found.model.provider}/{found.model.id}"
            self._pi.context.ui.notify(f"{name} looks at the picture (role vision).", "info")


def last_prompt(messages: Sequence[Message]) -> UserMessage | None:
    """Return the last message of the user."""
    return next((each for each in reversed(messages) if isinstance(each, UserMessage)), None)


def _has_image(message: UserMessage) -> bool:
    return not isinstance(message.content, str) and any(
        isinstance(part, Image) for part in message.content
    )
