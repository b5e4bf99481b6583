"""Tool records: declaration for the model, function to run, result."""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable
from typing import Any, Literal, TypeAlias

from msgspec import UNSET, UnsetType

from pi.agent.errors import BadToolName
from pi.agent.tools.approval import Approval, FormatApprovalDetails, ToolApproval, approval_of
from pi.agent.tools.effects import UNKNOWN_EFFECTS, CallEffects, Effects
from pi.ai.messages import Image, Json, Text, Tool, Usage
from pi.ai.models.model import Model
from pi.base.errors import PiError
from pi.base.records import Record

log = logging.getLogger(__name__)

_MAX_NAME = 64

Update: TypeAlias = "Callable[[ToolResult], None]"


class ToolResult(Record):
    """Result of a tool, for the model (``content``) and for views (``details``)."""

    content: tuple[Text | Image, ...] = ()
    details: Any | UnsetType = UNSET
    structured_content: Any | UnsetType = UNSET
    """The result as a JSON value, for programs; not stored, and not sent to the model."""
    usage: Usage | UnsetType = UNSET
    """Usage of models that the tool called itself."""
    is_error: bool = False
    terminate: bool = False
    """Ends the run if every result of the batch sets it."""
    useless: bool = False
    """Need not stay in the context after the model has seen it."""

    @classmethod
    def of(cls, text: str, **more: Any) -> ToolResult:
        """Make a text result."""
        return cls(content=(Text(text=text),), **more)


class ToolFailed(PiError):
    """A failure that the model can act on; the message is sent to it as an error result."""

    def __init__(
        self, message: str, *, details: Any = UNSET, structured_content: Any = UNSET
    ) -> None:
        super().__init__(message)
        self.details = details
        self.structured_content = structured_content
        """The failure as a JSON value, for programs."""


class ToolContext(Record, kw_only=False):
    """Passed to a tool beside its arguments."""

    call_id: str
    update: Update
    """Shows an intermediate result, which replaces the previous one."""
    model: Model | None = None
    """The model that made the call; ``None`` if it is not known."""
    abort: Callable[[], None] = lambda: None
    """Aborts the run, including this call."""
    session: Any = None
    """The ``ExtensionContext`` of the extension that registered the tool; ``None`` for others."""
    background: bool = False
    """Whether the call is a background job: the conversation does not wait for it."""


class FilePreview(Record):
    """The text that a call would add to a file, from the arguments received so far."""

    path: str
    """As written by the model."""
    added: str
    """Text that the model wrote; never text of the file itself."""
    removed: str = ""
    """Text that the call replaces, as quoted by the model; ``added`` may repeat parts of it."""


Run: TypeAlias = Callable[[Any, ToolContext], Awaitable[Any]]
"""Takes validated arguments; returns a ``ToolResult``, a string, or any JSON value."""
Validate: TypeAlias = Callable[[Json], Any]
"""Returns the decoded arguments; raises ``ToolFailed`` with a message for the model."""


class AgentTool(Record):
    """A tool that can run; ``pi.agent.tools.define`` makes one from a signature or schema."""

    name: str
    description: str
    parameters: Json
    """JSON Schema of the arguments."""
    run: Run
    validate: Validate
    label: str = ""
    execution_mode: Literal["parallel", "sequential"] = "parallel"
    prepare_arguments: Callable[[Json], Json] | None = None
    """Adjusts the arguments before validation."""
    touches: Callable[[Any], tuple[str, ...]] | None = None
    """Files that the call changes: calls on the same file run in order."""
    effects: Effects | None = None
    """What a call reads, writes and contacts, found as the tool finds it; for permission guards."""
    preview: Callable[[Json], FilePreview | None] | None = None
    """The text that the call adds to a file. Called for every delta: it must not read files."""
    replay: Literal["never", "safe"] = "never"
    constrained_sampling: Json | Literal[False] | UnsetType = UNSET
    strict: bool | None = None
    """Whether providers should enforce the schema, where they can.

    A short form of ``constrained_sampling``, which takes precedence.
    """
    approval: Approval | None = None
    """What a call may do: ``read``, ``write``, ``exec``, or a function of the arguments."""
    format_approval_details: FormatApprovalDetails | None = None
    """Returns the lines that a permission dialog shows about a call."""
    deferrable: bool = False
    """Whether a call may leave a pending action, which the model applies or discards later."""
    on_session: Callable[[Any, Any], Any] | None = None
    """Called with ``ToolSessionEvent`` and a context when the session changes; for extensions."""

    def __post_init__(self) -> None:
        if not _is_name(self.name):
            raise BadToolName(
                f"Invalid tool name {self.name!r}: providers would reject it.",
                hint="Use 1 to 64 letters of a-z and A-Z, digits, _ and -.",
            )

    @property
    def declaration(self) -> Tool:
        """The declaration for the model."""
        sampling = self.constrained_sampling
        if sampling is UNSET and self.strict is not None:
            sampling = {"type": "json_schema", "strict": "prefer"} if self.strict else False
        return Tool(
            name=self.name,
            description=self.description,
            parameters=self.parameters,
            constrained_sampling=sampling,
        )

    def approval_for(self, arguments: Json) -> ToolApproval:
        """What a call with these arguments may do."""
        prepared = self.prepare_arguments(arguments) if self.prepare_arguments else arguments
        return approval_of(self.name, self.approval, self.format_approval_details, prepared)

    def effects_for(self, arguments: Json) -> CallEffects:
        """What a call reads, writes and contacts; unknown if the arguments are invalid."""
        if self.effects is None:
            return UNKNOWN_EFFECTS
        try:
            prepared = self.prepare_arguments(arguments) if self.prepare_arguments else arguments
            return self.effects(self.validate(prepared))
        except Exception as error:  # also code of extensions: what is unknown must not be allowed
            log.info("the effects of a call of %s are unknown: %s", self.name, error)
            return UNKNOWN_EFFECTS


def _is_name(text: str) -> bool:
    """Whether providers accept the name: letters, digits, ``_`` and ``-``."""
    letters = text.replace("-", "a").replace("_", "a")
    return len(text) <= _MAX_NAME and letters.isascii() and letters.isalnum()
