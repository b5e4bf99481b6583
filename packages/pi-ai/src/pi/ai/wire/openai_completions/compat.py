"""Capabilities of OpenAI-compatible servers.

A model's ``compat`` takes precedence; unset flags follow from the host or the provider, else from
OpenAI's API, also for servers on this machine.
"""

from __future__ import annotations

from typing import Literal, TypeAlias

from msgspec import field

from pi.ai.messages import Json
from pi.ai.request import CacheKeyMode, Call, host_of, is_within, read_flags
from pi.base.records import Record

OPENAI_HOST = "api.openai.com"

ThinkingFormat: TypeAlias = Literal[
    "openai",
    "openrouter",
    "deepseek",
    "together",
    "baseten",
    "zai",
    "qwen",
    "chat-template",
    "qwen-chat-template",
    "string-thinking",
    "ant-ling",
]
BudgetField: TypeAlias = Literal[
    "thinking_token_budget", "thinking_budget", "thinking_budget_tokens"
]


class Compat(Record):
    """Every flag with its value; the defaults are OpenAI's."""

    supports_store: bool = True
    supports_developer_role: bool = True
    supports_reasoning_effort: bool = True
    supports_usage_in_streaming: bool = True
    supports_finish_reason: bool = True
    """Otherwise the end of the stream is the end of the response."""
    max_tokens_field: Literal["max_completion_tokens", "max_tokens"] = "max_completion_tokens"
    requires_tool_result_name: bool = False
    requires_assistant_after_tool_result: bool = False
    """A user message may not follow a tool result directly."""
    requires_non_null_assistant_content: bool = False
    """An answer without text is an empty text, not null."""
    requires_tools_with_tool_history: bool = False
    """A request without tools has an empty list of them if there were calls."""
    requires_thinking_as_text: bool = False
    requires_reasoning_content_on_assistant_messages: bool = False
    thinking_format: ThinkingFormat = "openai"
    chat_template_kwargs: Json = field(default_factory=dict)
    chat_template_args: Json = field(default_factory=dict)
    open_router_routing: Json | None = None
    vercel_gateway_routing: Json | None = None
    zai_tool_stream: bool = False
    thinking_token_budget_field: BudgetField | None = None
    supports_thinking_token_budget: bool | None = None
    supports_openai_grammar_tools: bool = field(default=False, name="supportsOpenAIGrammarTools")
    supports_mid_convo_system_messages: bool = False
    supports_mid_convo_tool_additions: bool = False
    supports_strict_mode: bool = False
    cache_control_format: Literal["anthropic"] | None = None
    send_session_affinity_headers: bool = False
    session_affinity_format: Literal["openai", "openai-nosession", "openrouter"] = "openai"
    prompt_cache_key_mode: CacheKeyMode = "auto"
    """``auto`` sends a key only to OpenAI, and with long retention."""
    supports_long_cache_retention: bool = True
    vllm_priority: int | None = None
    return_token_ids: bool = False
    """Ask for the ids and log-probabilities of all tokens, as vLLM returns them."""

    @property
    def budget_field(self) -> BudgetField | None:
        """The field for a number of thinking tokens, if the server has one."""
        if self.supports_thinking_token_budget is False:
            return None
        if self.supports_thinking_token_budget:
            return self.thinking_token_budget_field or "thinking_token_budget"
        return self.thinking_token_budget_field


class ServerDefaults(Record):
    """Known flags of a server by its host, or by the provider's id behind another host."""

    hosts: tuple[str, ...]
    providers: tuple[str, ...]
    flags: Json


# Flags that several servers share.
PLAIN: Json = {"supportsStore": False, "supportsDeveloperRole": False}
OLD: Json = {**PLAIN, "maxTokensField": "max_tokens"}
NO_EFFORT: Json = {"supportsReasoningEffort": False}
NO_LONG_CACHE: Json = {"supportsLongCacheRetention": False}
STICKY: Json = {"sendSessionAffinityHeaders": True}
DEEPSEEK: Json = {
    "thinkingFormat": "deepseek",
    "requiresReasoningContentOnAssistantMessages": True,
}

KNOWN: tuple[ServerDefaults, ...] = (
    ServerDefaults(
        hosts=(OPENAI_HOST,),
        providers=("openai",),
        flags={"supportsStrictMode": True, "supportsOpenAIGrammarTools": True},
    ),
    ServerDefaults(
        hosts=("openrouter.ai",),
        providers=("openrouter",),
        flags={"thinkingFormat": "openrouter", "sessionAffinityFormat": "openrouter"},
    ),
    ServerDefaults(hosts=("deepseek.com",), providers=("deepseek",), flags={**OLD, **DEEPSEEK}),
    ServerDefaults(
        hosts=("xiaomimimo.com",),
        providers=(
            "xiaomi",
            "xiaomi-token-plan-ams",
            "xiaomi-token-plan-cn",
            "xiaomi-token-plan-sgp",
        ),
        flags=DEEPSEEK,
    ),
    ServerDefaults(
        hosts=("z.ai", "bigmodel.cn"),
        providers=("zai", "zai-coding-cn"),
        flags={**OLD, **NO_EFFORT, "thinkingFormat": "zai"},
    ),
    ServerDefaults(
        hosts=("moonshot.ai", "moonshot.cn"),
        providers=("moonshotai", "moonshotai-cn"),
        flags={**OLD, **NO_EFFORT, "thinkingFormat": "deepseek"},
    ),
    ServerDefaults(
        hosts=("aliyuncs.com",),
        providers=(
            "qwen-token-plan",
            "qwen-token-plan-cn",
            "qwen-token-plan-individual",
            "qwen-token-plan-individual-cn",
        ),
        flags={**PLAIN, **NO_EFFORT, "thinkingFormat": "qwen"},
    ),
    ServerDefaults(
        hosts=("together.ai", "together.xyz"),
        providers=("together",),
        flags={**OLD, **NO_EFFORT, **NO_LONG_CACHE, "thinkingFormat": "together"},
    ),
    ServerDefaults(
        hosts=("baseten.co",),
        providers=("baseten",),
        flags={**OLD, **NO_LONG_CACHE, **STICKY, "thinkingFormat": "baseten"},
    ),
    ServerDefaults(
        hosts=("ant-ling.com",),
        providers=("ant-ling",),
        flags={**OLD, **NO_EFFORT, **NO_LONG_CACHE, "thinkingFormat": "ant-ling"},
    ),
    ServerDefaults(
        hosts=("gateway.ai.cloudflare.com",),
        providers=("cloudflare-ai-gateway",),
        flags={**OLD, **NO_EFFORT, **NO_LONG_CACHE, **STICKY},
    ),
    ServerDefaults(
        hosts=("api.cloudflare.com",),
        providers=("cloudflare-workers-ai",),
        flags={**PLAIN, **NO_LONG_CACHE, **STICKY},
    ),
    ServerDefaults(
        hosts=("fireworks.ai",),
        providers=("fireworks",),
        flags={**PLAIN, **NO_LONG_CACHE, **STICKY},
    ),
    ServerDefaults(
        hosts=("api.nvidia.com",),
        providers=("nvidia",),
        flags={**OLD, **NO_EFFORT, **NO_LONG_CACHE},
    ),
    ServerDefaults(hosts=("cerebras.ai",), providers=("cerebras",), flags=PLAIN),
    ServerDefaults(hosts=("opencode.ai",), providers=("opencode", "opencode-go"), flags=OLD),
    ServerDefaults(
        hosts=("githubcopilot.com",),
        providers=("github-copilot",),
        flags={**PLAIN, **NO_EFFORT},
    ),
    ServerDefaults(
        hosts=("huggingface.co",),
        providers=("huggingface",),
        flags={"supportsDeveloperRole": False},
    ),
    ServerDefaults(hosts=("x.ai",), providers=("xai",), flags={**PLAIN, **NO_EFFORT}),
    ServerDefaults(hosts=("mistral.ai",), providers=("mistral",), flags={**OLD, **NO_EFFORT}),
    ServerDefaults(hosts=("chutes.ai",), providers=("chutes",), flags=OLD),
    ServerDefaults(hosts=("googleapis.com",), providers=("google",), flags=PLAIN),
)


def compat_of(call: Call) -> Compat:
    """Return the flags for ``call``."""
    return read_flags(call.model, Compat, _detected(call))


def _detected(call: Call) -> Json:
    host = host_of(call)
    for entry in KNOWN:
        if any(is_within(host, name) for name in entry.hosts):
            return entry.flags
    for entry in KNOWN:
        if call.model.provider in entry.providers:
            return entry.flags
    return {}
