"""Pictures in the transcript, each drawn by one widget for as long as it is shown."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from pi.ai.messages import Image
from pi.modes.interactive.transcript.look import Look

if TYPE_CHECKING:
    from pi.tui.images.graphics import Graphics
    from pi.tui.widgets.image import Image as ImageWidget


class Pictures:
    """The pictures of one block."""

    def __init__(self, look: Look) -> None:
        self._look = look
        self._drawn: tuple[Sequence[Image], Graphics | None, int] | None = None
        """Of what the widgets are made: which pictures, with what, and how wide at the most."""
        self._widgets: list[ImageWidget] = []

    def rows(self, images: Sequence[Image], width: int, *, name: str = "") -> list[str]:
        """The pictures one below the other, or a line of text for each that cannot be shown.

        ``name`` is what they are called, if that is known.
        """
        wanted = (images, self._look.graphics, self._look.image_columns)
        if wanted != self._drawn:
            self._drawn = wanted
            self._widgets = [self._widget(image, name) for image in images]
        margin = " " * self._look.pad
        inside = max(width - 2 * len(margin), 1)
        return [margin + row for widget in self._widgets for row in widget.render(inside)]

    def _widget(self, image: Image, name: str) -> ImageWidget:
        # Few sessions show a picture, and reading them takes modules that nothing else needs.
        from pi.tui.images.graphics import picture
        from pi.tui.widgets.image import Image as ImageWidget

        look = self._look
        return ImageWidget(
            picture(image.data, image.mime_type, name),
            look.graphics,
            max_columns=look.image_columns,
            paint=look.theme.paint("muted"),
        )
