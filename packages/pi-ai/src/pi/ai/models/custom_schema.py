"""Checks ``models.json``: types of fields, and what a provider needs. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

import msgspec

from pi.ai.messages import Json
from pi.ai.models.model import Model

_EXPECTED = r"(?s)Expected `([^`]+)`.*?(?: - at `\$(.*)`)?$"

_JSON_TYPES = {"int": "number", "float": "number", "str": "string", "bool": "boolean"}

PROVIDER_FIELDS: Mapping[str, tuple[type, str]] = {
    **dict.fromkeys(("name", "baseUrl", "api", "apiKey", "oauth"), (str, "string")),
    **dict.fromkeys(("headers", "compat", "modelOverrides"), (dict, "object")),
    "models": (list, "array"),
}
"""The fields of a provider with their types."""

_MEANINGFUL = ("baseUrl", "headers", "compat", "modelOverrides", "models", "apiKey")


def schema_faults(document: object) -> Iterable[str]:
    """Yield what is wrong in the types of the document's fields, each with its path."""
    if not isinstance(document, dict) or not isinstance(document.get("providers"), dict):
        yield "providers: must be object"
        return
    for provider, raw in document["providers"].items():
        path = f"providers.{provider}"
        if not isinstance(raw, dict):
            yield f"{path}: must be object"
            continue
        wrong = [
            f"{path}.{name}: must be {word}"
            for name, (kind, word) in PROVIDER_FIELDS.items()
            if name in raw and not isinstance(raw[name], kind)
        ]
        yield from wrong
        if raw.get("apiKey") == "":
            yield f"{path}.apiKey: must not be empty"
        if wrong:
            continue
        for header, value in raw.get("headers", {}).items():
            if not isinstance(value, str):
                yield f"{path}.headers.{header}: must be string"
        for index, model in enumerate(raw.get("models", ())):
            yield from _model_faults(f"{path}.models.{index}", model, needs_id=True)
        for model_id, change in raw.get("modelOverrides", {}).items():
            yield from _model_faults(f"{path}.modelOverrides.{model_id}", change, needs_id=False)


def _model_faults(path: str, raw: object, *, needs_id: bool) -> Iterable[str]:
    if not isinstance(raw, dict):
        yield f"{path}: must be object"
        return
    if needs_id and not isinstance(raw.get("id"), str):
        yield f"{path}.id: must be string"
        return
    try:
        msgspec.convert({"id": "", "name": "", "api": "", "provider": ""} | raw, Model)
    except msgspec.ValidationError as error:
        yield path + _explain(str(error))


def _explain(message: str) -> str:
    """Return msgspec's message as ``.path.to.field: must be type``."""
    match = re.search(_EXPECTED, message)
    if match is None:
        return f": {message}"
    kind = match[1].split(" | ")[0]
    path = re.sub(r"\[(\d+)\]", r".\1", match[2] or "").replace("[...]", "")
    return f"{path}: must be {_JSON_TYPES.get(kind, kind)}"


def missing_values(raw: Json, *, built_in: bool) -> str:
    """Return which values a provider lacks; an empty string if none."""
    if not any(name in raw for name in _MEANINGFUL):
        return "must have at least one of baseUrl, headers, compat, modelOverrides, models."
    for model in raw.get("models", ()):
        if not built_in and not (model.get("api") or raw.get("api")):
            return f'model "{model["id"]}" needs an "api", of its own or of the provider.'
        if not built_in and not (model.get("baseUrl") or raw.get("baseUrl")):
            return f'model "{model["id"]}" needs a "baseUrl", of its own or of the provider.'
    return ""
