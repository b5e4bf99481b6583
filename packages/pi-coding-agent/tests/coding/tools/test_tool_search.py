"""How tools are ranked for a query."""

from __future__ import annotations

import pytest

from pi.agent.tools.define import make_tool
from pi.agent.tools.tool import AgentTool
from pi.ai.messages import Json
from pi.coding.tools.tool_search import best_tools, words_of


def a_tool(name: str, description: str = "Does something.", **properties: Json) -> AgentTool:
    params = {"type": "object", "properties": properties}
    return make_tool(name=name, description=description, params=params, run=lambda params, ctx: "")


def names(query: str, *tools: AgentTool, limit: int = 8) -> list[str]:
    return [tool.name for tool in best_tools(query, tools, limit)]


def test_words_of_the_name_count_more_than_those_of_the_description() -> None:
    mentioned = a_tool("close", "Closes an issue, and every issue that depends on the issue.")
    named = a_tool("list_issues", "Returns what is open.")
    assert names("issue", mentioned, named) == ["list_issues", "close"]


def test_an_exact_name_comes_first() -> None:
    assert names("sum issues", a_tool("list_issues"), a_tool("sum")) == ["sum", "list_issues"]


def test_a_tool_without_any_word_of_the_query_is_no_match() -> None:
    assert names("zebra", a_tool("list_issues"), a_tool("sum")) == []


def test_a_rare_word_decides() -> None:
    tools = [a_tool(f"get_{noun}") for noun in ("page", "user", "invoice")]
    assert names("get the invoice", *tools)[0] == "get_invoice"


def test_the_limit_keeps_the_best() -> None:
    tools = [a_tool(f"get_{number}", "Gets a page.") for number in range(9)]
    assert len(names("page", *tools, limit=3)) == 3


def test_names_and_descriptions_of_parameters_are_found() -> None:
    plain = a_tool("convert", currency={"type": "string", "description": "An ISO code"})
    assert names("currency", plain, a_tool("other")) == ["convert"]
    assert names("iso", plain, a_tool("other")) == ["convert"]


def test_parameters_behind_a_reference_are_found_also_circular_ones() -> None:
    node: Json = {"type": "object", "properties": {"child": {"$ref": "#/$defs/node"}, "colour": {}}}
    params = {
        "type": "object",
        "properties": {"root": {"$ref": "#/$defs/node"}},
        "$defs": {"node": node},
    }
    tree = make_tool(name="paint", description="Paints.", params=params, run=lambda p, ctx: "")
    assert names("colour", tree, a_tool("other")) == ["paint"]


def test_a_schema_that_refers_to_itself_many_times_is_read_once() -> None:
    fields = {f"colour{number}": {"$ref": "#/$defs/node"} for number in range(30)}
    params = {
        "type": "object",
        "properties": {"root": {"$ref": "#/$defs/node"}},
        "$defs": {"node": {"type": "object", "properties": fields}},
    }
    tree = make_tool(name="paint", description="Paints.", params=params, run=lambda p, ctx: "")
    assert names("colour", tree, a_tool("other")) == ["paint"]  # 30 ** 8 words if not


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("createIssue", ["create", "issue"]),
        ("list_pull-requests", ["list", "pull", "request"]),
        ("HTTPServer2", ["http", "server", "2"]),
        ("\u5929\u6c14", ["\u5929", "\u6c14"]),
        ("caf\u00e9", ["caf\u00e9"]),
    ],
)
def test_a_text_has_these_words(text: str, words: list[str]) -> None:
    assert [*words_of(text)] == words
