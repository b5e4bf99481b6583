"""Facts that public lists lack: wires, addresses and quirks, per provider and per model. Pure.

``overrides.json`` beside this file holds, per provider, ``default`` (laid under every model) and
``models`` (laid over single ones). It is kept by hand; the catalog itself never is.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any

import msgspec

from pi.ai.images.formats import ImageModel
from pi.ai.messages import Json
from pi.ai.models.model import Model
from pi.ai.models.public_lists import RATES, Facts, Listing

QUIRKS = (
    "api",
    "baseUrl",
    "thinkingLevelMap",
    "inputLimits",
    "promptCache",
    "samplingParams",
    "headers",
    "compat",
)
CAUTIOUS_OUTPUT = 16_384
FIELDS = (
    "id", "name", "api", "provider", "baseUrl", "reasoning", "thinkingLevelMap", "input",
    "inputLimits", "cost", "promptCache", "contextWindow", "maxTokens", "samplingParams",
    "headers", "compat",
)  # fmt: skip
IMAGE_FIELDS = ("id", "name", "api", "provider", "baseUrl", "input", "output", "cost")


def catalog_entries(listing: Listing, overrides: Mapping[str, Json]) -> dict[str, list[Facts]]:
    """Complete, valid catalog entries per provider, sorted by id.

    A provider without a default, or a model that is still incomplete, raises ``ValueError``: the
    catalog would list models that cannot be used.
    """
    return {
        provider: [
            _entry(provider, listing[provider][name], overrides.get(provider, {}))
            for name in sorted(listing[provider])
        ]
        for provider in sorted(listing)
    }


def _entry(provider: str, facts: Facts, override: Json) -> Facts:
    merged = {
        **override.get("default", {}),
        **facts,
        **override.get("models", {}).get(facts["id"], {}),
        "provider": provider,
    }
    merged["cost"] = dict(merged.get("cost", {}))
    for rate in RATES:
        merged["cost"].setdefault(rate, 0)
    if "maxTokens" not in merged and "contextWindow" in merged:
        # A list that names no output limit gets a cautious one: never the whole window.
        merged["maxTokens"] = min(merged["contextWindow"], CAUTIOUS_OUTPUT)
    entry = {name: merged[name] for name in FIELDS if merged.get(name) is not None}
    try:
        msgspec.convert(entry, Model)
    except msgspec.ValidationError as error:
        raise ValueError(f"{provider}/{facts['id']}: {error}") from error
    return entry


def image_entries(provider: str, models: Mapping[str, Facts]) -> list[Facts]:
    """Complete, valid entries of image models, sorted by id."""
    entries = []
    for name in sorted(models):
        merged = {**models[name], "provider": provider}
        entry = {key: merged[key] for key in IMAGE_FIELDS if key in merged}
        msgspec.convert(entry, ImageModel)
        entries.append(entry)
    return entries


def quirks_of(listing: Listing) -> dict[str, Json]:
    """Overrides that reproduce the quirks of a complete listing: the commonest ones as default."""
    return {provider: _split(models) for provider, models in sorted(listing.items())}


def _split(models: Mapping[str, Facts]) -> Json:
    default = {
        quirk: value
        for quirk in QUIRKS
        if (value := _commonest(facts.get(quirk) for facts in models.values())) is not None
    }
    exceptions = {
        name: {
            quirk: facts.get(quirk) for quirk in QUIRKS if facts.get(quirk) != default.get(quirk)
        }
        for name, facts in sorted(models.items())
    }
    return {"default": default, "models": {k: v for k, v in exceptions.items() if v}}


def _commonest(values: Iterable[Any]) -> Any:
    counted = Counter(msgspec.json.encode(value) for value in values)
    return msgspec.json.decode(counted.most_common(1)[0][0])
