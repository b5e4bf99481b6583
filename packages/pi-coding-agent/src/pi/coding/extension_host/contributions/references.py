"""References that tools read like files: ``rule://name``, ``archive.zip:inner``."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import Any, Protocol, TypeAlias

from msgspec import UNSET

from pi.agent.tools.effects import CallEffects, Effects
from pi.agent.tools.tool import AgentTool, ToolContext, ToolFailed, ToolResult
from pi.ai.messages import Image, Json, Text
from pi.base.records import Record, replace
from pi.base.tasks import maybe_await
from pi.coding.files.layers import FileWritten
from pi.coding.shell.output import Size, keep_head


class ResourceRef(Record):
    """A parsed reference."""

    text: str
    """The path as written."""
    rest: str
    """The part that the handler needs."""


class ResourceWindow(Record):
    """The requested lines; a handler may return more."""

    offset: int = 1
    limit: int | None = None


class Resource(Record):
    """The content of a reference: ``text``, of which lines are read, or ``content`` with images."""

    text: str = ""
    media_type: str = "text/plain"
    content: tuple[Text | Image, ...] = ()
    """Sent to the model as it is, instead of ``text``."""
    details: Any = UNSET
    """For the view of the tool call."""
    note: str = ""
    """Shown before every window of ``text``, e.g. its origin."""


class ResourceHandler(Protocol):
    """Reads references; a handler with ``write(ref, text)`` also writes them.

    ``write`` may return ``FileWritten`` with notes, or a whole ``ToolResult``.
    With ``list(ref)``, which returns names, ``ls`` works as well. With ``complete(prefix)`` the
    editor completes ``rest``. Both may be sync or async. With ``touches(ref)``, which returns the
    files that hold the reference (the archive, not its entry), writes to the same file run in
    order, and permission guards decide about these files. With ``addresses(ref)``, which returns
    other names of what is read, rules about these apply as well.
    """

    async def read(self, ref: ResourceRef, window: ResourceWindow) -> Resource:
        """The text. Raises ``ToolFailed`` with the alternatives if the reference does not exist."""
        ...


ParseReference: TypeAlias = Callable[[str], ResourceRef | None]
"""Parses a path; ``None`` if it is another kind of path."""
WriteReference: TypeAlias = Callable[[ResourceRef, str], Awaitable[Any]]
"""``write(ref, text)`` of a handler."""


class Reference(Record):
    """A form of reference with its handler."""

    parse: ParseReference
    handler: Any
    """A ``ResourceHandler``, possibly one that writes."""
    example: str = ""
    """A path of this form; ``read`` and ``write`` declare it in their field ``path``."""


def scheme_form(scheme: str) -> ParseReference:
    """A parser of references that start with ``scheme://``."""
    prefix = f"{scheme}://"

    def parse(text: str) -> ResourceRef | None:
        if not text.startswith(prefix):
            return None
        return ResourceRef(text=text, rest=text.removeprefix(prefix))

    return parse


def with_references(tool: AgentTool, references: Sequence[Reference]) -> AgentTool:
    """Let ``read``, ``write`` and ``ls`` accept references; other tools are returned unchanged."""
    act = _ACTS.get(tool.name)
    if not references or act is None:
        return tool

    async def run(params: Any, ctx: ToolContext) -> Any:
        match = find_reference(references, params.path or "")
        return await (tool.run(params, ctx) if match is None else act(*match, params))

    return replace(
        tool,
        run=run,
        parameters=_parameters(tool, references),
        touches=_touches(tool, references),
        effects=_effects(tool, references),
    )


def _parameters(tool: AgentTool, references: Sequence[Reference]) -> Json:
    """The schema of the tool; its field ``path`` names the forms that the tool can use."""
    usable = (
        reference
        for reference in references
        if tool.name == "read" or (tool.name == "write" and hasattr(reference.handler, "write"))
    )
    examples = dict.fromkeys(reference.example for reference in usable if reference.example)
    if not examples:
        return tool.parameters
    properties = tool.parameters["properties"]
    path = properties["path"]
    text = f"{path['description']}, or {', '.join(examples)}"
    path = {**path, "description": text}
    return {**tool.parameters, "properties": {**properties, "path": path}}


def _effects(tool: AgentTool, references: Sequence[Reference]) -> Effects | None:
    """The effects of calls with references: the files of the handler, and which part of them."""
    of_file = tool.effects
    if of_file is None:
        return None

    def effects(params: Any) -> CallEffects:
        match = find_reference(references, params.path or "")
        if match is None:
            return of_file(params)
        handler, ref = match
        if not hasattr(handler, "touches"):
            cwd = of_file(replace(params, path=".")).cwd
            more = handler.addresses(ref) if hasattr(handler, "addresses") else ()
            return CallEffects(urls=tuple(dict.fromkeys((ref.text, *more))), cwd=cwd)
        of_files = [of_file(replace(params, path=path)) for path in handler.touches(ref)]
        files = (
            replace(file, member=ref.rest)
            for call_effects in of_files
            for file in call_effects.files
        )
        return CallEffects(files=tuple(files), cwd=of_files[0].cwd if of_files else "")

    return effects


def _touches(
    tool: AgentTool, references: Sequence[Reference]
) -> Callable[[Any], tuple[str, ...]] | None:
    of_file = tool.touches
    if of_file is None:
        return None

    def touches(params: Any) -> tuple[str, ...]:
        match = find_reference(references, params.path)
        if match is None or not hasattr(match[0], "touches"):
            return of_file(params)
        handler, ref = match
        return tuple(
            file for path in handler.touches(ref) for file in of_file(replace(params, path=path))
        )

    return touches


def find_reference(references: Sequence[Reference], path: str) -> tuple[Any, ResourceRef] | None:
    """The handler of a path with the parsed reference; the last match wins."""
    for reference in reversed(references):
        if (ref := reference.parse(path)) is not None:
            return reference.handler, ref
    return None


async def complete_reference(references: Sequence[Reference], typed: str) -> list[str]:
    """Completions for a partly typed reference such as ``rule://``."""
    match = find_reference(references, typed)
    if match is None:
        return []
    handler, ref = match
    begin = ref.text.removesuffix(ref.rest)
    return [begin + rest for rest in await handler_completions(handler, ref.rest)]


async def handler_completions(handler: Any, prefix: str) -> Sequence[str]:
    """The completions of a handler; empty if it has none."""
    complete = getattr(handler, "complete", None)
    if complete is None:
        return ()
    return await maybe_await(complete(prefix)) or ()


async def list_reference(handler: Any, ref: ResourceRef) -> Sequence[str]:
    """The names below a reference. Raises ``ToolFailed`` if its handler cannot list."""
    names = getattr(handler, "list", None)
    if names is None:
        raise ToolFailed(f"{ref.text} cannot be listed.")
    listed: Sequence[str] = await maybe_await(names(ref))
    return listed


async def _read(handler: Any, ref: ResourceRef, params: Any) -> ToolResult:
    offset = int(params.offset) if params.offset else 1
    limit = int(params.limit) if params.limit else None
    resource: Resource = await handler.read(ref, ResourceWindow(offset=offset, limit=limit))
    if resource.content:
        return ToolResult(content=resource.content, details=resource.details)
    lines = resource.text.split("\n")
    first = max(offset, 1) - 1
    window = "\n".join(lines[first : None if limit is None else first + limit])
    data = window.encode("utf-8", "replace")
    cut = keep_head(data, total=Size(window.count("\n") + 1, len(data)))
    last = first + cut.output_lines
    text = f"{resource.note}\n\n{cut.content}" if resource.note else cut.content
    if last >= len(lines) or not cut.content:
        return ToolResult.of(text, details=resource.details)
    notice = f"[Showing lines {first + 1}-{last} of {len(lines)}. Use offset={last + 1} to go on.]"
    return ToolResult.of(f"{text}\n\n{notice}", details=resource.details)


def writer_of(handler: Any, ref: ResourceRef) -> WriteReference:
    """The write method of a handler. Raises ``ToolFailed`` if the handler only reads."""
    write: WriteReference | None = getattr(handler, "write", None)
    if write is None:
        raise ToolFailed(f"{ref.text} can only be read.")
    return write


async def _written(handler: Any, ref: ResourceRef, params: Any) -> ToolResult:
    written = await writer_of(handler, ref)(ref, params.content)
    if isinstance(written, ToolResult):
        return written
    result = written if isinstance(written, FileWritten) else FileWritten()
    text = result.text or f"Successfully wrote to {ref.text}"
    return ToolResult.of("\n".join((text, *result.notes)), details=result.details or UNSET)


async def _list(handler: Any, ref: ResourceRef, params: Any) -> ToolResult:
    return ToolResult.of("\n".join(await list_reference(handler, ref)) or "(nothing)")


_ACTS: dict[str, Callable[[Any, ResourceRef, Any], Awaitable[ToolResult]]] = {
    "read": _read,
    "write": _written,
    "ls": _list,
}
