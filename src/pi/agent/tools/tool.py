"""A tool: what the model is told of it, and the function that runs."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any, Literal, TypeAlias

from msgspec import UNSET, UnsetType

from pi.agent.errors import BadToolName
from pi.ai.messages import Image, Json, Text, Tool, Usage
from pi.base.errors import PiError
from pi.base.records import Record

_LONGEST_NAME = 64

Update: TypeAlias = "Callable[[ToolResult], None]"


class ToolResult(Record):
    """What a tool gives back, for the model (``content``) and for views (``details``)."""

    content: tuple[Text | Image, ...] = ()
    details: Any | UnsetType = UNSET
    usage: Usage | UnsetType = UNSET
    """Of models that the tool asked itself."""
    is_error: bool = False
    terminate: bool = False
    """Ends the run when every result of the batch says so."""
    useless: bool = False
    """Nothing worth keeping in the context once the model has seen it."""

    @classmethod
    def of(cls, text: str, **more: Any) -> ToolResult:
        """A result of plain words."""
        return cls(content=(Text(text=text),), **more)


class ToolFailed(PiError):
    """A failure that the model can act on: it is told the message as an error result."""

    def __init__(self, message: str, *, details: Any = UNSET) -> None:
        super().__init__(message)
        self.details = details


class ToolContext(Record, kw_only=False):
    """What a tool is given beside its arguments."""

    call_id: str
    update: Update
    """Shows a result that replaces the one shown before, while the tool runs."""


class FilePreview(Record):
    """A file as a call would leave it, judged by what has come of its arguments."""

    path: str
    """As the model writes it."""
    text: str


Run: TypeAlias = Callable[[Any, ToolContext], Awaitable[Any]]
"""Gets validated arguments; gives a ``ToolResult``, a string, or any JSON value."""
Validate: TypeAlias = Callable[[Json], Any]
"""The arguments as the tool wants them; ``ToolFailed`` with what the model should mend."""


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
    """Mends what the model sent before it is validated."""
    touches: Callable[[Any], tuple[str, ...]] | None = None
    """Files that a call with these arguments changes: calls on one file run in their order."""
    preview: Callable[[Json], FilePreview | None] | None = None
    """The file that a call with these arguments changes; they may still be incomplete."""
    replay: Literal["never", "safe"] = "never"
    constrained_sampling: Json | Literal[False] | UnsetType = UNSET

    def __post_init__(self) -> None:
        if not _is_name(self.name):
            raise BadToolName(
                f"A tool cannot be called {self.name!r}: providers would refuse it.",
                hint="Use 1 to 64 letters of a-z and A-Z, digits, _ and -.",
            )

    @property
    def declaration(self) -> Tool:
        """What the model is told."""
        return Tool(
            name=self.name,
            description=self.description,
            parameters=self.parameters,
            constrained_sampling=self.constrained_sampling,
        )


def _is_name(text: str) -> bool:
    """Whether providers take it: letters, digits, ``_`` and ``-``."""
    letters = text.replace("-", "a").replace("_", "a")
    return len(text) <= _LONGEST_NAME and letters.isascii() and letters.isalnum()
