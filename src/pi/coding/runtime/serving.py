"""A session's answers to the tools that work for it."""

from __future__ import annotations

from pi.ai.models.model import ImageLimits as ModelLimits
from pi.ai.models.model import ImageResize, InputLimits
from pi.coding.runtime.core import Core
from pi.coding.tools.images import ImageLimits


def session_variables(core: Core) -> dict[str, str]:
    """What the bash tool tells its commands about the session."""
    variables = {
        "PI_SESSION_ID": core.log.header.id,
        "PI_PROVIDER": core.agent.model.provider,
        "PI_MODEL": core.agent.model.id,
        "PI_REASONING_LEVEL": core.agent.thinking_level,
    }
    if core.log.file is not None:
        variables["PI_SESSION_FILE"] = str(core.log.file)
    return variables


def image_limits(core: Core) -> ImageLimits:
    """What the model takes, and whether the person wants pictures made to fit."""
    resize = core.workspace.values.images.auto_resize
    match core.agent.model.input_limits:
        case InputLimits(images=ModelLimits(resize=ImageResize() as largest)):
            return ImageLimits(
                max_width=largest.max_width,
                max_height=largest.max_height,
                max_bytes=largest.max_bytes,
                resize=resize,
            )
        case _:
            return ImageLimits(resize=resize)
