"""What the tools of a workspace ask of the session that uses them."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from typing import TYPE_CHECKING

from pi.base.records import Record
from pi.coding.blobs.artifacts import Artifact
from pi.coding.files.layers import FileLayer
from pi.coding.runtime.secrets import KnownSecrets
from pi.coding.tools.images import ImageLimits

if TYPE_CHECKING:  # few sessions have any
    from pi.coding.shell.jobs import Job


async def _tell_nobody(job: Job) -> None:
    """No session, no model."""


class ForSession(Record):
    """Asked anew every time: model, tools and the session itself change under way."""

    secrets: KnownSecrets | None = None
    """What no command may see."""
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
    has_screen: bool = False
    """Whether a person looks on, at a terminal of their own."""
    job_ended: Callable[[Job], Awaitable[None]] = _tell_nobody
    """Tells the model of a command that ran on."""
