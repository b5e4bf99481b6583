"""The built-in providers, one row each.

Their models are in the bundled catalog, or queried if a row ``lists_models``. A row exists only if
the specification or the vendor's documentation states base URL and authentication: a key must never
be sent to a guessed host.
"""

from __future__ import annotations

from pi.ai.provider import Provider

_CLOUDFLARE = "https://gateway.ai.cloudflare.com/v1/{CLOUDFLARE_ACCOUNT_ID}/{CLOUDFLARE_GATEWAY_ID}"
_QWEN = "https://token-plan.{}.maas.aliyuncs.com/compatible-mode/v1"


def _row(
    id: str, name: str, base_url: str, default_model: str, *key_variables: str, **more: object
) -> Provider:
    return Provider(
        id=id,
        name=name,
        base_url=base_url,
        default_model=default_model,
        key_variables=key_variables,
        **more,  # type: ignore[arg-type]
    )


# fmt: off
BUILT_IN: tuple[Provider, ...] = (
    _row("aimlapi", "AI/ML API", "https://api.aimlapi.com/v1", "", "AIMLAPI_API_KEY",
         lists_models=True),
    _row("amazon-bedrock", "Amazon Bedrock", "https://bedrock-runtime.us-east-1.amazonaws.com",
         "us.anthropic.claude-opus-4-6-v1",
         token_variables=("AWS_BEARER_TOKEN_BEDROCK",), ambient="aws"),
    _row("ant-ling", "Ant Ling", "https://api.ant-ling.com/v1", "Ring-2.6-1T", "ANT_LING_API_KEY"),
    _row("anthropic", "Anthropic", "https://api.anthropic.com", "claude-opus-4-8",
         "ANTHROPIC_API_KEY", login="anthropic",
         token_variables=("ANTHROPIC_AUTH_TOKEN", "ANTHROPIC_OAUTH_TOKEN")),
    _row("azure-openai-responses", "Azure OpenAI", "", "gpt-5.4", "AZURE_OPENAI_API_KEY"),
    _row("baseten", "Baseten", "https://inference.baseten.co/v1", "zai-org/GLM-5.2",
         "BASETEN_API_KEY"),
    _row("cerebras", "Cerebras", "https://api.cerebras.ai/v1", "gpt-oss-120b", "CEREBRAS_API_KEY"),
    _row("cloudflare-ai-gateway", "Cloudflare AI Gateway", f"{_CLOUDFLARE}/compat",
         "workers-ai/@cf/moonshotai/kimi-k2.6",
         "CLOUDFLARE_AI_GATEWAY_API_KEY", "CLOUDFLARE_API_KEY",
         needed_variables=("CLOUDFLARE_ACCOUNT_ID", "CLOUDFLARE_GATEWAY_ID")),
    _row("cloudflare-workers-ai", "Cloudflare Workers AI",
         "https://api.cloudflare.com/client/v4/accounts/{CLOUDFLARE_ACCOUNT_ID}/ai/v1",
         "@cf/moonshotai/kimi-k2.6", "CLOUDFLARE_API_KEY",
         needed_variables=("CLOUDFLARE_ACCOUNT_ID",)),
    _row("deepseek", "DeepSeek", "https://api.deepseek.com", "deepseek-v4-pro", "DEEPSEEK_API_KEY"),
    _row("fireworks", "Fireworks", "https://api.fireworks.ai/inference/v1",
         "accounts/fireworks/models/kimi-k2p6", "FIREWORKS_API_KEY"),
    _row("github-copilot", "GitHub Copilot", "https://api.individual.githubcopilot.com", "gpt-5.4",
         login="github_copilot", token_variables=("COPILOT_GITHUB_TOKEN",)),
    _row("google", "Google Gemini", "https://generativelanguage.googleapis.com/v1beta",
         "gemini-3.1-pro-preview", "GEMINI_API_KEY"),
    _row("google-vertex", "Google Vertex AI", "https://{location}-aiplatform.googleapis.com",
         "gemini-3.1-pro-preview", "GOOGLE_CLOUD_API_KEY", ambient="google"),
    _row("groq", "Groq", "https://api.groq.com/openai/v1", "openai/gpt-oss-120b", "GROQ_API_KEY"),
    _row("huggingface", "Hugging Face", "https://router.huggingface.co/v1", "moonshotai/Kimi-K2.6",
         "HUGGINGFACE_HUB_TOKEN", "HF_TOKEN"),
    _row("kilo", "Kilo Gateway", "https://api.kilo.ai/api/gateway", "", "KILO_API_KEY",
         lists_models=True),
    _row("kimi-coding", "Kimi for Coding", "https://api.kimi.com/coding", "kimi-for-coding",
         "KIMI_API_KEY", login="kimi_coding"),
    _row("meta", "Meta", "https://api.meta.ai/v1", "muse-spark-1.3", "META_API_KEY", login="meta"),
    _row("minimax", "MiniMax", "https://api.minimax.io/anthropic", "MiniMax-M2.7",
         "MINIMAX_API_KEY"),
    _row("minimax-cn", "MiniMax (China)", "https://api.minimaxi.com/anthropic", "MiniMax-M2.7",
         "MINIMAX_CN_API_KEY"),
    _row("minimax-code", "MiniMax Coding Plan", "https://api.minimax.io/anthropic", "MiniMax-M2.7",
         "MINIMAX_CODE_API_KEY", catalog="minimax"),
    _row("mistral", "Mistral", "https://api.mistral.ai", "devstral-medium-latest",
         "MISTRAL_API_KEY"),
    _row("moonshotai", "Moonshot AI", "https://api.moonshot.ai/v1", "kimi-k2.6",
         "MOONSHOT_API_KEY"),
    _row("moonshotai-cn", "Moonshot AI (China)", "https://api.moonshot.cn/v1", "kimi-k2.6",
         "MOONSHOT_API_KEY"),
    _row("nanogpt", "NanoGPT", "https://nano-gpt.com/api/v1", "", "NANO_GPT_API_KEY",
         lists_models=True),
    _row("nvidia", "NVIDIA", "https://integrate.api.nvidia.com/v1",
         "nvidia/nemotron-3-super-120b-a12b", "NVIDIA_API_KEY"),
    _row("ollama-cloud", "Ollama Cloud", "https://ollama.com/v1", "", "OLLAMA_CLOUD_API_KEY",
         lists_models=True),
    _row("openai", "OpenAI", "https://api.openai.com/v1", "gpt-5.5", "OPENAI_API_KEY"),
    _row("openai-codex", "ChatGPT (Codex)", "https://chatgpt.com/backend-api", "gpt-5.5",
         login="openai_codex"),
    _row("opencode", "OpenCode Zen", "https://opencode.ai/zen/v1", "kimi-k2.6",
         "OPENCODE_API_KEY"),
    _row("opencode-go", "OpenCode Go", "https://opencode.ai/zen/go/v1", "kimi-k2.6",
         "OPENCODE_API_KEY"),
    _row("openrouter", "OpenRouter", "https://openrouter.ai/api/v1", "moonshotai/kimi-k2.6",
         "OPENROUTER_API_KEY", login="openrouter"),
    _row("qianfan", "Baidu Qianfan", "https://qianfan.baidubce.com/v2", "", "QIANFAN_API_KEY",
         lists_models=True),
    _row("qwen-token-plan", "Qwen Token Plan", _QWEN.format("ap-southeast-1"), "qwen3.7-max",
         "QWEN_TOKEN_PLAN_API_KEY"),
    _row("qwen-token-plan-cn", "Qwen Token Plan (China)", _QWEN.format("cn-beijing"),
         "qwen3.7-max", "QWEN_TOKEN_PLAN_CN_API_KEY"),
    _row("qwen-token-plan-individual", "Qwen Token Plan (individual)",
         _QWEN.format("ap-southeast-1"), "qwen3.8-max", "QWEN_TOKEN_PLAN_API_KEY"),
    _row("radius", "Radius", "https://radius.pi.dev/v1", "balanced", "RADIUS_API_KEY",
         login="radius"),
    _row("together", "Together", "https://api.together.ai/v1", "moonshotai/Kimi-K2.6",
         "TOGETHER_API_KEY"),
    _row("venice", "Venice", "https://api.venice.ai/api/v1", "", "VENICE_API_KEY",
         lists_models=True),
    _row("vercel-ai-gateway", "Vercel AI Gateway", "https://ai-gateway.vercel.sh", "zai/glm-5.1",
         "AI_GATEWAY_API_KEY"),
    _row("wafer-pass", "Wafer Pass", "https://pass.wafer.ai/v1", "", "WAFER_PASS_API_KEY",
         lists_models=True),
    _row("wafer-serverless", "Wafer Serverless", "https://pass.wafer.ai/v1", "",
         "WAFER_SERVERLESS_API_KEY", lists_models=True),
    _row("xai", "xAI", "https://api.x.ai/v1", "grok-4.7", "XAI_API_KEY", login="xai",
         token_variables=("XAI_OAUTH_TOKEN",)),
    _row("xiaomi", "Xiaomi MiMo", "https://api.xiaomimimo.com/v1", "mimo-v2.5-pro",
         "XIAOMI_API_KEY"),
    _row("xiaomi-token-plan-ams", "Xiaomi Token Plan (Amsterdam)",
         "https://token-plan-ams.xiaomimimo.com/v1", "mimo-v2.5-pro",
         "XIAOMI_TOKEN_PLAN_AMS_API_KEY"),
    _row("xiaomi-token-plan-cn", "Xiaomi Token Plan (China)",
         "https://token-plan-cn.xiaomimimo.com/v1", "mimo-v2.5-pro",
         "XIAOMI_TOKEN_PLAN_CN_API_KEY"),
    _row("xiaomi-token-plan-sgp", "Xiaomi Token Plan (Singapore)",
         "https://token-plan-sgp.xiaomimimo.com/v1", "mimo-v2.5-pro",
         "XIAOMI_TOKEN_PLAN_SGP_API_KEY"),
    _row("zai", "Z.ai", "https://api.z.ai/api/coding/paas/v4", "glm-5.3", "ZAI_API_KEY"),
    _row("zai-coding-cn", "Z.ai (China)", "https://open.bigmodel.cn/api/coding/paas/v4", "glm-5.3",
         "ZAI_CODING_CN_API_KEY"),
    _row("zenmux", "ZenMux", "https://zenmux.ai/api/v1", "", "ZENMUX_API_KEY", lists_models=True),
    _row("zhipu-coding-plan", "Zhipu Coding Plan", "https://open.bigmodel.cn/api/coding/paas/v4",
         "glm-5.3", "ZHIPU_API_KEY", catalog="zai-coding-cn"),
)
# fmt: on
