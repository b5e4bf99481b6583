"""JSON schemas of the user's files, made from the tables that pi reads; for editors.

``python -m tests.guide_tables`` writes them, and a test compares them.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec

from pi.ai.models.compat_flags import COMPAT_FLAGS, WORDS
from pi.ai.models.custom_schema import PROVIDER_FIELDS
from pi.ai.models.model import Model
from pi.batteries.mcp.definitions import EXPOSURES
from pi.coding.settings.setting import Setting
from pi.coding.settings.table import SETTINGS, WITHOUT_EFFECT, WRITTEN_BY_PI
from pi.modes.interactive.theme_file import OPTIONAL, REQUIRED, TINTS
from pi.tui.input.actions import ACTIONS
from scripts.workspace import ROOT

FOLDER = ROOT / "docs" / "schemas"
Json = dict[str, Any]

_TEXT: Json = {"type": "string"}
_TEXTS: Json = {"type": "array", "items": _TEXT}
_TABLE: Json = {"type": "object", "additionalProperties": _TEXT}
_FLAG: Json = {"type": "boolean"}
_NUMBER: Json = {"type": "number"}
_FOREIGN: dict[str, Json] = {
    "deviceId": _TEXT,
    "extensionChangelogVersions": _TABLE,
    "selfUpdateCommand": _TEXTS,
}
"""Settings that the original writes or reads alone."""


def _document(title: str, properties: Json, **more: Any) -> Json:
    return {
        "$schema": "http://json-schema.org/draft-07/schema#",
        "title": title,
        "type": "object",
        "properties": {"$schema": _TEXT, **properties},
        **more,
    }


# Settings -----------------------------------------------------------------------------------------


def settings_schema() -> Json:
    """The settings; other names belong to extensions."""
    tree: Json = {}
    for setting in SETTINGS:
        _insert(tree, setting.name.split("."), _of_setting(setting))
    known = {
        **{
            name: {"description": f"Without effect: {why}."} for name, why in WITHOUT_EFFECT.items()
        },
        **{name: {"description": f"Written by pi: {what}"} for name, what in WRITTEN_BY_PI.items()},
        **_FOREIGN,
    }
    for name, schema in known.items():
        _insert(tree, name.split("."), schema)
    return _document("Settings of pi: settings.json", tree)


def _insert(tree: Json, path: list[str], schema: Json) -> None:
    name, *rest = path
    if not rest:
        tree[name] = {**schema, **tree.get(name, {})}
        return
    inner = tree.setdefault(name, {"type": "object"})
    if inner.get("type") != "object":  # also a setting of its own, such as tui.statusEngine
        inner.pop("type", None)
    _insert(inner.setdefault("properties", {}), rest, schema)


def _of_setting(setting: Setting) -> Json:
    schema: Json = {"description": setting.description}
    if setting.default is not None:
        schema["default"] = setting.default
    match setting.kind:
        case "choice" if set(setting.choices) == {True, False}:
            schema["type"] = "boolean"
        case "choice":
            schema["enum"] = list(setting.choices)
        case "number":
            number: Json = {"type": "integer", "minimum": setting.least}
            if setting.most is not None:
                number["maximum"] = setting.most
            schema |= (
                {"anyOf": [number, {"enum": list(setting.words)}]} if setting.words else number
            )
        case "text":
            schema["type"] = "string"
        case "list":
            schema |= _TEXTS
    return schema


# models.json --------------------------------------------------------------------------------------


def models_schema() -> Json:
    """Providers and models."""
    _, components = msgspec.json.schema_components((Model,), ref_template="#/definitions/{name}")
    model = components["Model"]
    compat = {"$ref": "#/definitions/Compat"}
    model["properties"]["compat"] = compat
    override = {"type": "object", "properties": model["properties"]}
    provider = {
        "type": "object",
        "properties": {
            **{name: {"type": word} for name, (_, word) in PROVIDER_FIELDS.items()},
            "headers": _TABLE,
            "compat": compat,
            "models": {"type": "array", "items": {**model, "required": ["id"]}},
            "modelOverrides": {"type": "object", "additionalProperties": override},
        },
    }
    flags = {name: _of_flag(kind) for name, kind in COMPAT_FLAGS.items()}
    definitions = {name: schema for name, schema in components.items() if name != "Model"}
    return _document(
        "Providers and models of the user: models.json",
        {"providers": {"type": "object", "additionalProperties": provider}},
        required=["providers"],
        definitions={**definitions, "Compat": {"type": "object", "properties": flags}},
    )


def _of_flag(kind: Any) -> Json:
    if isinstance(kind, tuple):
        return {"enum": [*kind, None]}
    return {"type": [WORDS[kind], "null"]}


# mcp.json, keybindings.json, themes ---------------------------------------------------------------


def mcp_schema() -> Json:
    """MCP servers."""
    exposure = {"enum": list(EXPOSURES)}
    server = {
        "type": "object",
        "properties": {
            "type": {"enum": ["stdio", "http", "streamable-http", "sse"]},
            "command": _TEXT,
            "args": _TEXTS,
            "env": _TABLE,
            "cwd": _TEXT,
            "url": _TEXT,
            "headers": _TABLE,
            "timeout": {"description": "Seconds; milliseconds from 1000 on.", **_NUMBER},
            "startupTimeout": {"description": "Milliseconds.", **_NUMBER},
            "enabled": _FLAG,
            "disabled": _FLAG,
            "enabledTools": _TEXTS,
            "disabledTools": _TEXTS,
            "exposure": exposure,
            "toolExposure": {"type": "object", "additionalProperties": exposure},
            "description": _TEXT,
            "oauth": {
                "type": "object",
                "properties": {
                    "clientId": _TEXT,
                    "clientSecret": _TEXT,
                    "clientName": _TEXT,
                    "clientRegistration": {"enum": ["auto", "cimd", "dcr"]},
                    "callbackPort": {"type": "integer"},
                    "scope": _TEXT,
                    "scopes": {"anyOf": [_TEXT, _TEXTS]},
                },
            },
        },
    }
    return _document(
        "MCP servers: mcp.json",
        {
            "mcpServers": {"type": "object", "additionalProperties": server},
            "autoEnableCodemode": {"description": "Without effect.", **_FLAG},
            "disabledServers": _TEXTS,
            "enabledServers": _TEXTS,
        },
    )


def keybindings_schema() -> Json:
    """Keys of actions."""
    keys = {"anyOf": [_TEXT, _TEXTS]}
    actions = {action.id: {"description": action.description, **keys} for action in ACTIONS}
    return _document("Keys of pi: keybindings.json", actions, additionalProperties=keys)


def theme_schema() -> Json:
    """A theme."""
    colour = {
        "description": "#rgb, #rrggbb, oklch(L% C H), okhsl(H S% L%), 0-255, a variable, or empty.",
        "anyOf": [_TEXT, {"type": "integer", "minimum": 0, "maximum": 255}],
    }
    reference = {"$ref": "#/definitions/colour"}
    colours = {
        "type": "object",
        "properties": dict.fromkeys((*REQUIRED, *OPTIONAL, *TINTS), reference),
        "required": list(REQUIRED),
        "additionalProperties": False,
    }
    properties = {
        "name": {"type": "string", "pattern": "^(?!system$)[^/]+$"},
        "appearance": {"enum": ["dark", "light"]},
        "vars": {"type": "object", "additionalProperties": reference},
        "colors": colours,
        "export": {"type": "object"},
    }
    return _document(
        "A theme of pi",
        properties,
        required=["name", "colors"],
        additionalProperties=False,
        definitions={"colour": colour},
    )


def _written(schema: Callable[[], Json]) -> Callable[[], str]:
    return lambda: json.dumps(schema(), indent=2, ensure_ascii=False) + "\n"


PAGES: dict[Path, Callable[[], str]] = {
    FOLDER / f"{name}.schema.json": _written(schema)
    for name, schema in (
        ("settings", settings_schema),
        ("models", models_schema),
        ("mcp", mcp_schema),
        ("keybindings", keybindings_schema),
        ("theme", theme_schema),
    )
}
