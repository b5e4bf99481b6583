"""docs/reference/extension-api.md, made from the code; run this module to write it."""

from __future__ import annotations

import ast
import inspect
import re
import textwrap
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Any

import msgspec

import pi.extension as extension
import pi.extension.guards as guards
from pi.base.records import Record
from pi.coding.blobs.artifacts import AgentOutputs
from pi.coding.blobs.store import BlobStore, OwnedBlobs
from pi.coding.extension_host.api.auth import ExtensionAuth
from pi.coding.extension_host.api.consent import ExtensionConsent
from pi.coding.extension_host.api.loaded_extension import ScopedEvents
from pi.coding.extension_host.api.processes import ExtensionJobs
from pi.coding.extension_host.api.readers import ExtensionModelRegistry, SessionReader
from pi.coding.extension_host.api.resources import ExtensionResources
from pi.coding.extension_host.api.services import (
    ExtensionHttp,
    ExtensionImages,
    ExtensionModels,
    ExtensionSettings,
)
from pi.coding.extension_host.api.storage import ExtensionArtifacts, SessionStore
from pi.coding.extension_host.discovery.manifest import Manifest, Subcommand, ToolManifest
from pi.coding.extension_host.events.handlers import ALIASES, EVENTS
from pi.coding.files.local import LocalFiles
from pi.extension import (
    CommandContext,
    ExtensionAPI,
    ExtensionContext,
    ExtensionUI,
    PendingActions,
    Scope,
)
from scripts.workspace import ROOT

PAGE = ROOT / "docs" / "reference" / "extension-api.md"

HEAD = """\
# The extension API

Generated from the code by `python -m tests.extension_reference`. To start:
[write an extension](../how-to/write-an-extension.md).

There are two kinds of extensions. Yours and most of the bundled ones import only `pi.extension`,
and `pi.extension.guards` if they check commands. An incompatible change of these two raises
`API_VERSION` and is in the changelog. The large bundled systems (`auth_broker`, `auth_gateway`,
`collab`, `edit_variants`, `hooks`, `lsp`, `mcp`, `rewind`, `snapcompact`, `stream_rules`,
`subagents`) are programs that embed pi: they also import `pi.base`, `pi.ai`, `pi.agent`, `pi.tui`
and `pi.coding`, which change without notice, and are released in the same version as pi. Copies of
them have to be, too. No extension imports `pi.modes` or `pi.cli`.

## The 30 names you need

Most extensions need no others.

| | |
|---|---|
"""
EVENT_TABLE = """\
## Events

`pi.on(name, handler)` or `@pi.on(name)`; the handler gets `(event, ctx)` and may be async. The
answer is a record or a dict of its fields; `None` changes nothing. Below, `…` stands for a default
that is not shown.

| event | record | answer | |
|---|---|---|---|
"""
PARTS: dict[str, type] = {
    "pi.scope": Scope,
    "pi.events": ScopedEvents,
    "pi.settings": ExtensionSettings,
    "pi.auth": ExtensionAuth,
    "pi.models": ExtensionModels,
    "pi.http": ExtensionHttp,
    "pi.images": ExtensionImages,
    "pi.pending_actions": PendingActions,
    "pi.store()": SessionStore,
    "ctx.consent": ExtensionConsent,
    "ctx.resources": ExtensionResources,
    "ctx.session_manager": SessionReader,
    "ctx.model_registry": ExtensionModelRegistry,
    "ctx.files": LocalFiles,
    "ctx.artifacts": ExtensionArtifacts,
    "ctx.artifacts.outputs": AgentOutputs,
    "ctx.blobs": BlobStore,
    "ctx.blobs.owned_by()": OwnedBlobs,
    "ctx.jobs": ExtensionJobs,
}
"""What else an extension is given, by where it is found."""
MANIFEST = """\
## The manifest

`pi.toml`, `[tool.pi]` of `pyproject.toml`, or a comment `# /// pi` of a single file. It is read,
never executed.
"""
_FACADES = {ExtensionAPI, ExtensionContext, CommandContext, ExtensionUI, *PARTS.values()}
_MSGSPEC = ("Meta", "UNSET", "field")
_STARTING = {
    "Json": "A JSON value: the type of arguments and stored data.",
    "Meta": "Descriptions and limits of parameters: `Annotated[int, Meta(description=…, ge=0)]`.",
    "Record": "The base class of records: frozen values with a JSON form.",
}
"""What the docstrings of types of other modules do not say."""


@cache
def page() -> str:
    """The whole text."""
    return "\n".join(
        (
            HEAD + "\n".join(_start()),
            "",
            *_groups(),
            EVENT_TABLE + "\n".join(_events()),
            "",
            *(f"`{alias}` is another name of `{name}`." for alias, name in ALIASES.items()),
            "",
            *_members("`ExtensionAPI`", ExtensionAPI, "pi"),
            *_members("`ExtensionContext`", ExtensionContext, "ctx"),
            *_members("`CommandContext`: also", CommandContext, "ctx", without=ExtensionContext),
            *(line for name, part in PARTS.items() for line in _members(_title(name), part, name)),
            *_members("`ctx.ui`: `ExtensionUI`", ExtensionUI, "ui"),
            *_manifest(),
            *_exports(extension, "##"),
            "## `pi.extension.guards`",
            "",
            "For extensions that check what commands, requests and children would do.",
            "",
            *_exports(guards, "###"),
        )
    )


@cache
def groups(module: ModuleType) -> dict[str, list[str]]:
    """The names that a module of the public API exports, by the comments above its imports."""
    source = Path(str(module.__file__)).read_text(encoding="utf-8")
    titles = {
        number: match[1]
        for number, line in enumerate(source.splitlines(), 1)
        if (match := re.fullmatch(r" *# (.+)\.", line))
    }
    groups: dict[str, list[str]] = {}
    for node in ast.walk(ast.parse(source)):  # first the statements outside of conditions
        if isinstance(node, ast.ImportFrom):
            names = [alias.name for alias in node.names if alias.name == alias.asname]
        elif isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
            names = [name for name in (node.targets[0].id,) if not name.startswith("_")]
        else:
            continue
        title = max((number for number in titles if number < node.lineno), default=0)
        groups.setdefault(titles.get(title, ""), []).extend(names)
    return groups


def public_names(module: ModuleType) -> list[str]:
    """The names that a module of the public API exports."""
    return sorted(name for names in groups(module).values() for name in names)


def _start() -> Iterator[str]:
    for name in groups(extension)["Start here"]:
        value = getattr(extension, name)
        yield f"| `{name}` | {_STARTING.get(name) or _summary(value)} |"


def _groups() -> Iterator[str]:
    yield from ("## The other names, by subject", "", "| | |", "|---|---|")
    for title, names in groups(extension).items():
        if names and title != "Start here":
            yield f"| {title} | {', '.join(f'`{name}`' for name in sorted(names))} |"
    yield f"| `pi.extension.guards` | {', '.join(f'`{n}`' for n in public_names(guards))} |"
    yield ""


def _events() -> Iterator[str]:
    public = {
        getattr(extension, name): name for name in public_names(extension) if name.endswith("Event")
    }
    for name, kind in EVENTS.items():
        answer = getattr(kind, "answer", None)
        returned = f"`{answer.__name__}`" if isinstance(answer, type) else ""
        if name == "before_provider_request":
            returned = "a payload"
        yield f"| `{name}` | `{public[kind]}` | {returned} | {_summary(kind)} |"


def _members(title: str, owner: type, name: str, without: type = object) -> Iterator[str]:
    """The members of ``owner`` that ``without`` does not have."""
    yield from (f"## {title}", "", "| | |", "|---|---|")
    yield from _member_rows(owner, name, without)
    yield ""


def _title(name: str) -> str:
    public = PARTS[name].__name__
    return f"`{name}`: `{public}`" if public in public_names(extension) else f"`{name}`"


def _member_rows(owner: type, name: str, without: type = object) -> Iterator[str]:
    kinds = [kind for kind in owner.__mro__ if kind not in without.__mro__]
    kinds = [kind for kind in kinds if kind.__module__.startswith("pi.")]
    for kind in kinds:
        for attribute, text in _attributes(kind):
            part = PARTS.get(f"{name}.{attribute}")
            summary = _summary(part) if part and not text else _one_line(text.partition("\n\n")[0])
            yield f"| `{name}.{attribute}` | {summary} |"
    for member, value in (each for kind in kinds for each in vars(kind).items()):
        if member.startswith("_") or isinstance(value, type):
            continue
        if isinstance(value, property):
            yield f"| `{name}.{member}` | {_summary(value)} |"
        elif callable(function := getattr(value, "__func__", value)):
            wait = "await " if inspect.iscoroutinefunction(function) else ""
            yield f"| `{wait}{name}.{member}{_arguments(function)}` | {_summary(function)} |"


def _attributes(kind: type) -> Iterator[tuple[str, str]]:
    """The public attributes that ``__init__`` sets, with the strings below them."""
    if "__init__" not in vars(kind) or issubclass(kind, msgspec.Struct | BaseException):
        return
    function = ast.parse(textwrap.dedent(inspect.getsource(vars(kind)["__init__"]))).body[0]
    assert isinstance(function, ast.FunctionDef)
    for each, after in zip(function.body, (*function.body[1:], None), strict=True):
        if not isinstance(each, ast.Assign | ast.AnnAssign):
            continue
        below = after.value if isinstance(after, ast.Expr) else None
        text = str(below.value) if isinstance(below, ast.Constant) else ""
        targets = [each.target] if isinstance(each, ast.AnnAssign) else each.targets
        for target in (node for one in targets for node in ast.walk(one)):
            if isinstance(target, ast.Attribute) and not target.attr.startswith("_"):
                yield target.attr, inspect.cleandoc(text)


def _manifest() -> Iterator[str]:
    yield MANIFEST
    for title, record in (("key", Manifest), ("subcommand", Subcommand), ("tool", ToolManifest)):
        words = _field_texts(record)
        yield from (f"| {title} | |", "|---|---|")
        for field in record.__struct_fields__:
            text = words.get(field, "")
            shown = text if field == "activate" else text.partition("\n\n")[0]
            yield f"| `{field}` | {_one_line(shown)} |"
        yield ""


def _exports(module: ModuleType, level: str) -> Iterator[str]:
    """The other names of a module: what is called, raised, passed and returned."""
    names = {name: getattr(module, name) for name in public_names(module) if name not in _MSGSPEC}
    classes = {name: value for name, value in names.items() if inspect.isclass(value)}
    errors = {name: each for name, each in classes.items() if issubclass(each, BaseException)}
    values = {
        name: each
        for name, each in classes.items()
        if name not in errors and issubclass(each, msgspec.Struct)
    }
    objects = {
        name: each
        for name, each in classes.items()
        if name not in errors and name not in values and each not in _FACADES
    }
    yield from (f"{level} Functions", "", "| | |", "|---|---|")
    for name, value in names.items():
        if inspect.isfunction(value):
            wait = "await " if inspect.iscoroutinefunction(value) else ""
            yield f"| `{wait}{name}{_arguments(value)}` | {_summary(value)} |"
    yield from ("", f"{level} Errors", "", "| | |", "|---|---|")
    yield from (f"| `{name}` | {_summary(error)} |" for name, error in errors.items())
    yield from ("", f"{level} Objects", "", "| | |", "|---|---|")
    for name, value in objects.items():
        yield f"| **`{name}`** | {_summary(value)} |"
        yield from _member_rows(value, name)
    yield from (
        "",
        f"{level} Records",
        "",
        "Fields after `*` are optional.",
        "",
        "| | |",
        "|---|---|",
    )
    for name, value in values.items():
        yield f"| **`{name}`**`({_fields(value)})` | {_summary(value)} |"
        texts = _field_texts(value)
        for field in value.__struct_fields__:
            if text := texts.get(field, "").partition("\n\n")[0]:
                yield f"| `{name}.{field}` | {_one_line(text)} |"
        yield from _member_rows(value, name)
    rest = [
        name
        for name, value in names.items()
        if not inspect.isclass(value) and not inspect.isfunction(value)
    ]
    yield from (
        "",
        f"{level} Types and constants",
        "",
        ", ".join(f"`{name}`" for name in rest) + ".",
    )
    if module is extension:
        yield f"Of msgspec: {', '.join(f'`{name}`' for name in _MSGSPEC)}."
    yield ""


def _arguments(function: Any) -> str:
    """The parameters as they are called; options of a ``TypedDict`` by name."""
    try:
        signature = inspect.signature(function)
    except (TypeError, ValueError):
        return "()"
    shown: list[str] = []
    star = False
    for name, each in signature.parameters.items():
        if name == "self" or (name == "cls" and not shown):
            continue
        if each.kind is each.VAR_POSITIONAL:
            star = True
            shown.append(f"*{name}")
            continue
        if each.kind in (each.KEYWORD_ONLY, each.VAR_KEYWORD) and not star:
            star = True
            shown.append("*")
        if each.kind is each.VAR_KEYWORD:
            options = _options(function, str(each.annotation))
            shown = [*shown, *options] if options else [*shown[:-1], f"**{name}"]
        else:
            shown.append(name if each.default is each.empty else f"{name}={_default(each.default)}")
    return f"({', '.join(shown)})"


def _options(function: Any, annotation: str) -> list[str]:
    found = re.search(r"Unpack\[(\w+)\]", annotation)
    options = function.__globals__.get(found[1]) if found else None
    return [f"{name}=…" for name in getattr(options, "__annotations__", {})]


def _default(value: object) -> str:
    simple = value is None or isinstance(value, bool | int | float | str) or value == ()
    return repr(value) if simple and len(repr(value)) < 20 else "…"


def _fields(record: type[msgspec.Struct]) -> str:
    names, defaults = record.__struct_fields__, record.__struct_defaults__
    absent = (msgspec.NODEFAULT,) * (len(names) - len(defaults))
    pairs = list(zip(names, (*absent, *defaults), strict=True))
    needed = [name for name, default in pairs if default is msgspec.NODEFAULT]
    optional = [name for name, default in pairs if default is not msgspec.NODEFAULT]
    return ", ".join((*needed, *(("*", *optional) if optional else ())))


def _field_texts(record: type) -> dict[str, str]:
    """The strings below the fields of a class and of those it extends."""
    found: dict[str, str] = {}
    for kind in reversed(record.__mro__):
        if kind in (object, Record, msgspec.Struct) or kind.__module__ == "builtins":
            continue
        try:
            body = ast.parse(textwrap.dedent(inspect.getsource(kind))).body[0]
        except (OSError, TypeError):
            continue
        assert isinstance(body, ast.ClassDef)
        for field, text in zip(body.body, body.body[1:], strict=False):
            if (
                isinstance(field, ast.AnnAssign)
                and isinstance(field.target, ast.Name)
                and isinstance(text, ast.Expr)
                and isinstance(text.value, ast.Constant)
            ):
                found[field.target.id] = inspect.cleandoc(str(text.value.value))
    return found


def _one_line(text: str) -> str:
    return " ".join(text.split()).replace("|", "\\|")


def _summary(thing: object) -> str:
    return _one_line((inspect.getdoc(thing) or "").partition("\n\n")[0])


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
