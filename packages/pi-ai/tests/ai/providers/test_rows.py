from __future__ import annotations

from pi.ai.models.catalog import bundled_providers
from pi.ai.providers.rows import BUILT_IN

DYNAMIC = {row.id for row in BUILT_IN if row.lists_models}
"""Providers that list their models themselves."""
SHARED = {row.id for row in BUILT_IN if row.catalog}
"""Providers with the models of another row."""


def test_every_provider_of_the_catalog_has_a_row_and_every_row_its_models() -> None:
    assert {row.id for row in BUILT_IN} == {*bundled_providers(), *DYNAMIC, *SHARED}
    assert len(BUILT_IN) == len({row.id for row in BUILT_IN}) == 55


def test_every_provider_has_a_key_variable_a_login_or_ambient_credentials() -> None:
    closed = [
        row.id
        for row in BUILT_IN
        if not (row.key_variables or row.token_variables or row.login or row.ambient)
    ]

    assert closed == []


STATED = {
    "aimlapi": ("https://api.aimlapi.com/v1", "AIMLAPI_API_KEY"),
    "kilo": ("https://api.kilo.ai/api/gateway", "KILO_API_KEY"),
    "minimax-code": ("https://api.minimax.io/anthropic", "MINIMAX_CODE_API_KEY"),
    "minimax-code-cn": ("https://api.minimaxi.com/anthropic", "MINIMAX_CODE_CN_API_KEY"),
    "nanogpt": ("https://nano-gpt.com/api/v1", "NANO_GPT_API_KEY"),
    "ollama-cloud": ("https://ollama.com/v1", "OLLAMA_CLOUD_API_KEY"),
    "qianfan": ("https://qianfan.baidubce.com/v2", "QIANFAN_API_KEY"),
    "synthetic": ("https://api.synthetic.new/openai/v1", "SYNTHETIC_API_KEY"),
    "venice": ("https://api.venice.ai/api/v1", "VENICE_API_KEY"),
    "wafer-pass": ("https://pass.wafer.ai/v1", "WAFER_PASS_API_KEY"),
    "wafer-serverless": ("https://pass.wafer.ai/v1", "WAFER_SERVERLESS_API_KEY"),
    "zenmux": ("https://zenmux.ai/api/v1", "ZENMUX_API_KEY"),
    "zhipu-coding-plan": ("https://open.bigmodel.cn/api/coding/paas/v4", "ZHIPU_API_KEY"),
}
"""Base URL and key variables according to the specification or the vendor's documentation."""


def test_the_base_urls_and_key_variables_are_those_stated_by_the_vendors() -> None:
    without_catalog = {
        row.id: (row.base_url, *row.key_variables)
        for row in BUILT_IN
        if row.id not in bundled_providers()
    }

    assert without_catalog == STATED
