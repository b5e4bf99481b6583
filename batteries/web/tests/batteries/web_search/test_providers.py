"""The fourteen providers against loopback servers: golden requests, answers and failures."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from types import SimpleNamespace
from typing import Any

import pytest

from pi.ai.http.client import HttpClient
from pi.base.clock import SystemClock
from pi.base.records import replace
from pi.batteries.web_search.accounts import Accounts, explain
from pi.batteries.web_search.chain import Chain
from pi.batteries.web_search.providers import PROVIDERS
from pi.batteries.web_search.search import Account, Query, SearchFailed, SearchResponse, as_json
from pi.coding.extension_host.api.services import ExtensionHttp
from tests.batteries.web_search.samples import (
    BY_NAME,
    CALL,
    EXA_TEXT,
    KIMI_REQUEST,
    OTHER,
    PAGE,
    QUERY,
    SAMPLES,
)
from tests.batteries.web_search.samples import Sample as ProviderSample
from tests.batteries.web_search.search_server import Answer, SearchServer, search_server

each_provider = pytest.mark.parametrize("sample", SAMPLES, ids=lambda sample: sample.name)


@asynccontextmanager
async def chain(seconds: float = 5.0) -> AsyncIterator[Chain]:
    """The chain with the HTTP client of pi, without a session."""
    async with HttpClient(environ={}) as client:
        session: Any = SimpleNamespace(
            session=SimpleNamespace(http=lambda: client), is_loading=False
        )
        pi: Any = SimpleNamespace(http=ExtensionHttp(session), version="1.0")
        yield Chain(pi, Accounts(pi), seconds=seconds, clock=SystemClock())


async def search_with(
    name: str,
    *answers: Answer,
    account: Account | None = None,
    query: Query = QUERY,
    seconds: float = 5.0,
) -> tuple[SearchResponse, SearchServer]:
    async with search_server(*answers) as server, chain(seconds) as running:
        account = account or BY_NAME[name].account
        placed = replace(account, base_url=server.url)
        return await running.ask(PROVIDERS[name], placed, query), server


async def failure(name: str, *answers: Answer, **more: Any) -> SearchFailed:
    with pytest.raises(SearchFailed) as caught:
        await search_with(name, *answers, **more)
    return caught.value


def test_every_provider_has_a_sample_in_the_default_order() -> None:
    assert [sample.name for sample in SAMPLES] == list(PROVIDERS)


@each_provider
async def test_each_provider_sends_its_request_and_parses_its_response(
    sample: ProviderSample,
) -> None:
    response, server = await search_with(sample.name, sample.answer)

    (request,) = server.requests
    expected = dict(sample.request)
    headers = expected.pop("headers")
    assert {name: request[name] for name in expected} == expected
    assert ("body" in request) == ("body" in expected)
    assert {name: request["headers"].get(name) for name in headers} == headers
    assert [source.url for source in response.sources] == sample.sources
    assert response.answer == sample.text
    assert as_json(response).items() >= sample.details.items()


@each_provider
async def test_an_answer_without_results_is_a_failure(sample: ProviderSample) -> None:
    error = await failure(sample.name, sample.empty)

    assert error.message == f"{PROVIDERS[sample.name].label} found nothing."


@each_provider
async def test_a_refused_key_is_explained(sample: ProviderSample) -> None:
    answer = Answer(status=401, body={"error": {"message": "bad key"}})
    error = await failure(sample.name, answer)

    label = PROVIDERS[sample.name].label
    assert error.status == 401
    if sample.name == "zai":
        assert explain(error, label) == "Z.AI API error (401): bad key."
    else:
        assert explain(error, label).startswith(f"{label} authorization failed (401)")


@each_provider
async def test_a_rate_limit_names_the_time_to_wait(sample: ProviderSample) -> None:
    answer = Answer(status=429, headers={"Retry-After": "90"}, body={"message": "slow down"})
    error = await failure(sample.name, answer)

    label = PROVIDERS[sample.name].label
    assert (error.status, error.retry_after) == (429, 90)
    assert error.message == f"{label} API error (429): slow down. Retry after 90 s."


@each_provider
async def test_a_server_error_is_a_failure(sample: ProviderSample) -> None:
    answer = Answer(status=503, headers={"Retry-After": "90"}, body=b"<html>down</html>")
    error = await failure(sample.name, answer)

    assert error.status == 503
    assert "API error (503)" in error.message


@each_provider
@pytest.mark.parametrize(
    "body", [b"{not json", b"[]", b'"text"', b"null", b'{"results": 5, "data": 5, "content": 5}']
)
async def test_a_malformed_answer_is_a_failure(sample: ProviderSample, body: bytes) -> None:
    error = await failure(sample.name, Answer(body=body))

    assert error.provider == sample.name


@each_provider
async def test_a_server_that_does_not_respond_times_out(
    sample: ProviderSample,
) -> None:
    error = await failure(sample.name, Answer(hangs=True), seconds=0.05)

    assert error.message == f"{PROVIDERS[sample.name].label} did not answer within 0.05 s."


@each_provider
async def test_a_connection_that_ends_too_early_is_a_failure(sample: ProviderSample) -> None:
    error = await failure(sample.name, replace_answer(sample.answer, cuts=True))

    assert "could not be asked" in error.message


@pytest.mark.parametrize("name", [sample.name for sample in SAMPLES if sample.streams])
async def test_a_stream_without_its_end_is_a_failure(name: str) -> None:
    events = list(BY_NAME[name].answer.events or ())[:1]
    answer = Answer(events=[] if name == "zai" else events)
    error = await failure(name, answer)

    assert "ended too early" in error.message or "without" in error.message


def replace_answer(answer: Answer, **changes: Any) -> Answer:
    return Answer(**{**vars(answer), **changes})


# What single providers do -------------------------------------------------------------------------


async def test_gemini_is_retried_after_a_short_rate_limit() -> None:
    limited = Answer(status=429, body={"error": {"details": [{"retryDelay": "0.01s"}]}})
    happy = BY_NAME["gemini"].answer
    response, server = await search_with("gemini", limited, limited, limited, happy)

    assert response.answer == "Use timeout."
    assert len(server.requests) == 4


async def test_gemini_is_called_at_most_four_times() -> None:
    limited = Answer(status=500, headers={"Retry-After": "0"}, body={})
    async with search_server(limited) as server, chain() as running:
        with pytest.raises(SearchFailed):
            await running.ask(PROVIDERS["gemini"], Account(key="k", base_url=server.url), QUERY)
        assert len(server.requests) == 4


@pytest.mark.parametrize(
    "refused",
    [
        {"error": {"code": -32602, "message": "nope"}},
        {"error": {"code": 1, "message": "search_query is required"}},
        {"result": {"isError": True, "content": [{"text": "Invalid arguments for tool"}]}},
    ],
)
async def test_zai_is_retried_with_other_arguments_after_an_argument_error(
    refused: dict[str, Any],
) -> None:
    happy = BY_NAME["zai"].answer
    _, server = await search_with("zai", Answer(body=refused), Answer(body=refused), happy)

    arguments = [request["body"]["params"]["arguments"] for request in server.requests]
    assert [sorted(argument) for argument in arguments] == [
        ["count", "query"],
        ["count", "search_query"],
        ["count", "search_engine", "search_query"],
    ]


KIMI_SEARCH = {
    "role": "assistant",
    "content": "",
    "tool_calls": [
        {
            "id": "t-1",
            "type": "builtin_function",
            "function": {"name": "$web_search", "arguments": '{"opaque": "\\u00fc"}'},
        }
    ],
}


async def test_kimi_receives_its_own_search_results() -> None:
    searching = Answer(body={"choices": [{"finish_reason": "tool_calls", "message": KIMI_SEARCH}]})
    response, server = await search_with("kimi", searching, searching, BY_NAME["kimi"].answer)

    result = {
        "role": "tool",
        "tool_call_id": "t-1",
        "name": "$web_search",
        "content": '{"opaque": "\\u00fc"}',
    }
    first, second, third = (request["body"] for request in server.requests)
    assert first == KIMI_REQUEST
    round_trip = [KIMI_SEARCH, result]
    assert second == {**first, "messages": [*first["messages"], *round_trip]}
    assert third == {**first, "messages": [*second["messages"], *round_trip]}
    assert [source.url for source in response.sources] == [PAGE]


async def test_kimi_is_called_without_tools_after_five_searches() -> None:
    searching = Answer(body={"choices": [{"finish_reason": "tool_calls", "message": KIMI_SEARCH}]})
    async with search_server(searching) as server, chain() as running:
        with pytest.raises(SearchFailed, match="found nothing"):
            await running.ask(PROVIDERS["kimi"], Account(key="k", base_url=server.url), QUERY)

    assert ["tools" in request["body"] for request in server.requests] == [True] * 5 + [False]


async def test_zai_is_not_retried_after_other_errors() -> None:
    refused = Answer(body={"error": {"code": -1, "message": "quota used up"}})
    error = await failure("zai", refused, BY_NAME["zai"].answer)

    assert error.message == "zai refused the search: quota used up"


async def test_exa_without_a_key_calls_its_public_tool() -> None:
    answer = Answer(events=[{"id": 1, "result": {"content": [{"text": EXA_TEXT}]}}])
    anonymous = Account(kind="anonymous")
    response, server = await search_with("exa", answer, account=anonymous)

    assert server.requests[0]["path"] == "/mcp"
    arguments = {"query": QUERY.query, "numResults": 10}
    called = {"params": {"name": "web_search_exa", "arguments": arguments}}
    assert server.requests[0]["body"] == CALL | called
    assert [source.url for source in response.sources] == [PAGE, OTHER]
    assert response.sources[0].snippet == "Use asyncio.timeout.\nIt cancels the task."
    assert response.sources[0].author == ""


@pytest.mark.parametrize(
    ("account", "header", "mode"),
    [
        (Account(key="a=b", kind="cookie"), ("cookie", "a=b"), "oauth"),
        (Account(key="tok", kind="oauth"), ("authorization", "Bearer tok"), "oauth"),
        (Account(kind="anonymous"), ("authorization", None), "anonymous"),
    ],
)
async def test_perplexity_without_an_api_key_uses_the_endpoint_of_its_page(
    account: Account, header: tuple[str, str | None], mode: str
) -> None:
    first = {"blocks": [{"intended_usage": "ask_text", "markdown_block": {"chunks": ["Use"]}}]}
    final_event = {
        "uuid": "u-1",
        "final": True,
        "blocks": [
            {"intended_usage": "ask_text", "markdown_block": {"answer": "Use timeout."}},
            {
                "intended_usage": "web_results",
                "web_result_block": {"web_results": [{"name": "Timeouts", "url": PAGE}]},
            },
        ],
    }
    response, server = await search_with(
        "perplexity", Answer(events=[first, final_event]), account=account
    )

    assert server.requests[0]["path"] == "/rest/sse/perplexity_ask"
    assert server.requests[0]["headers"].get(header[0]) == header[1]
    assert server.requests[0]["body"]["query_str"] == QUERY.query
    assert (response.answer, response.auth_mode) == ("Use timeout.", mode)
    assert [source.url for source in response.sources] == [PAGE]


async def test_an_error_event_of_perplexity_is_a_failure() -> None:
    answer = Answer(events=[{"error_code": "LIMIT", "error_message": "too many questions"}])
    error = await failure("perplexity", answer, account=Account(kind="anonymous"))

    assert error.message == "Perplexity could not search: too many questions."


async def test_codex_without_annotations_uses_the_links_in_its_text() -> None:
    text = f"See [Timeouts]({PAGE}) and {OTHER}."
    item = {"content": [{"type": "output_text", "text": text}]}
    events = [
        {"type": "response.output_item.done", "item": item},
        {"type": "response.completed", "response": {}},
    ]
    response, _ = await search_with("codex", Answer(events=events))

    assert [(source.title, source.url) for source in response.sources] == [
        ("Timeouts", PAGE),
        (OTHER, OTHER),
    ]


@pytest.mark.parametrize(
    ("name", "limit", "field", "sent"),
    [
        ("tavily", 1, "max_results", 5),
        ("tavily", 99, "max_results", 20),
        ("parallel", 99, "max_results", 40),
        ("kagi", 99, "limit", 40),
        ("exa", 3, "numResults", 3),
    ],
)
def test_counts_are_held_to_the_limits_of_the_provider(
    name: str, limit: int, field: str, sent: int
) -> None:
    query = Query(query="x", limit=limit)
    (call, *_) = PROVIDERS[name].calls(query, Account(key="k"))

    assert call.body[field] == sent


def test_perplexity_sends_the_number_of_search_results_instead_of_the_limit() -> None:
    query = Query(query="x", limit=2, num_search_results=7, max_tokens=10, temperature=0.0)
    (call,) = PROVIDERS["perplexity"].calls(query, Account(key="k"))

    sent = {name: call.body[name] for name in ("num_search_results", "max_tokens", "temperature")}
    assert sent == {"num_search_results": 7, "max_tokens": 10, "temperature": 0.0}


@pytest.mark.parametrize("name", ["anthropic", "gemini"])
def test_max_tokens_and_temperature_are_sent_to_models(name: str) -> None:
    query = Query(query="x", max_tokens=10, temperature=0.5)
    (call,) = PROVIDERS[name].calls(query, Account(key="k"))

    parameters = call.body if name == "anthropic" else call.body["generationConfig"]
    assert (
        parameters.get("max_tokens") or parameters["maxOutputTokens"],
        parameters["temperature"],
    ) == (10, 0.5)


def test_an_oauth_login_of_anthropic_is_sent_as_bearer_token() -> None:
    (call,) = PROVIDERS["anthropic"].calls(Query(query="x"), Account(key="t", kind="oauth"))

    assert call.headers["Authorization"] == "Bearer t"
    assert call.headers["anthropic-beta"] == "oauth-2025-04-20"
    assert "x-api-key" not in call.headers
