"""``ToolSupport``: data of the session for tools; and the settings of ``bash``."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Annotated

from msgspec import Meta

from pi.base.records import Record
from pi.coding.extension_host.dormant import ExtensionContributions
from pi.coding.runtime.secrets import KnownSecrets

if TYPE_CHECKING:  # lazy: for tools that run
    from pi.coding.blobs.artifacts import Artifact
    from pi.coding.tools.images import ImageLimits


class ToolSupport:
    """Data of the session for tools. This base class has the defaults without a session."""

    def __init__(
        self,
        secrets: KnownSecrets | None = None,
        extensions: ExtensionContributions | None = None,
    ) -> None:
        self.secrets = secrets
        """Secrets that commands must not see."""
        self.extensions = extensions or ExtensionContributions()
        """Contributions of extensions, with their layers around files and processes."""

    def variables(self) -> Mapping[str, str]:
        """Return the environment variables for commands of the bash tool."""
        return {}

    def new_artifact(self) -> Artifact | None:
        """Create an artifact for a long output; ``None`` without a session."""
        return None

    def image_limits(self) -> ImageLimits:
        """Return the image limits of the model."""
        from pi.coding.tools.images import ImageLimits

        return ImageLimits()


class AutoBackgroundValues(Record):
    """``bash.autoBackground`` of the settings."""

    enabled: bool = False
    threshold_ms: Annotated[int, Meta(ge=0)] = 60_000


class MinimizerValues(Record):
    """``bash.minimizer`` of the settings."""

    enabled: bool = True


class BashValues(Record):
    """``bash`` of the settings. Core reads ``enabled``; batteries read the other fields."""

    enabled: bool = True
    """Whether the model may run commands; the user always may."""
    extended: bool = False
    session: bool = True
    rc_snapshot: bool = True
    strip_trailing_head_tail: bool = True
    minimizer: MinimizerValues = MinimizerValues()
    auto_background: AutoBackgroundValues = AutoBackgroundValues()


class InterceptorRule(Record):
    """One of ``bashInterceptor.rules``."""

    pattern: str
    tool: str
    message: str


class InterceptorValues(Record):
    """``bashInterceptor`` of the settings."""

    enabled: bool = False
    rules: tuple[InterceptorRule, ...] | None = None


class AsyncValues(Record):
    """``async`` of the settings."""

    enabled: bool = False
