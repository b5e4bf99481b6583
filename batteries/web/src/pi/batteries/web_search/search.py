"""Records of queries and answers. Pure."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Literal, TypeAlias

from pi.extension import PiError, Record, field

Recency: TypeAlias = Literal["day", "week", "month", "year"]
MAX_ERROR = 300
"""Maximum of characters of a server's error text in a message."""


class Query(Record):
    """A search query and its options."""

    query: str
    recency: Recency | None = None
    limit: int | None = None
    max_tokens: int | None = None
    temperature: float | None = None
    num_search_results: int | None = None
    today: str = "1970-01-01"
    """The date in UTC, for providers that filter by date."""

    def count(self, default: int, most: int, least: int = 1) -> int:
        """The number of results to request."""
        result_count = self.result_count
        return default if result_count is None else min(max(result_count, least), most)

    @property
    def result_count(self) -> int | None:
        """The requested number of results; most providers have only one such parameter."""
        return self.limit if self.num_search_results is None else self.num_search_results


class Source(Record):
    """A page that was found."""

    title: str
    url: str
    snippet: str = ""
    published: str = ""
    """As the provider writes it, mostly ISO 8601."""
    author: str = ""


class Citation(Record):
    """A passage that an answer cites."""

    url: str
    title: str = ""
    text: str = ""


class SearchResponse(Record):
    """The answer of a provider, in a common format."""

    provider: str
    answer: str = ""
    sources: tuple[Source, ...] = ()
    citations: tuple[Citation, ...] = ()
    related_questions: tuple[str, ...] = ()
    search_queries: tuple[str, ...] = ()
    usage: dict[str, int] = field(default_factory=dict)
    model: str = ""
    request_id: str = ""
    auth_mode: str = ""

    @property
    def is_empty(self) -> bool:
        """Whether it has no answer, sources or citations."""
        return not (self.answer.strip() or self.sources or self.citations)


class Account(Record):
    """Credentials and configuration of a provider for one search."""

    key: str = ""
    kind: Literal["api_key", "oauth", "cookie", "basic", "anonymous"] = "api_key"
    base_url: str = ""
    """Replaces the address of the provider."""
    options: dict[str, str] = field(default_factory=dict)
    """Options of single providers: a model, an account, categories."""
    headers: dict[str, str] = field(default_factory=dict)
    """Added to every request."""


class SearchCall(Record):
    """An HTTP request of a provider."""

    url: str
    method: Literal["GET", "POST"] = "POST"
    headers: dict[str, str] = field(default_factory=dict)
    body: Any = None
    """JSON; ``None`` for no body."""


class SearchReply(Record):
    """The response of a provider: its body as JSON, or its server-sent events as JSON."""

    body: Any = None
    events: tuple[Any, ...] = ()
    headers: dict[str, str] = field(default_factory=dict)


class Provider(Record):
    """A provider: pure functions that build its requests and parse its answers."""

    name: str
    label: str
    calls: Callable[[Query, Account], Sequence[SearchCall]]
    """The requests to try in order; the next one only after ``ArgumentsRefused``."""
    parse: Callable[[SearchReply, Query, Account], SearchResponse]
    follow: Callable[[SearchCall, SearchReply], SearchCall | None] | None = None
    """The next request after a reply; ``None`` if the reply is the answer."""
    retries: int = 0
    """Retries after status 429 or 5xx, within the time of the provider."""


class SearchFailed(PiError):
    """A search with one provider failed."""

    def __init__(
        self,
        provider: str,
        message: str,
        *,
        status: int | None = None,
        retry_after: float | None = None,
    ) -> None:
        super().__init__(message)
        self.provider = provider
        self.status = status
        self.retry_after = retry_after
        """Seconds to wait, if the server names them."""


class ArgumentsRefused(SearchFailed):
    """A remote tool did not accept the form of its arguments."""


def as_json(response: SearchResponse) -> dict[str, Any]:
    """The response for ``details``: empty fields are left out."""
    values: dict[str, Any] = {
        "provider": response.provider,
        "answer": response.answer,
        "citations": [
            _without_empty(url=c.url, title=c.title, text=c.text) for c in response.citations
        ],
        "relatedQuestions": list(response.related_questions),
        "searchQueries": list(response.search_queries),
        "usage": response.usage,
        "model": response.model,
        "requestId": response.request_id,
        "authMode": response.auth_mode,
    }
    sources = [
        _without_empty(
            title=source.title,
            url=source.url,
            snippet=source.snippet,
            publishedDate=source.published,
            author=source.author,
        )
        for source in response.sources
    ]
    return {**_without_empty(**values), "sources": sources}


def _without_empty(**values: Any) -> dict[str, Any]:
    return {name: value for name, value in values.items() if value}


# Accounts -----------------------------------------------------------------------------------------
