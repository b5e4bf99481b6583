"""The search providers, each as two pure functions: the requests, and the parser of the answer.

One module each. ``result_lists``, ``model_answers`` and ``remote_tools`` have what providers share
that list pages, whose model searches and answers, and that are behind JSON-RPC.
"""

from __future__ import annotations

from pi.batteries.web_search.providers.anthropic import ANTHROPIC
from pi.batteries.web_search.providers.brave import BRAVE
from pi.batteries.web_search.providers.codex import CODEX
from pi.batteries.web_search.providers.exa import EXA
from pi.batteries.web_search.providers.gemini import GEMINI
from pi.batteries.web_search.providers.jina import JINA
from pi.batteries.web_search.providers.kagi import KAGI
from pi.batteries.web_search.providers.kimi import KIMI
from pi.batteries.web_search.providers.parallel import PARALLEL
from pi.batteries.web_search.providers.perplexity import PERPLEXITY
from pi.batteries.web_search.providers.searxng import SEARXNG
from pi.batteries.web_search.providers.synthetic import SYNTHETIC
from pi.batteries.web_search.providers.tavily import TAVILY
from pi.batteries.web_search.providers.zai import ZAI
from pi.batteries.web_search.search import Provider

PROVIDERS: dict[str, Provider] = {
    answer.name: answer
    for answer in (
        *(TAVILY, PERPLEXITY, BRAVE, JINA, KIMI, ANTHROPIC, GEMINI, CODEX, ZAI, EXA),
        *(PARALLEL, KAGI, SYNTHETIC, SEARXNG),
    )
}
"""The providers by name, in the order in which they are tried."""
