"""Parses the parameters of requests: capabilities, prompts, MCP servers, paths. Pure."""

from __future__ import annotations

import base64
import binascii
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from pi.ai.messages import Image, Json
from pi.base.records import Record
from pi.coding.mentions import file_block
from pi.modes.acp.connection import INVALID_PARAMS, RequestFailed
from pi.modes.headless import PromptInput


class Client(Record):
    """The capabilities of the client."""

    reads_files: bool = False
    writes_files: bool = False
    terminals: bool = False
    notices: bool = False
    compaction: bool = False
    forms: bool = False
    """Whether it shows forms for questions of the agent."""
    terminal_login: bool = False
    """Whether it can run a login command of the agent in a terminal."""

    @classmethod
    def of(cls, params: Json) -> Client:
        """Return the capabilities in an ``initialize`` request."""
        capabilities = _object(params.get("clientCapabilities"))
        files, session = _object(capabilities.get("fs")), _object(capabilities.get("session"))
        return cls(
            reads_files=files.get("readTextFile") is True,
            writes_files=files.get("writeTextFile") is True,
            terminals=capabilities.get("terminal") is True,
            notices=isinstance(session.get("notices"), dict),
            compaction=isinstance(session.get("compaction"), dict),
            forms=isinstance(_object(capabilities.get("elicitation")).get("form"), dict),
            terminal_login=_object(capabilities.get("auth")).get("terminal") is True,
        )

    @property
    def edits(self) -> bool:
        """Whether files or commands of the agent go through the client."""
        return self.reads_files or self.writes_files or self.terminals


def text_param(params: Json, name: str) -> str:
    """Return a required string. Raises ``RequestFailed``."""
    value = params.get(name)
    if not isinstance(value, str):
        raise RequestFailed(INVALID_PARAMS, f'The field "{name}" must be a string')
    return value


def directory_param(params: Json) -> Path:
    """Return the working directory of a session. Raises ``RequestFailed``."""
    path = Path(text_param(params, "cwd"))
    if not path.is_absolute():
        raise RequestFailed(INVALID_PARAMS, f'"cwd" must be an absolute path, but is {path}')
    if not path.is_dir():
        raise RequestFailed(INVALID_PARAMS, f"The working directory {path} does not exist")
    return path


# Prompts ------------------------------------------------------------------------------------------


def prompt_input(params: Json) -> PromptInput:
    """Return the text and the images of a prompt. Raises ``RequestFailed``.

    A mentioned file is ``@path`` in the text; its content follows the text.
    """
    blocks = params.get("prompt")
    if not isinstance(blocks, list):
        raise RequestFailed(INVALID_PARAMS, 'The field "prompt" must be a list')
    text, attached, images = "", "", []
    for block in blocks:
        block_text, content = _block(block)
        text += block_text
        if isinstance(content, Image):
            images.append(content)
        elif content is not None:
            attached += content
    full_text = f"{text}\n\n{attached}".rstrip("\n") if attached else text
    return PromptInput(text=full_text, images=tuple(images))


def _block(block: object) -> tuple[str, str | Image | None]:
    """Return what a block adds to the text, and an image or the content of a file."""
    match block:
        case {"type": "text", "text": str(text)}:
            return text, None
        case {"type": "image", "data": str(data), "mimeType": str(kind)}:
            return "", Image(data=data, mime_type=kind)
        case {"type": "resource_link", "uri": str(uri)}:
            return f"@{_path(uri)}" if uri.startswith("file://") else uri, None
        case {"type": "resource", "resource": {"uri": str(uri), **resource}}:
            content = _resource(resource)
            if isinstance(content, str):
                content = file_block(Path(_path(uri)), content)
            return f"@{_path(uri)}", content
        case {"type": str(kind)}:
            raise RequestFailed(INVALID_PARAMS, f"Content of type {kind} is not supported")
        case _:
            raise RequestFailed(INVALID_PARAMS, "A content block has no type")


def _resource(resource: object) -> str | Image | None:
    """Return an embedded resource; ``None`` if it is neither text nor an image."""
    match resource:
        case {"text": str(text)}:
            return text
        case {"blob": str(data), "mimeType": str(kind)} if kind.startswith("image/"):
            return Image(data=data, mime_type=kind)
        case {"blob": str(data)}:
            return _decode(data)
        case _:
            return None


def _path(uri: str) -> str:
    """Return the path of a file URI; another URI unchanged."""
    if not uri.startswith("file://"):
        return uri
    from urllib.parse import unquote, urlsplit  # lazy: few prompts have one

    try:
        return unquote(urlsplit(uri).path)
    except ValueError:
        return uri


def _decode(data: str) -> str | None:
    try:
        return base64.b64decode(data, validate=True).decode()
    except (binascii.Error, UnicodeDecodeError):
        return None


# MCP servers --------------------------------------------------------------------------------------


def mcp_settings(params: Json) -> Json:
    """Return settings with the MCP servers of a request; empty without any.

    The user has configured them in the editor, so they are trusted like those in the settings.
    """
    servers = dict(_servers(params.get("mcpServers")))
    return {"mcp": {"enabled": True, "servers": servers}} if servers else {}


def _servers(raw: object) -> Iterator[tuple[str, Json]]:
    for server in raw if isinstance(raw, list) else ():
        match server:
            case {"type": ("http" | "sse") as kind, "name": str(name), "url": str(url)}:
                yield name, {"type": kind, "url": url, "headers": _pairs(server.get("headers"))}
            case {"name": str(name), "command": str(command)}:
                arguments = [word for word in server.get("args") or () if isinstance(word, str)]
                variables = _pairs(server.get("env"))
                yield name, {"command": command, "args": arguments, "env": variables}
            case _:
                raise RequestFailed(
                    INVALID_PARAMS, "An MCP server needs a name and a command or url"
                )


def _pairs(raw: object) -> dict[str, str]:
    rows = raw if isinstance(raw, list) else ()
    return {
        str(row["name"]): str(row["value"])
        for row in rows
        if isinstance(row, dict) and "name" in row and "value" in row
    }


def _object(value: Any) -> Json:
    return value if isinstance(value, dict) else {}
