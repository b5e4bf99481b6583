"""tool_search: ranks tools that are not declared by their words, and makes the best callable."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Annotated, Any

from msgspec import Meta

from pi.agent.tools.define import make_tool
from pi.agent.tools.tool import AgentTool, ToolContext, ToolFailed, ToolResult
from pi.ai.messages import Json
from pi.base.records import Record
from pi.base.terminal_text import one_line

TOOL_SEARCH = "tool_search"
DESCRIPTION = """\
Find tools that are not declared yet, such as those of MCP servers, and make them callable. The \
result lists the tools that match best; they can be called from your next answer on. Search before \
you say that something cannot be done with your tools."""
LIMIT = 8
NAME_WEIGHT = 3
"""Words of the name count as often as if the description had them that many times."""
SATURATION = 1.2
LENGTH_SHARE = 0.75
"""The two parameters of BM25 (k1 and b), with their usual values."""
MAX_SCHEMA_DEPTH = 16
_CJK = r"\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af"
_WORD = re.compile(  # scripts without spaces: each character
    rf"[{_CJK}]|[A-Z]+(?![a-z])|[A-Z]?[^\W\d_A-Z{_CJK}]+|\d+"
)


class ToolSearchParams(Record):
    """The parameters."""

    query: Annotated[str, Meta(description="Words that describe the tool, or its exact name")]
    limit: Annotated[int | None, Meta(description=f"At most so many tools; {LIMIT} by default")] = (
        None
    )


def tool_search_tool(load: Callable[[str, int], Iterable[AgentTool]]) -> AgentTool:
    """Return the tool; ``load`` makes the best matches of a query callable and returns them."""

    async def run(params: ToolSearchParams, ctx: ToolContext) -> ToolResult:
        if not params.query.strip():
            raise ToolFailed("query must not be empty")
        limit = LIMIT if params.limit is None else params.limit
        if limit < 1:
            raise ToolFailed("limit must be a positive integer")
        tools = tuple(load(params.query, limit))
        names = [tool.name for tool in tools]
        if not tools:
            return ToolResult.of("No matching tools found.", details={"loaded": names})
        lines = [f"- {tool.name}: {one_line(tool.description)}" for tool in tools]
        count = f"{len(tools)} tool" + ("s" if len(tools) > 1 else "")
        text = f"Loaded {count}. They are available from your next call:\n" + "\n".join(lines)
        return ToolResult.of(text, details={"loaded": names})

    return make_tool(
        name=TOOL_SEARCH,
        label="tool_search",
        description=DESCRIPTION,
        params=ToolSearchParams,
        run=run,
        approval="read",
    )


def best_tools(query: str, tools: Iterable[AgentTool], limit: int) -> list[AgentTool]:
    """Return the tools that match a query best, tools with an exact name first."""
    candidates = {tool.name: tool for tool in tools}
    exact = [name for name in query.replace(",", " ").split() if name in candidates]
    scores = rank(query, {name: _words_of_tool(tool) for name, tool in candidates.items()})
    matching = sorted((name for name in scores if scores[name] > 0), key=lambda n: (-scores[n], n))
    return [candidates[name] for name in [*dict.fromkeys((*exact, *matching))][:limit]]


def rank(query: str, documents: Mapping[str, Counter[str]]) -> dict[str, float]:
    """Return the BM25 score of each document, which is its words with their number."""
    if not documents:
        return {}
    lengths = {name: words.total() for name, words in documents.items()}
    average = sum(lengths.values()) / len(lengths) or 1.0
    scores = dict.fromkeys(documents, 0.0)
    for term in dict.fromkeys(words_of(query)):
        containing = [name for name, words in documents.items() if term in words]
        rarity = math.log(1 + (len(documents) - len(containing) + 0.5) / (len(containing) + 0.5))
        for name in containing:
            count = documents[name][term]
            length = 1 - LENGTH_SHARE + LENGTH_SHARE * lengths[name] / average
            scores[name] += rarity * count * (SATURATION + 1) / (count + SATURATION * length)
    return scores


def words_of(text: str) -> Iterator[str]:
    """Yield the words of a text in lower case; ``createIssue`` and ``create_issue`` have two."""
    for match in _WORD.finditer(text):
        word = match[0].lower()
        # A plural matches its singular; both sides lose the letter.
        yield word[:-1] if len(word) > 3 and word.endswith("s") else word


def _words_of_tool(tool: AgentTool) -> Counter[str]:
    words = Counter(words_of(f"{tool.label} {tool.description}"))
    for word in words_of(tool.name):
        words[word] += NAME_WEIGHT
    words.update(_words_of_schema(tool.parameters, tool.parameters, 0, set()))
    return words


def _words_of_schema(schema: Any, root: Json, depth: int, resolved: set[str]) -> Iterator[str]:
    """Yield the names and descriptions of properties, also of those behind a local ``$ref``.

    ``resolved`` has the references that were followed: each is followed once, because schemas that
    refer to themselves several times would take for ever.
    """
    if not isinstance(schema, dict) or depth > MAX_SCHEMA_DEPTH:
        return
    match schema.get("$ref"):
        case str() as reference if reference.startswith("#/") and reference not in resolved:
            resolved.add(reference)
            target: Any = root
            for part in reference[2:].split("/"):
                target = target.get(part) if isinstance(target, dict) else None
            yield from _words_of_schema(target, root, depth + 1, resolved)
    properties = schema.get("properties")
    for name, value in (properties if isinstance(properties, dict) else {}).items():
        yield from words_of(name)
        if isinstance(value, dict) and isinstance(text := value.get("description"), str):
            yield from words_of(text)
        yield from _words_of_schema(value, root, depth + 1, resolved)
    yield from _words_of_schema(schema.get("items"), root, depth + 1, resolved)
