"""Shapes of pictures (cell, width, columns, inks), the best one per model, and the budget."""

from __future__ import annotations

import re

from pi.extension import Model, Record, replace


class FrameShape(Record):
    """The layout of a picture. Its height follows its text, up to its width."""

    name: str
    cell: tuple[int, int]
    """Width and height of a character, space included."""
    is_wide: bool = False
    """Whether letters are seven pixels wide instead of five."""
    columns: int = 1
    """Columns of text; with several, lines break between words."""
    dims: bool = False
    """Whether words that carry little meaning are grey."""
    hues: bool = False
    """Whether sentences alternate between colours."""
    width: int = 1568
    """Width in pixels."""

    @property
    def characters(self) -> int:
        """Characters of a line."""
        gutters = GUTTER * (self.columns - 1)
        return (self.width - gutters) // self.columns // self.cell[0]

    @property
    def lines(self) -> int:
        """Lines of a full picture, in all columns together."""
        return self.width // self.cell[1] * self.columns

    @property
    def capacity(self) -> int:
        """Characters of a full picture."""
        return self.characters * self.lines

    @property
    def largest_tokens(self) -> int:
        """pi's estimate of the tokens of a full picture."""
        return min(self.width * self.width // PIXELS_PER_TOKEN, LARGEST_TOKENS)


GUTTER = 16
"""Pixels between two columns."""
PIXELS_PER_TOKEN, LARGEST_TOKENS = 750, 4784

_SMALL, _TALL, _OPEN = (6, 12), (8, 13), (8, 16)
SHAPES = {
    shape.name: shape
    for shape in (
        FrameShape(name="6x12-dim", cell=_SMALL, dims=True),
        FrameShape(name="6x12-bw", cell=_SMALL),
        FrameShape(name="8x13-bw", cell=_TALL, is_wide=True),
        FrameShape(name="8on16-bw", cell=_OPEN, is_wide=True),
        FrameShape(name="doc-8on16-bw", cell=_OPEN, is_wide=True, columns=2, width=2048),
        FrameShape(
            name="doc-8on16-sent", cell=_OPEN, is_wide=True, columns=2, hues=True, width=2048
        ),
        FrameShape(
            name="doc-8on16-sent-dim",
            cell=_OPEN,
            is_wide=True,
            columns=2,
            dims=True,
            hues=True,
            width=2048,
        ),
    )
}
AUTO = "auto"

_FINE_CLAUDE = re.compile(r"opus-4[.-]([7-9]|\d\d)|opus-[5-9]|fable|mythos")
FINE_WIDTH = 1932
"""Width up to which newer Claude models do not scale a picture down."""
_BY_MODEL = (
    (re.compile(r"claude"), "6x12-dim"),
    (re.compile(r"gemini"), "doc-8on16-sent-dim"),
    (re.compile(r"gpt|kimi|glm|\bo[1-9]"), "8on16-bw"),
)
_BY_API = (("google", "doc-8on16-sent-dim"), ("openai", "8on16-bw"))


def shape_for(model: Model, setting: str = AUTO) -> FrameShape:
    """Return the shape of the setting, else that for the model, else that for its API."""
    name = model.id.lower()
    if setting in SHAPES:
        return _resize(SHAPES[setting], name)
    for pattern, shape_name in _BY_MODEL:
        if pattern.search(name):
            return _resize(SHAPES[shape_name], name)
    for api, shape_name in _BY_API:
        if model.api.startswith(api):
            return SHAPES[shape_name]
    return SHAPES["6x12-dim"]


def _resize(shape: FrameShape, model: str) -> FrameShape:
    if "claude" in model and _FINE_CLAUDE.search(model) and shape.columns == 1:
        return replace(shape, width=FINE_WIDTH)
    return shape


MAX_FRAMES = 8
"""OpenRouter silently drops further pictures of a request."""
UNKNOWN_FRAMES = 5
_KNOWN = frozenset(
    {
        "amazon-bedrock",
        "anthropic",
        "azure",
        "github-copilot",
        "google",
        "google-vertex",
        "openai",
        "openai-codex",
        "openrouter",
    }
)


def frame_budget(provider: str) -> int:
    """Return the maximum of pictures in a request to a provider."""
    return MAX_FRAMES if provider in _KNOWN else UNKNOWN_FRAMES
