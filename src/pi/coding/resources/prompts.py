"""Prompt templates: files that become what the person says."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from pi.base.records import Record
from pi.coding.resources.frontmatter import BadResource, read_document
from pi.coding.resources.source import INLINE, Place, SourceInfo, Warn

_PLACEHOLDER = (
    r"\$(?:(?P<place>\d+)|(?P<all>@|ARGUMENTS\b)"
    r"|\{(?P<number>\d+):-(?P<number_default>[^}]*)\}"
    r"|\{(?:@|ARGUMENTS):-(?P<all_default>[^}]*)\}"
    r"|\{@:(?P<start>\d+)(?::(?P<length>\d+))?\})"
)
_ARGUMENT = r"""(?:'[^']*'|"[^"]*"|[^\s'"])+|['"]"""
_QUOTED = r"""'([^']*)'|"([^"]*)\""""


class PromptTemplate(Record):
    """One template."""

    name: str
    description: str
    content: str
    argument_hint: str = ""
    source: SourceInfo = INLINE


def find_prompts(places: Iterable[Place], warn: Warn) -> tuple[PromptTemplate, ...]:
    """Every template of ``places``; of two with one name the first counts."""
    found: dict[str, PromptTemplate] = {}
    for place in places:
        for path in template_files(place.path):
            try:
                template = _template(path, place)
            except BadResource as problem:
                warn(f"Prompt template {path} was not loaded: {problem.message}")
                continue
            if (known := found.get(template.name)) is not None:
                warn(f'Prompt "{template.name}" at {path} is hidden by {known.source.path}')
                continue
            found[template.name] = template
    return tuple(found.values())


def template_files(root: Path) -> Iterator[Path]:
    """A file itself, or the templates that lie directly in a folder."""
    if root.is_file():
        yield root
        return
    try:
        entries = sorted(root.iterdir())
    except OSError:
        return
    for entry in entries:
        if entry.suffix == ".md" and entry.is_file():
            yield entry


def expand_prompt(text: str, templates: Sequence[PromptTemplate]) -> str:
    """``/name arguments`` as the template says it; any other text as it is."""
    if not text.startswith("/"):
        return text
    name, arguments = re.match(r"/(\S*)\s*(.*)", text, re.DOTALL).groups()  # type: ignore[union-attr]
    for template in templates:
        if template.name == name:
            return substitute(template.content, split_arguments(arguments))
    return text


def split_arguments(text: str) -> list[str]:
    """Words; quotes of either kind keep some together, and a backslash is a character."""
    return [
        re.sub(_QUOTED, lambda quoted: quoted[1] or quoted[2] or "", word)
        for word in re.findall(_ARGUMENT, text)
    ]


def substitute(content: str, arguments: Sequence[str]) -> str:
    """``content`` with its placeholders filled; what was filled in is not looked at again."""
    everything = " ".join(arguments)

    def filled(match: re.Match[str]) -> str:
        if match["place"] is not None:
            return _argument(arguments, match["place"])
        if match["all"] is not None:
            return everything
        if match["number"] is not None:
            return _argument(arguments, match["number"]) or match["number_default"]
        if match["all_default"] is not None:
            return everything or match["all_default"]
        start = max(int(match["start"]) - 1, 0)
        end = None if match["length"] is None else start + int(match["length"])
        return " ".join(arguments[start:end])

    return re.sub(_PLACEHOLDER, filled, content)


def _argument(arguments: Sequence[str], number: str) -> str:
    place = int(number) - 1
    return arguments[place] if 0 <= place < len(arguments) else ""


def _template(path: Path, place: Place) -> PromptTemplate:
    document = read_document(path)
    description = document.meta.get("description")
    lines = (line.strip() for line in document.body.splitlines())
    first_line = next(filter(None, lines), "")
    hint = document.meta.get("argument-hint")
    return PromptTemplate(
        name=path.stem,
        description=description if isinstance(description, str) and description else first_line,
        content=document.body,
        argument_hint=hint if isinstance(hint, str) else "",
        source=place.info(path),
    )
