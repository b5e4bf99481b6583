"""Converts the public lists of models to facts of our catalog. Pure.

Each function takes one upstream document and returns facts per provider and model: name, limits,
prices, modalities. Only models that can call tools are kept; quirks come from the overrides.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
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

MILLION = 1_000_000


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
        sees="image" in ((model.get("modalities") or {}).get("input") or ()),
        prices=(cost.get(kind) for kind in ("input", "output", "cache_read", "cache_write")),
    )


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
        sees="image" in ((model.get("architecture") or {}).get("input_modalities") or ()),
        prices=(_per_million(pricing.get(kind)) for kind in kinds),
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
        sees="vision" in tags or "file-input" in tags,
        prices=(_per_million(pricing.get(kind)) for kind in kinds),
    )


def from_facts(document: Mapping[str, Any]) -> Listing:
    """The facts of a file that already has our form: provider → model → catalog entry."""
    return {provider: dict(models) for provider, models in document["providers"].items()}


Sources: TypeAlias = Mapping[str, tuple[str, Callable[[Mapping[str, Any]], Listing]]]
"""Name of a list → its URL and its parser."""

SOURCES: Sources = {
    "models.dev": ("https://models.dev/api.json", from_models_dev),
    "openrouter": ("https://openrouter.ai/api/v1/models", from_openrouter),
    "vercel": ("https://ai-gateway.vercel.sh/v1/models", from_vercel),
}


def _facts(
    name: str,
    title: str | None,
    *,
    context: int | None,
    output: int | None,
    reasoning: object,
    sees: bool,
    prices: Iterable[float | None],
) -> Facts:
    facts: Facts = {
        "id": name,
        "name": title or name,
        "reasoning": bool(reasoning),
        "input": ["text", "image"] if sees else ["text"],
        "cost": dict(
            zip(
                ("input", "output", "cacheRead", "cacheWrite"),
                (price or 0 for price in prices),
                strict=True,
            )
        ),
    }
    if context:
        facts["contextWindow"] = context
    if output or context:
        # A list that names no output limit gets a cautious one: never the whole window.
        facts["maxTokens"] = output or min(context or 16_384, 16_384)
    return facts


def _per_million(price: str | float | None) -> float:
    """Dollars per token, as these lists have it, per million; odd values count as free."""
    try:
        value = float(price or 0) * MILLION
    except ValueError:
        return 0
    return round(value, 6) if value > 0 else 0
