"""Capabilities of OpenAI-compatible servers; thinking settings.

A model's ``compat`` takes precedence; unset flags follow from the host or the provider, else from
OpenAI's API, also for servers on this machine.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Literal, TypeAlias

from msgspec import field

from pi.ai.errors import BadRequest
from pi.ai.messages import Json
from pi.ai.models.thinking_levels import level_word, thinking_budget
from pi.ai.request import Call, host_of, is_within, read_flags
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
    supports_long_cache_retention: bool = True
    vllm_priority: int | None = None

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
        providers=("qwen-token-plan", "qwen-token-plan-cn", "qwen-token-plan-individual"),
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


# Thinking settings in the format of every server --------------------------------------------------


class ThinkingRequest(Record):
    """The requested thinking."""

    on: bool
    word: str | None
    """The server's name for the level; for ``off`` only if the model has one."""
    listed: bool
    """Whether the model lists exactly this level."""
    budget: int
    """Tokens; 0 if it is off."""

    @property
    def effort(self) -> str:
        """The level where one is required."""
        return self.word or "none"

    @property
    def impossible(self) -> bool:
        """The model cannot stop thinking: requesting it is an error on some servers."""
        return self.listed and self.word is None


Fields: TypeAlias = Callable[[ThinkingRequest, Compat], Json]

FORMATS: Mapping[ThinkingFormat, Fields] = {
    "openai": lambda thinking, compat: {},
    "openrouter": lambda thinking, compat: (
        {} if thinking.impossible else {"reasoning": {"effort": thinking.effort}}
    ),
    "deepseek": lambda thinking, compat: {"thinking": {"type": _switch(thinking)}},
    "together": lambda thinking, compat: {"reasoning": {"enabled": thinking.on}},
    "baseten": lambda thinking, compat: _filled(
        "chat_template_args", compat.chat_template_args, thinking
    ),
    # Without the second key earlier thinking leaves the prompt, and its cache is lost.
    "zai": lambda thinking, compat: {
        "thinking": {
            "type": _switch(thinking),
            **({"clear_thinking": False} if thinking.on else {}),
        }
    },
    "qwen": lambda thinking, compat: {"enable_thinking": thinking.on},
    "chat-template": lambda thinking, compat: _filled(
        "chat_template_kwargs", compat.chat_template_kwargs, thinking
    ),
    "qwen-chat-template": lambda thinking, compat: {
        "chat_template_kwargs": {"enable_thinking": thinking.on, "preserve_thinking": True}
    },
    "string-thinking": lambda thinking, compat: (
        {} if thinking.impossible else {"thinking": thinking.effort}
    ),
    "ant-ling": lambda thinking, compat: (
        {"reasoning": {"effort": thinking.word}} if thinking.on and thinking.listed else {}
    ),
}
TEMPLATES = ("baseten", "chat-template")
"""Formats whose fields are configured: they are sent to every model that has them."""
WITH_EFFORT = ("openai", "deepseek", "together", "baseten", "zai", "qwen")
"""Formats in which ``reasoning_effort`` stands beside the switch."""


def thinking_fields(call: Call, compat: Compat) -> Json:
    """Return the thinking fields, in the order in which they are sent."""
    if not call.model.reasoning and compat.thinking_format not in TEMPLATES:
        return {}
    thinking = _thinking_request(call)
    fields = FORMATS[compat.thinking_format](thinking, compat)
    if compat.thinking_format in WITH_EFFORT and compat.supports_reasoning_effort and thinking.word:
        fields["reasoning_effort"] = thinking.word
    if thinking.on and compat.budget_field is not None:
        fields[compat.budget_field] = thinking.budget
    return fields


def _thinking_request(call: Call) -> ThinkingRequest:
    model, options = call.model, call.options
    level = options.reasoning if model.reasoning else "off"
    level_map = model.thinking_level_map or {}
    on = level != "off"
    return ThinkingRequest(
        on=on,
        word=level_word(model, level) if on else level_map.get("off"),
        listed=level in level_map,
        budget=thinking_budget(level, call.max_tokens, options.thinking_budgets) if on else 0,
    )


def _switch(thinking: ThinkingRequest) -> str:
    return "enabled" if thinking.on else "disabled"


def _filled(name: str, template: Json, thinking: ThinkingRequest) -> Json:
    """Return the configured arguments with their variables replaced."""
    arguments = {
        key: _value(value, thinking)
        for key, value in template.items()
        if thinking.on or not (isinstance(value, dict) and value.get("omitWhenOff"))
    }
    return {name: arguments} if arguments else {}


def _value(value: object, thinking: ThinkingRequest) -> object:
    if not isinstance(value, dict) or "$var" not in value:
        return value
    match value["$var"]:
        case "thinking.enabled":
            return thinking.on
        case "thinking.effort":
            return thinking.effort
        case "thinking.budget":
            return thinking.budget
        case unknown:
            raise BadRequest(
                f"The chat template arguments name an unknown variable: {unknown!r}",
                hint="Known are thinking.enabled, thinking.effort and thinking.budget.",
            )
