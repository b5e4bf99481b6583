"""What the tools of a workspace ask of the session that uses them."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence

from pi.base.records import Record
from pi.coding.blobs.artifacts import Artifact
from pi.coding.files.layers import FileLayer
from pi.coding.tools.images import ImageLimits


class ForSession(Record):
    """Asked anew every time: model, tools and the session itself change under way."""

    variables: Callable[[], Mapping[str, str]] = dict
    """What the bash tool tells its commands."""
    new_artifact: Callable[[], Artifact | None] = lambda: None
    """A place for a long output, or none when nothing is kept."""
    image_limits: Callable[[], ImageLimits] = ImageLimits
    """What the model takes."""
    file_layers: Callable[[], Sequence[FileLayer]] = tuple
    """What stands around every write."""
    tools: Callable[[], Collection[str]] = tuple
    """Names of the tools that are on."""
