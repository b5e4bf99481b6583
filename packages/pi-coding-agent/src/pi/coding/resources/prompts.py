"""Prompt templates: files that expand to a user message; also the command files of other agents.

Commands are ``commands/**/*.md`` of pi and other agents, and TOML files of Gemini CLI. A file in a
folder is named ``folder:name``. Arguments are filled in as that agent does.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal, TypeAlias

from pi.base.errors import PiError
from pi.base.formats import BadFormat, Document, parse_toml
from pi.base.records import Record, replace
from pi.coding.resources.sources import (
    INLINE,
    Admits,
    BadResource,
    Place,
    SourceInfo,
    Warn,
    admit_all,
    parse_document,
    read_document,
    read_text,
)
from pi.coding.resources.tolerant_files import entries_of, is_file, walk_below

_PLACEHOLDER = (
    r"\$(?:(?P<place>\d+)|(?P<all>@|ARGUMENTS\b)"
    r"|\{(?P<number>\d+):-(?P<number_default>[^}]*)\}"
    r"|\{(?:@|ARGUMENTS):-(?P<all_default>[^}]*)\}"
    r"|\{@:(?P<start>\d+)(?::(?P<length>\d+))?\})"
    r"|(?<!\$)\{\{\s*(?P<variable>[A-Za-z_][\w-]*)\s*\}\}"  # ${{...}} is not ours
)
_QUOTED = r"""(?<!\w)'((?:\\'|[^'])*)'|"((?:\\"|[^"])*)\""""
"""Quoted text with ``\'`` or ``\"`` in it. An apostrophe inside a word is none, as in ``don't``."""
_ARGUMENT = rf"""(?:{_QUOTED}|\S)+"""


class MissingValues(PiError):
    """A template has variables without a value, ``names``."""

    def __init__(self, template: str, names: Sequence[str]) -> None:
        example = " ".join(f'{name}="…"' for name in names)
        super().__init__(
            f"The prompt template /{template} needs a value for {', '.join(names)}.",
            hint=f"Write /{template} {example}",
        )
        self.template = template
        self.names = tuple(names)


Syntax: TypeAlias = Literal["pi", "claude", "numbered", "gemini"]
"""How arguments are filled in: as in pi, Claude Code, Codex (and most others), or Gemini CLI."""


class PromptTemplate(Record):
    """A prompt template."""

    name: str
    description: str
    content: str
    argument_hint: str = ""
    source: SourceInfo = INLINE
    syntax: Syntax = "pi"
    model: str = ""
    """The model that a command of Claude Code names; empty for that of the session."""


def find_prompts(
    locations: Iterable[Place], warn: Warn, admits: Admits = admit_all
) -> tuple[PromptTemplate, ...]:
    """Return the admitted templates of ``locations``; the first with a name is used."""
    templates: dict[str, PromptTemplate] = {}
    for location in locations:
        for path in template_files(location.path):
            if not admits(path, location):
                continue
            try:
                template = _make_template(path, read_document(path), location.info(path))
            except BadResource as error:
                warn(f"Prompt template {path} was not loaded: {error.message}")
                continue
            if (earlier := templates.get(template.name)) is not None:
                warn(f'Prompt "{template.name}" at {path} is hidden by {earlier.source.path}')
                continue
            templates[template.name] = template
    return tuple(templates.values())


def parse_template(text: str, path: Path) -> PromptTemplate:
    """Parse the text of a template file. Raises ``BadResource``."""
    return _make_template(path, parse_document(text), Place(path=path).info(path))


def template_files(root: Path) -> Iterator[Path]:
    """Yield the file itself, or the templates directly in a folder."""
    if is_file(root):
        yield root
        return
    for entry in entries_of(root):
        if entry.suffix == ".md" and is_file(entry):
            yield entry


def expand_prompt(
    text: str, templates: Sequence[PromptTemplate], more: Mapping[str, str] | None = None
) -> str:
    """Expand ``/name arguments`` with the template; any other text is returned unchanged.

    Values of variables come from the arguments, then from ``more``. Raises ``MissingValues`` for
    variables that are in neither.
    """
    if (match := find_template(text, templates)) is None:
        return text
    template, arguments = match
    if template.syntax != "pi":
        return fill_command(template.content, arguments, template.syntax)
    return _fill(template, split_arguments(arguments), more or {})


def find_template(
    text: str, templates: Sequence[PromptTemplate]
) -> tuple[PromptTemplate, str] | None:
    """Return the template that ``/name arguments`` names, and the arguments."""
    if not text.startswith("/"):  # saves compiling the pattern for ordinary prompts
        return None
    if (called := re.match(r"/(\S*)\s*(.*)", text, re.DOTALL)) is None:
        return None
    named = (template for template in templates if template.name == called[1])
    return next(((template, called[2].strip()) for template in named), None)


def has_place(content: str, syntax: Syntax) -> bool:
    """Whether a command of another agent has a place for its arguments."""
    return "{{args}}" in content if syntax == "gemini" else bool(re.search(_CLAUDE, content))


_CLAUDE = r"\$(?:ARGUMENTS\[(?P<index>\d+)\]|(?P<all>ARGUMENTS\b)|(?P<place>\d+)(?!\d))"


def fill_command(
    content: str, text: str, syntax: Syntax, quote: Callable[[str], str] | None = None
) -> str:
    """Fill in the arguments of a command of another agent; ``text`` is the arguments as typed.

    ``quote`` is applied to every word, for arguments of a shell command.

    Claude Code counts from zero (``$0`` is the first word) and leaves a placeholder without a word
    as it is; the others count from one. Arguments of a command without a place for them are
    appended.
    """
    arguments = split_arguments(text)
    if quote is not None:
        arguments = [quote(word) for word in arguments]
        text = " ".join(arguments)
    if syntax == "gemini":
        filled = content.replace("{{args}}", text)
        return filled if "{{args}}" in content or not text else f"{content}\n\n{text}"
    first = 0 if syntax == "claude" else 1

    def value(match: re.Match[str]) -> str:
        if match["all"] is not None:
            return text
        index = int(match["index"]) if match["index"] else int(match["place"]) - first
        missing = match[0] if syntax == "claude" else ""
        return arguments[index] if 0 <= index < len(arguments) else missing

    filled, count = re.subn(_CLAUDE, value, content)
    return filled if count or not text else f"{content}\n\nARGUMENTS: {text}"


def split_arguments(text: str) -> list[str]:
    """Split into words; quotes group words.

    An apostrophe inside a word, an unclosed quote and a backslash before anything but the quote are
    ordinary characters.
    """
    return [re.sub(_QUOTED, _unquoted, word[0]) for word in re.finditer(_ARGUMENT, text)]


def _unquoted(quoted: re.Match[str]) -> str:
    single, double = quoted[1], quoted[2]
    return single.replace("\\'", "'") if single is not None else double.replace('\\"', '"')


def variables(content: str) -> tuple[str, ...]:
    """Return the names in ``{{name}}``, in order of first appearance."""
    names = (match["variable"] for match in re.finditer(_PLACEHOLDER, content))
    return tuple(dict.fromkeys(name for name in names if name))


def substitute(
    content: str, arguments: Sequence[str], values: Mapping[str, str] | None = None
) -> str:
    """Replace the placeholders of ``content``; replacements are not expanded again.

    ``values`` are the values of variables; a variable without a value is left unchanged.
    """
    everything = " ".join(arguments)

    def filled(match: re.Match[str]) -> str:
        if match["variable"] is not None:
            return (values or {}).get(match["variable"], match[0])
        if match["place"] is not None:
            return _positional_argument(arguments, match["place"])
        if match["all"] is not None:
            return everything
        if match["number"] is not None:
            return _positional_argument(arguments, match["number"]) or match["number_default"]
        if match["all_default"] is not None:
            return everything or match["all_default"]
        start = max(int(match["start"]) - 1, 0)
        end = None if match["length"] is None else start + int(match["length"])
        return " ".join(arguments[start:end])

    return re.sub(_PLACEHOLDER, filled, content)


def _fill(template: PromptTemplate, arguments: Sequence[str], more: Mapping[str, str]) -> str:
    names = variables(template.content)
    named, others = _divide_arguments(names, arguments)
    values = {**more, **named}
    if missing := [name for name in names if name not in values]:
        raise MissingValues(template.name, missing)
    return substitute(template.content, others, values)


def _divide_arguments(
    names: Sequence[str], arguments: Sequence[str]
) -> tuple[dict[str, str], list[str]]:
    """Return the values of the variables ``names``, and the positional arguments.

    Variables without ``name=value`` get the positional arguments in order.
    """
    parts = [argument.partition("=") for argument in arguments]
    named = {name: value for name, equals, value in parts if equals and name in names}
    others = ["".join(part) for part in parts if not (part[1] and part[0] in names)]
    in_turn = zip((name for name in names if name not in named), others, strict=False)
    return dict(in_turn) | named, others


def _positional_argument(arguments: Sequence[str], number: str) -> str:
    index = int(number) - 1
    return arguments[index] if 0 <= index < len(arguments) else ""


def _argument_hint(content: str) -> str:
    return " ".join(f"<{name}>" for name in variables(content))


def _make_template(path: Path, document: Document, source: SourceInfo) -> PromptTemplate:
    description = document.meta.get("description")
    lines = (line.strip() for line in document.body.splitlines())
    first_line = next(filter(None, lines), "")
    hint = document.meta.get("argument-hint")
    if isinstance(hint, list):  # `argument-hint: [file]` is a list in YAML
        hint = " ".join(f"[{name}]" for name in hint)
    return PromptTemplate(
        name=path.stem,
        description=description if isinstance(description, str) and description else first_line,
        content=document.body,
        argument_hint=hint if isinstance(hint, str) else _argument_hint(document.body),
        source=source,
    )


COPILOT = ".prompt.md"
"""Ending of prompt files of Copilot, which is not part of the name."""
PLUGIN_ROOT = "${CLAUDE_PLUGIN_ROOT}"


def find_commands(
    locations: Iterable[Place],
    warn: Warn,
    used: Sequence[PromptTemplate] = (),
    admits: Callable[[Path, Place], bool] = lambda path, location: True,
) -> tuple[PromptTemplate, ...]:
    """Return the commands of ``locations`` whose names are not used by ``used``.

    Commands of two agents with the same name are usual: the first is used, without a warning.
    """
    used_names = {template.name for template in used}
    commands: list[PromptTemplate] = []
    for location in locations:
        for path in command_files(location.path):
            if not admits(path, location):
                continue
            try:
                command = _load_command(path, location)
            except BadResource as error:
                warn(f"Command {path} was not loaded: {error.message}")
                continue
            if command is not None and command.name not in used_names:
                used_names.add(command.name)
                commands.append(command)
    return tuple(commands)


def command_files(root: Path) -> Iterator[Path]:
    """Yield the file itself, or all Markdown and TOML files below a folder."""
    if is_file(root):
        yield root
        return
    below = walk_below(root, enters=lambda path: not path.name.startswith("."))
    yield from sorted(path for path in below if path.suffix in (".md", ".toml") and is_file(path))


def named_command(
    name: str, values: dict[str, Any], source: SourceInfo, syntax: Syntax = "numbered"
) -> PromptTemplate | None:
    """Return a command that a settings file defines by ``template`` and ``description``.

    ``None`` without a template.
    """
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


def _load_command(path: Path, location: Place) -> PromptTemplate | None:
    text = read_text(path)
    name = _command_name(path, location)
    if path.suffix == ".toml":
        return _from_toml(name, text, location.info(path))
    template = parse_template(text, path)
    content = template.content
    model = parse_document(text).meta.get("model") if location.source == "claude" else None
    if location.prefix:  # a plugin: its author writes a variable for its folder
        content = content.replace(PLUGIN_ROOT, str(location.path.parent))
    return replace(
        template,
        name=name,
        content=content,
        source=location.info(path),
        syntax="claude" if location.source == "claude" else "numbered",
        model=model if isinstance(model, str) and model != "inherit" else "",
    )


def _command_name(path: Path, location: Place) -> str:
    last = path.name.removesuffix(COPILOT) if path.name.endswith(COPILOT) else path.stem
    folders = path.parent.relative_to(location.folder).parts
    return ":".join(part for part in (location.prefix, *folders, last) if part)


def _from_toml(name: str, text: str, source: SourceInfo) -> PromptTemplate | None:
    try:
        values = parse_toml(text)
    except BadFormat as error:
        raise BadResource(error.message) from error
    prompt = values.get("prompt")
    if not isinstance(prompt, str):
        raise BadResource("it has no prompt")
    return named_command(name, {**values, "template": prompt}, source, "gemini")
