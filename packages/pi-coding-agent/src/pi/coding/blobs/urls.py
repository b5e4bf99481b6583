"""Resolves ``artifact://3`` and ``agent://Anna/findings/0`` to texts."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import Literal
from urllib.parse import parse_qs, unquote

import msgspec

from pi.base.errors import PiError
from pi.base.records import UNREADABLE, Record
from pi.coding.blobs.artifacts import AgentOutputs, Artifacts, TextFolder

# One step of a query such as .a["b c"][0]: a name, a quoted name, a number.
_STEP = re.compile(r"""\.?([A-Za-z_][\w-]*)|\.?\["((?:[^"\\]|\\.)*)"\]|\.?\[(-?[0-9]+)\]""")


class NoSuchResource(PiError):
    """The address of an internal resource is unknown or invalid."""


class ArtifactText(Record):
    """The resolved text."""

    text: str
    media_type: Literal["text/plain", "text/markdown", "application/json"]
    is_extract: bool = False
    """Whether it is a part of a JSON text, which is not read by lines."""


def resolve_artifact(url: str, folders: Sequence[TextFolder]) -> ArtifactText:
    """Resolve an address in the folders of all sessions involved; raises ``NoSuchResource``."""
    scheme, _, rest = url.partition("://")
    match scheme:
        case "artifact":
            return _read_artifact(rest, folders)
        case "agent":
            return _read_agent_output(rest, folders)
        case _:
            raise NoSuchResource(
                f"Cannot resolve {url}: unknown scheme.", hint="Use artifact:// or agent://."
            )


def _read_artifact(id: str, folders: Sequence[TextFolder]) -> ArtifactText:
    if not folders:
        raise NoSuchResource("No session - artifacts unavailable")
    if not re.fullmatch("[0-9]+", id):
        raise NoSuchResource(f"artifact:// ID must be numeric, got: {id}")
    collections = [Artifacts(folder) for folder in _existing_folders(folders)]
    for artifacts in collections:
        if (text := artifacts.read(int(id))) is not None:
            return ArtifactText(text=text, media_type="text/plain")
    numbers = sorted({number for artifacts in collections for number in artifacts.numbers()})
    raise NoSuchResource(f"Artifact {id} not found. {_describe_available(numbers)}")


def _read_agent_output(rest: str, folders: Sequence[TextFolder]) -> ArtifactText:
    if not folders:
        raise NoSuchResource("No session - agent outputs unavailable")
    address, _, query = rest.partition("?")
    id, *path = [unquote(part) for part in address.split("/") if part] or [""]
    queries = parse_qs(query).get("q")
    collections = [AgentOutputs(folder) for folder in _existing_folders(folders)]
    for outputs in collections:
        output_ids = set(outputs.list())
        while (
            path and f"{id}.{path[0]}" in output_ids
        ):  # agent://Parent/Child: the output of a child
            id, path = f"{id}.{path[0]}", path[1:]
        if path and queries:
            raise NoSuchResource(
                f"agent://{rest} has both a path and a query.", hint="Use one of them."
            )
        if (text := outputs.read(id)) is not None:
            if not path and not queries:
                return ArtifactText(text=text, media_type="text/markdown")
            return _extract(text, id, _parse_steps(queries[0]) if queries else path)
    ids = sorted({id for outputs in collections for id in outputs.list()})
    raise NoSuchResource(f"Not found: {id}. {_describe_available(ids)}")


def _existing_folders(folders: Sequence[TextFolder]) -> list[TextFolder]:
    existing = [folder for folder in folders if folder.exists]
    if not existing:
        raise NoSuchResource("This session has no artifacts and no outputs of agents yet.")
    return existing


def _describe_available(ids: Sequence[object]) -> str:
    return f"Available: {', '.join(map(str, ids)) or 'none'}"


def _parse_steps(query: str) -> list[str | int]:
    steps: list[str | int] = []
    offset = 0
    while offset < len(query) and query != ".":
        step = _STEP.match(query, offset)
        if step is None:
            raise NoSuchResource(
                f"Cannot understand the query {query!r} at {query[offset:]!r}.",
                hint='Write it as .name, ["name"] and [number].',
            )
        name, quoted, number = step.groups()
        steps.append(int(number) if number else name or re.sub(r"\\(.)", r"\1", quoted))
        offset = step.end()
    return steps


def _extract(text: str, id: str, steps: Iterable[str | int]) -> ArtifactText:
    try:
        value: object = msgspec.json.decode(text)
    except UNREADABLE as error:
        raise NoSuchResource(
            f"The output of {id} is not JSON: {error}.", hint=f"Read agent://{id} as a whole."
        ) from error
    for step in steps:
        value = _take_step(value, step, id)
    if isinstance(value, str):
        return ArtifactText(text=value, media_type="application/json", is_extract=True)
    extracted = msgspec.json.format(msgspec.json.encode(value)).decode()
    return ArtifactText(text=extracted, media_type="application/json", is_extract=True)


def _take_step(value: object, step: str | int, id: str) -> object:
    try:
        match value:
            case dict():
                return value[step]
            case list():
                return value[int(step)]
    except (LookupError, ValueError):
        pass
    raise NoSuchResource(f"The output of {id} has no {step!r} at this path.")
