"""The pictures of the transcript, reduced once."""

from __future__ import annotations

from collections.abc import Sequence

from pi.ai.messages import Image
from pi.modes.interactive.transcript.block import TranscriptOptions
from pi.tui.images.graphics import Graphics, picture
from pi.tui.images.graphics import Image as ImageWidget


class ImageCache:
    """The images of one block; the widget of each is cached."""

    def __init__(self, look: TranscriptOptions) -> None:
        self._look = look
        self._drawn: tuple[Sequence[Image], Graphics | None, int] | None = None
        """The arguments of the cached widgets: images, graphics protocol, maximum width."""
        self._widgets: list[ImageWidget] = []

    def rows(self, images: Sequence[Image], width: int, *, name: str = "") -> list[str]:
        """Return the images below each other, or a line of text for each that cannot be shown.

        ``name`` is their file name, if known.
        """
        key = (images, self._look.graphics, self._look.image_columns)
        if key != self._drawn:
            self._drawn = key
            self._widgets = [self._widget(image, name) for image in images]
        margin = " " * self._look.pad
        inside = max(width - 2 * len(margin), 1)
        return [margin + row for widget in self._widgets for row in widget.render(inside)]

    def _widget(self, image: Image, name: str) -> ImageWidget:
        look = self._look
        return ImageWidget(
            picture(image.data, image.mime_type, name),
            look.graphics,
            max_columns=look.image_columns,
            paint=look.theme.paint("muted"),
        )
