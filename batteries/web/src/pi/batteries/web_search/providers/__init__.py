"""The search providers, each as two pure functions: the requests, and the parser of the answer.

``result_lists`` has providers that list pages, ``model_answers`` and ``perplexity`` those whose
model searches and answers, ``remote_tools`` those behind JSON-RPC.
"""

from __future__ import annotations

from pi.batteries.web_search.providers.model_answers import ANTHROPIC, CODEX, GEMINI, KIMI
from pi.batteries.web_search.providers.perplexity import PERPLEXITY
from pi.batteries.web_search.providers.remote_tools import EXA, ZAI
from pi.batteries.web_search.providers.result_lists import (
    BRAVE,
    JINA,
    KAGI,
    PARALLEL,
    SEARXNG,
    SYNTHETIC,
    TAVILY,
)
from pi.batteries.web_search.search import Provider

PROVIDERS: dict[str, Provider] = {
    answer.name: answer
    for answer in (
        *(TAVILY, PERPLEXITY, BRAVE, JINA, KIMI, ANTHROPIC, GEMINI, CODEX, ZAI, EXA),
        *(PARALLEL, KAGI, SYNTHETIC, SEARXNG),
    )
}
"""The providers by name, in the order in which they are tried."""
