"""``artifact://3``, ``agent://Anna``, ``entry://1a2b`` and ``skill://pdf/forms.md`` as files.

An extension may register the same schemes; its handlers take precedence.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias
from urllib.parse import unquote

from pi.agent.skills import Skill
from pi.agent.tools.tool import AgentTool, ToolContext, ToolFailed
from pi.ai.messages import Image, Text
from pi.base.records import replace
from pi.coding.blobs.artifacts import Artifacts
from pi.coding.blobs.urls import NoSuchResource, resolve_artifact
from pi.coding.extension_host.contributions.references import (
    Reference,
    Resource,
    ResourceRef,
    ResourceWindow,
    scheme_form,
    with_references,
)
from pi.coding.runtime.entry_urls import read_entry, readable_ids

if TYPE_CHECKING:
    from pi.coding.runtime.live import LiveSession

Target: TypeAlias = Path | Reference
"""A file of this machine, or a handler for text without a file."""


async def use_internal_url(
    tool: AgentTool, params: Any, ctx: ToolContext, session: LiveSession
) -> Any:
    """Run ``read``, ``ls`` or ``grep`` with an internal URL; other tools raise ``ToolFailed``."""
    if tool.name == "find":
        raise ToolFailed(f"find does not search {params.path}: list it with ls.")
    if tool.name not in ("read", "ls", "grep"):
        raise ToolFailed(f"{params.path} can only be read.")
    scheme, _, rest = params.path.partition("://")
    target = _TARGETS[scheme](session, rest, params.path, is_listing=tool.name == "ls")
    if isinstance(target, Path):
        # The tool itself reads the file: it supports offset, limit and images.
        return await tool.run(replace(params, path=str(target)), ctx)
    if tool.name == "grep":
        raise ToolFailed(f"{params.path} is no file that grep can search: read it.")
    return await with_references(tool, (target,)).run(params, ctx)


def complete_internal_url(session: LiveSession, typed: str) -> list[str]:
    """Return completions for a partly typed URL."""
    scheme = typed.partition("://")[0]
    artifacts = session.artifacts
    names: dict[str, Callable[[], Iterable[object]]] = {
        "artifact": artifacts.numbers,
        "agent": artifacts.outputs.list,
        "entry": lambda: readable_ids(session.log),
        "skill": lambda: (skill.name for skill in _usable_skills(session)),
    }
    return [f"{scheme}://{name}" for name in names[scheme]()] if scheme in names else []


class _Text:
    """Resource handler for one text or a list of names.

    ``is_whole`` texts cannot be read in windows.
    """

    def __init__(
        self,
        text: str = "",
        *,
        content: tuple[Text | Image, ...] = (),
        names: Iterable[object] = (),
        is_whole: bool = False,
    ):
        self._text = text
        self._content = content
        self._names = names
        self._is_whole = is_whole

    async def read(self, ref: ResourceRef, window: ResourceWindow) -> Resource:
        if self._is_whole and (window.offset != 1 or window.limit is not None):
            raise ToolFailed(
                f"{ref.text} is a part of an output: offset and limit cannot be used with it."
            )
        return Resource(text=self._text, content=self._content)

    def list(self, ref: ResourceRef) -> Sequence[str]:
        return [str(name) for name in self._names]


def _as_reference(url: str, handler: _Text) -> Reference:
    return Reference(parse=scheme_form(url.partition("://")[0]), handler=handler)


def _artifact(session: LiveSession, rest: str, url: str, *, is_listing: bool) -> Target:
    artifacts = session.artifacts
    if is_listing and not rest:
        return _as_reference(url, _Text(names=artifacts.numbers()))
    if rest.isascii() and rest.isdigit() and (path := artifacts.path(int(rest))) is not None:
        return path
    return _read_artifact(url, artifacts)


def _agent(session: LiveSession, rest: str, url: str, *, is_listing: bool) -> Target:
    artifacts = session.artifacts
    if is_listing and not rest:
        return _as_reference(url, _Text(names=artifacts.outputs.list()))
    return _read_artifact(url, artifacts)


def _entry(session: LiveSession, rest: str, url: str, *, is_listing: bool) -> Target:
    if is_listing and not rest:
        return _as_reference(url, _Text(names=readable_ids(session.log)))
    content = read_entry(session.log, rest)
    texts = [part.text for part in content if isinstance(part, Text)]
    if len(texts) < len(content):
        return _as_reference(url, _Text(content=content))
    return _as_reference(url, _Text("\n".join(texts)))


def _read_artifact(url: str, artifacts: Artifacts) -> Reference:
    try:
        artifact = resolve_artifact(url, (artifacts.folder,))
    except NoSuchResource as error:
        raise ToolFailed(f"{error.message} {error.hint}".strip()) from error
    return _as_reference(url, _Text(artifact.text, is_whole=artifact.is_extract))


def _find_skill(session: LiveSession, rest: str, url: str, *, is_listing: bool) -> Target:
    skills = {skill.name: skill for skill in _usable_skills(session)}
    if is_listing and not rest:
        return _as_reference(url, _Text(names=sorted(skills)))
    name, _, inner = (unquote(part) for part in rest.partition("/"))
    all_skills = (entry.skill for entry in session.workspace.resources.skills)
    skill = next((skill for skill in all_skills if skill.name == name), None)
    if skill is None:
        available = ", ".join(sorted(skills)) or "none"
        raise ToolFailed(f"Skill not found: {name}. Available: {available}")
    file = Path(skill.location)
    if not inner and not is_listing:
        return file if file.is_file() else _as_reference(url, _Text(skill.content))
    return _inside(skill, file.parent, inner, url)


def _inside(skill: Skill, folder: Path, inner: str, url: str) -> Path:
    """Return a path in the folder of a skill. Raises ``ToolFailed`` for paths outside of it."""
    path = Path(os.path.realpath(folder / inner))
    if Path(skill.location).name != "SKILL.md":
        raise ToolFailed(f"{url} does not exist: the skill {skill.name} is a single file.")
    if not path.is_relative_to(os.path.realpath(folder)):
        raise ToolFailed(f"{url} leads out of the folder of the skill.")
    return path


def _usable_skills(session: LiveSession) -> list[Skill]:
    """Return the skills that the model may use by itself."""
    skills = (entry.skill for entry in session.workspace.resources.skills)
    return [skill for skill in skills if not skill.disable_model_invocation]


_TARGETS: dict[str, Callable[..., Target]] = {
    "artifact": _artifact,
    "agent": _agent,
    "entry": _entry,
    "skill": _find_skill,
}
