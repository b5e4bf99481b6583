"""Checks ``models.json``: types of fields, and what a provider needs. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

import msgspec

from pi.ai.messages import Json
from pi.ai.models.compat_flags import compat_faults, unused_flags
from pi.ai.models.model import Model

_EXPECTED = r"(?s)Expected `([^`]+)`.*?(?: - at `\$(.*)`)?$"

_JSON_TYPES = {"int": "number", "float": "number", "str": "string", "bool": "boolean"}

PROVIDER_FIELDS: Mapping[str, tuple[type, str]] = {
    **dict.fromkeys(("name", "baseUrl", "api", "apiKey", "oauth"), (str, "string")),
    "authHeader": (bool, "boolean"),
    **dict.fromkeys(("headers", "compat", "modelOverrides"), (dict, "object")),
    "models": (list, "array"),
}
"""The fields of a provider with their types."""

MODEL_FIELDS = frozenset(field.encode_name for field in msgspec.structs.fields(Model))
"""The fields of a model."""

_MEANINGFUL = ("baseUrl", "headers", "compat", "modelOverrides", "models", "apiKey")


def schema_faults(document: object) -> Iterable[str]:
    """Yield what is wrong in the types of the document's fields, each with its path."""
    if not isinstance(document, dict) or not isinstance(document.get("providers"), dict):
        yield "providers: must be object"
        return
    for provider, raw in document["providers"].items():
        yield from _provider_faults(f"providers.{provider}", raw)


def _provider_faults(path: str, raw: object) -> Iterable[str]:
    if not isinstance(raw, dict):
        yield f"{path}: must be object"
        return
    wrong = [
        f"{path}.{name}: must be {word}"
        for name, (kind, word) in PROVIDER_FIELDS.items()
        if name in raw and not isinstance(raw[name], kind)
    ]
    yield from wrong
    if raw.get("apiKey") == "":
        yield f"{path}.apiKey: must not be empty"
    if raw.get("oauth", "radius") != "radius":
        yield f"{path}.oauth: must be one of radius"
    if not wrong:
        yield from _content_faults(path, raw)


def _content_faults(path: str, raw: Json) -> Iterable[str]:
    """Yield what is wrong inside of the fields of a provider."""
    for fault in compat_faults(raw.get("compat", {})):
        yield f"{path}.compat{fault}"
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
        return
    for limit in ("contextWindow", "maxTokens"):
        if raw.get(limit, 1) <= 0:
            yield f"{path}.{limit}: must be > 0"
    for fault in compat_faults(raw.get("compat") or {}):
        yield f"{path}.compat{fault}"


def unused_fields(document: Json) -> Iterable[str]:
    """Yield the fields of a valid document that nothing reads, each with its path."""
    yield from sorted(document.keys() - {"providers", "$schema"})
    for provider, raw in document["providers"].items():
        path = f"providers.{provider}"
        yield from (f"{path}.{name}" for name in raw if name not in PROVIDER_FIELDS)
        yield from (f"{path}.compat.{name}" for name in unused_flags(raw.get("compat", {})))
        changes = {
            **{f"models.{index}": model for index, model in enumerate(raw.get("models", ()))},
            **{f"modelOverrides.{id}": it for id, it in raw.get("modelOverrides", {}).items()},
        }
        for place, change in changes.items():
            fields = (name for name in change if name not in MODEL_FIELDS)
            yield from (f"{path}.{place}.{name}" for name in fields)
            flags = unused_flags(change.get("compat") or {})
            yield from (f"{path}.{place}.compat.{name}" for name in flags)


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
