"""``models.json``: the user's own providers and models, and overrides of bundled ones. Pure.

A file that breaks the schema is reported and ignored as a whole; an invalid provider is reported
and ignored alone. Nothing here reads the disk or a variable.
"""

from __future__ import annotations

from collections.abc import Iterable

import msgspec
from msgspec import field

from pi.ai.former_names import current_name
from pi.ai.messages import Json
from pi.ai.models.custom_schema import missing_values, schema_faults, unused_fields
from pi.ai.models.model import Model
from pi.base.formats import BadFormat, parse_jsonc
from pi.base.records import Record, replace


class CustomProvider(Record):
    """The entry of one provider."""

    id: str
    name: str | None = None
    base_url: str | None = None
    api: str | None = None
    api_key: str | None = None
    """In value syntax: a literal, ``$NAME`` or ``!command``; resolved when a request is made."""
    oauth: str | None = None
    auth_header: bool = False
    """Whether the key is also sent as a bearer token, whatever the protocol does with it."""
    headers: dict[str, str] = field(default_factory=dict)
    """Sent with every request; values in value syntax."""
    compat: Json = field(default_factory=dict)
    models: tuple[Json, ...] = ()
    overrides: dict[str, Json] = field(default_factory=dict)


class CustomModels(Record):
    """The valid part of the file, and the errors in the rest."""

    providers: tuple[CustomProvider, ...] = ()
    problems: tuple[str, ...] = ()
    unused: tuple[str, ...] = ()
    """Paths of fields that nothing reads."""


def read_custom_models(text: str, path: str, built_in: Iterable[str]) -> CustomModels:
    """Read ``text``, the content of ``path``: additions and overrides of the ``built_in``
    providers."""
    try:
        document = parse_jsonc(text)
    except BadFormat as error:
        message = f"Failed to parse models.json: {error.reason}\n\nFile: {path}"
        return CustomModels(problems=(message,))
    faults = list(schema_faults(document))
    if faults:
        lines = "".join(f"\n  - {fault}" for fault in faults)
        return CustomModels(problems=(f"Invalid models.json schema:{lines}\n\nFile: {path}",))
    built_in_ids = set(built_in)
    providers, problems = [], []
    for written, raw in document["providers"].items():
        name = current_name(written)
        if name != written and name in document["providers"]:
            problems.append(f'Provider "{written}": it is an earlier name of "{name}"')
        elif fault := missing_values(raw, built_in=name in built_in_ids):
            problems.append(f'Provider "{name}": {fault}')
        else:
            providers.append(_provider(name, raw))
    return CustomModels(
        providers=tuple(providers),
        problems=tuple(problems),
        unused=tuple(unused_fields(document)),
    )


def customised(custom: CustomProvider, bundled: tuple[Model, ...]) -> tuple[Model, ...]:
    """Return the provider's models: the bundled ones with overrides, then the user's own."""
    changed = {model.id: _overridden(_retargeted(model, custom), custom) for model in bundled}
    for raw in custom.models:
        model = _own_model(raw, custom, bundled)
        changed[model.id] = _overridden(model, custom)
    return tuple(changed.values())


def _provider(name: str, raw: Json) -> CustomProvider:
    return CustomProvider(
        id=name,
        name=raw.get("name"),
        base_url=raw.get("baseUrl"),
        api=raw.get("api"),
        api_key=raw.get("apiKey"),
        oauth=raw.get("oauth"),
        auth_header=raw.get("authHeader", False),
        headers=raw.get("headers", {}),
        compat=raw.get("compat", {}),
        models=tuple(raw.get("models", ())),
        overrides=raw.get("modelOverrides", {}),
    )


def _retargeted(model: Model, custom: CustomProvider) -> Model:
    if custom.base_url is not None:
        model = replace(model, base_url=custom.base_url)
    if custom.compat:
        model = replace(model, compat={**(model.compat or {}), **custom.compat})
    return model


def _own_model(raw: Json, custom: CustomProvider, bundled: tuple[Model, ...]) -> Model:
    template = bundled[0] if bundled else None
    shared: Json = {"name": raw["id"], "provider": custom.id}
    shared["api"] = custom.api or (template.api if template else "")
    shared["baseUrl"] = custom.base_url or (template.base_url if template else "")
    merged = shared | raw
    if custom.compat:
        merged["compat"] = custom.compat | raw.get("compat", {})
    return msgspec.convert(merged, Model)


def _overridden(model: Model, custom: CustomProvider) -> Model:
    change = custom.overrides.get(model.id)
    if change is None:
        return model
    plain: Json = msgspec.to_builtins(model)
    for key, value in change.items():
        if key in ("id", "api", "baseUrl", "provider"):
            continue
        if key in ("cost", "compat", "headers"):
            value = plain.get(key, {}) | value
        plain[key] = value
    return msgspec.convert(plain, Model)
