"""Converts public lists of models to facts of the catalog. Pure.

Each function takes one upstream document and returns facts per provider and model: name, limits,
prices, modalities, as far as the document states them. Only models that can call tools are kept.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from typing import Any, TypeAlias

Facts: TypeAlias = dict[str, Any]
"""Part of a catalog entry, with its JSON names."""
Listing: TypeAlias = dict[str, dict[str, Facts]]
"""Provider id → model id → facts."""

OURS = {
    "amazon-bedrock": "amazon-bedrock",
    "anthropic": "anthropic",
    "azure": "azure",
    "baseten": "baseten",
    "cerebras": "cerebras",
    "cloudflare-workers-ai": "cloudflare-workers-ai",
    "deepseek": "deepseek",
    "fireworks-ai": "fireworks",
    "github-copilot": "github-copilot",
    "google": "google",
    "google-vertex": "google-vertex",
    "groq": "groq",
    "huggingface": "huggingface",
    "kimi-for-coding": "kimi-coding",
    "minimax": "minimax",
    "minimax-cn": "minimax-cn",
    "mistral": "mistral",
    "moonshotai": "moonshotai",
    "moonshotai-cn": "moonshotai-cn",
    "nvidia": "nvidia",
    "openai": "openai",
    "opencode": "opencode",
    "opencode-go": "opencode-go",
    "togetherai": "together",
    "xai": "xai",
    "xiaomi": "xiaomi",
    "zai-coding-plan": "zai",
    "zhipuai-coding-plan": "zai-coding-cn",
}
"""models.dev's provider ids and ours."""
_TIERS = {"context_over_200k": 200_000}
"""Fields of models.dev for prices of long prompts, and from how many tokens they apply."""

MILLION = 1_000_000
RATES = ("input", "output", "cacheRead", "cacheWrite")


def from_models_dev(document: Mapping[str, Any]) -> Listing:
    """The facts of https://models.dev/api.json."""
    return {
        ours: {
            name: _models_dev_facts(name, model)
            for name, model in (document[theirs].get("models") or {}).items()
            if model.get("tool_call") and model.get("status") != "deprecated"
        }
        for theirs, ours in OURS.items()
        if theirs in document
    }


def _models_dev_facts(name: str, model: Mapping[str, Any]) -> Facts:
    cost, limit = model.get("cost") or {}, model.get("limit") or {}
    return _facts(
        name,
        model.get("name"),
        context=limit.get("context"),
        output=limit.get("output"),
        reasoning=model.get("reasoning"),
        accepts=(model.get("modalities") or {}).get("input"),
        prices=_models_dev_prices(cost),
        tiers=[
            {"inputTokensAbove": tokens, **stated}
            for field, tokens in _TIERS.items()
            if isinstance(tier := cost.get(field), dict)
            and (stated := stated_cost(_models_dev_prices(tier)))
        ],
    )


def _models_dev_prices(cost: Mapping[str, Any]) -> list[Any]:
    return [cost.get(kind) for kind in ("input", "output", "cache_read", "cache_write")]


def from_openrouter(document: Mapping[str, Any]) -> Listing:
    """The facts of https://openrouter.ai/api/v1/models."""
    return {
        "openrouter": {
            model["id"]: _openrouter_facts(model)
            for model in document.get("data") or ()
            if "tools" in (model.get("supported_parameters") or ())
        }
    }


def _openrouter_facts(model: Mapping[str, Any]) -> Facts:
    top, pricing = model.get("top_provider") or {}, model.get("pricing") or {}
    kinds = ("prompt", "completion", "input_cache_read", "input_cache_write")
    return _facts(
        model["id"],
        model.get("name"),
        context=top.get("context_length") or model.get("context_length"),
        output=top.get("max_completion_tokens"),
        reasoning="reasoning" in model["supported_parameters"],
        accepts=(model.get("architecture") or {}).get("input_modalities"),
        prices=(per_million(pricing.get(kind)) for kind in kinds),
    )


def from_vercel(document: Mapping[str, Any]) -> Listing:
    """The facts of https://ai-gateway.vercel.sh/v1/models."""
    return {
        "vercel-ai-gateway": {
            model["id"]: _vercel_facts(model)
            for model in document.get("data") or ()
            if "tool-use" in (model.get("tags") or ())
        }
    }


def _vercel_facts(model: Mapping[str, Any]) -> Facts:
    tags, pricing = model["tags"], model.get("pricing") or {}
    kinds = ("input", "output", "input_cache_read", "input_cache_write")
    return _facts(
        model["id"],
        model.get("name"),
        context=model.get("context_window"),
        output=model.get("max_tokens"),
        reasoning="reasoning" in tags,
        accepts=["image"] if "vision" in tags or "file-input" in tags else ["text"],
        prices=(per_million(pricing.get(kind)) for kind in kinds),
    )


def from_facts(document: Mapping[str, Any]) -> Listing:
    """The facts of a file that already has our form: provider → model → catalog entry."""
    return {provider: dict(models) for provider, models in document["providers"].items()}


def read_document(document: Any) -> Listing:
    """The facts of a document of any of these forms; raises ``ValueError`` for another one."""
    match document:
        case {"providers": dict(providers)} if all(map(_is_object, providers.values())):
            return from_facts(document)
        case {"data": list(entries)} if all(map(_is_object, entries)):
            return from_openrouter(document)
        case dict() if document and all(map(_is_provider, document.values())):
            return from_models_dev(document)
        case _:
            raise ValueError("it is not a list of models")


def _is_object(value: object) -> bool:
    return isinstance(value, dict)


def _is_provider(value: object) -> bool:
    """Whether ``value`` is a provider of models.dev."""
    return isinstance(value, dict) and isinstance(value.get("models", {}), dict)


def _facts(
    name: str,
    title: str | None,
    *,
    context: int | None,
    output: int | None,
    reasoning: object,
    accepts: Collection[str] | None,
    prices: Iterable[object],
    tiers: Iterable[Facts] = (),
) -> Facts:
    facts: Facts = {"id": name, "name": title or name}
    if reasoning is not None:
        facts["reasoning"] = bool(reasoning)
    if accepts:
        facts["input"] = ["text", "image"] if "image" in accepts else ["text"]
    if cost := stated_cost(prices, tiers):
        facts["cost"] = cost
    if context:
        facts["contextWindow"] = context
    if output:
        facts["maxTokens"] = output
    return facts


def stated_cost(prices: Iterable[object], tiers: Iterable[Facts] = ()) -> Facts:
    """Return the prices, by input, output, cache read and cache write; empty if none is stated.

    A list that states zeros for input and output means that it does not count tokens: that says
    nothing about the price.
    """
    named = dict(zip(RATES, prices, strict=True))
    cost: Facts = {name: price for name, price in named.items() if price is not None}
    if not (cost.get("input") or cost.get("output")):
        return {}
    if tiers := list(tiers):
        cost["tiers"] = tiers
    return cost


def per_million(price: object) -> float | None:
    """Return dollars per token, as these lists have it, per million; ``None`` for odd values."""
    if price is None or isinstance(price, bool) or not isinstance(price, str | int | float):
        return None
    try:
        value = float(price) * MILLION
    except ValueError:
        return None
    return round(value, 6) if 0 <= value < MILLION else None
