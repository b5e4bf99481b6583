"""Command files: ``commands/**/*.md`` of pi and other agents, and TOML files of Gemini CLI.

A file in a folder is named ``folder:name``. Arguments are filled in as the agent does it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

from pi.base.formats import BadFormat, parse_toml
from pi.base.records import replace
from pi.coding.resources.prompts import PromptTemplate, Syntax, parse_template
from pi.coding.resources.sources import (
    BadResource,
    Place,
    SourceInfo,
    Warn,
    is_file,
    read_text,
    walk_below,
)

COPILOT = ".prompt.md"
"""Ending of prompt files of Copilot, which is not part of the name."""
PLUGIN_ROOT = "${CLAUDE_PLUGIN_ROOT}"


def find_commands(
    places: Iterable[Place],
    warn: Warn,
    known: Sequence[PromptTemplate] = (),
    admits: Callable[[Path, Place], bool] = lambda path, place: True,
) -> tuple[PromptTemplate, ...]:
    """Return the commands of ``places`` whose names are not used by ``known``.

    Commands of two agents with the same name are usual: the first is used, without a warning.
    """
    taken = {template.name for template in known}
    found: list[PromptTemplate] = []
    for place in places:
        for path in command_files(place.path):
            if not admits(path, place):
                continue
            try:
                command = _command(path, place)
            except BadResource as error:
                warn(f"Command {path} was not loaded: {error.message}")
                continue
            if command is not None and command.name not in taken:
                taken.add(command.name)
                found.append(command)
    return tuple(found)


def command_files(root: Path) -> Iterator[Path]:
    """Yield the file itself, or all Markdown and TOML files below a folder."""
    if is_file(root):
        yield root
        return
    below = walk_below(root, enters=lambda path: not path.name.startswith("."))
    yield from sorted(path for path in below if path.suffix in (".md", ".toml") and is_file(path))


def named_command(
    name: str, values: dict[str, Any], source: SourceInfo, syntax: Syntax = "claude"
) -> PromptTemplate | None:
    """Return a command that a settings file defines: ``template`` and ``description``."""
    text, description = values.get("template"), values.get("description")
    if not isinstance(text, str) or not text.strip():
        return None
    first = next(filter(None, map(str.strip, text.splitlines())), "")
    return PromptTemplate(
        name=name,
        description=description if isinstance(description, str) else first,
        content=text,
        source=source,
        syntax=syntax,
    )


def _command(path: Path, place: Place) -> PromptTemplate | None:
    text = read_text(path)
    name = _name(path, place)
    if path.suffix == ".toml":
        return _from_toml(name, text, place.info(path))
    template = parse_template(text, path)
    content = template.content
    if place.prefix:  # a plugin: its own folder is not known to the author
        content = content.replace(PLUGIN_ROOT, str(place.path.parent))
    return replace(
        template,
        name=name,
        content=content,
        source=place.info(path),
        syntax="claude",
    )


def _name(path: Path, place: Place) -> str:
    last = path.name.removesuffix(COPILOT) if path.name.endswith(COPILOT) else path.stem
    folders = path.parent.relative_to(place.folder).parts
    return ":".join(part for part in (place.prefix, *folders, last) if part)


def _from_toml(name: str, text: str, source: SourceInfo) -> PromptTemplate | None:
    try:
        values = parse_toml(text)
    except BadFormat as error:
        raise BadResource(error.message) from error
    prompt = values.get("prompt")
    if not isinstance(prompt, str):
        raise BadResource("it has no prompt")
    return named_command(name, {**values, "template": prompt}, source, "gemini")
