from __future__ import annotations

from pi.ai.auth.resolve import MissingCredentials
from pi.ai.collection import Models
from pi.ai.errors import AuthenticationFailed, ProviderUnavailable
from pi.ai.http.client import HttpClient
from pi.ai.messages import AssistantMessage, Context, Text, Usage, UserMessage
from pi.ai.models.model import Model
from pi.ai.provider import Provider
from pi.ai.providers.faux import FAUX, FAUX_MODEL, FauxProvider, says
from pi.ai.request import Access, StreamOptions
from pi.ai.wire_support.exchange import Services
from pi.base.records import replace
from pi.base.testing import FakeClock

OTHER = Provider(id="other", name="Other", key_variables=("OTHER_KEY",), login="other")
HELLO = Context(messages=(UserMessage(content="hello"),))


class Doors:
    """Credentials for the named providers."""

    def __init__(self, *open_doors: str) -> None:
        self.open_doors = open_doors

    async def access(
        self, provider: Provider, model: Model | None, options: StreamOptions, services: Services
    ) -> Access | None:
        if provider.id == "expired":
            raise AuthenticationFailed("The login has expired.")
        return Access(api_key="k") if self.is_configured(provider) else None

    def is_configured(self, provider: Provider) -> bool:
        return provider.id in self.open_doors

    def missing(self, provider: Provider) -> MissingCredentials:
        return MissingCredentials(advice=f"Open {provider.id}.")


def collection(*providers: FauxProvider, doors: Doors | None = None) -> Models:
    clock = FakeClock()
    return Models(
        providers,
        auth=doors or Doors("faux"),
        clock=clock,
        make_services=lambda: Services(http=HttpClient(environ={}), clock=clock, environ={}),
    )


async def test_a_request_is_sent_to_the_provider_of_the_model() -> None:
    asked, idle = FauxProvider(says("hi")), FauxProvider(row=OTHER, models=())
    models = collection(idle, asked)

    message = await models.complete(FAUX_MODEL, HELLO)

    assert (message.text, message.provider, message.stop_reason) == ("hi", "faux", "stop")
    assert [call.messages for call in asked.requests] == [HELLO.messages]
    assert asked.requests[0].access == Access(api_key="k")
    assert idle.requests == []


def test_lookups_return_the_known_models_and_providers() -> None:
    models = collection(FauxProvider())

    assert models.get_models() == models.get_models("faux") == (FAUX_MODEL,)
    assert models.get_model("faux", "faux") == FAUX_MODEL
    assert models.get_model("faux", "nope") is None
    assert models.get_models("unknown") == ()
    assert models.get_providers() == (FAUX,)
    assert models.is_available("faux")
    assert not models.is_available("unknown")


def test_providers_can_be_registered_and_unregistered() -> None:
    models = collection(FauxProvider())
    models.register(FauxProvider(row=OTHER, models=(replace(FAUX_MODEL, provider="other"),)))
    assert [row.id for row in models.get_providers()] == ["faux", "other"]

    models.unregister("faux")
    models.unregister("faux")

    assert [model.provider for model in models.get_models()] == ["other"]


def test_providers_can_be_adopted_from_another_collection_with_its_credentials() -> None:
    old, new = FauxProvider(row=OTHER, models=()), FauxProvider(row=OTHER, models=())
    added = FauxProvider(row=replace(OTHER, id="added"), models=())
    models = collection(FauxProvider(), old, doors=Doors("faux"))

    models.adopt(collection(new, added, doors=Doors("other", "added")), ["other", "added"])
    assert [models.get_provider(name) for name in ("other", "added")] == [new, added]
    assert [models.is_available(name) for name in ("faux", "other")] == [False, True]

    models.adopt(collection(new), ["added"])
    assert models.get_provider("added") is None
    assert models.get_provider("faux") is not None, "it was not named"


def test_a_registered_provider_is_not_replaced_by_an_adopted_one() -> None:
    mine = FauxProvider(row=OTHER, models=())
    models = collection(FauxProvider(row=OTHER, models=()))
    models.register(mine)

    models.adopt(collection(FauxProvider(row=OTHER, models=())), ["other"])
    models.adopt(collection(), ["other"])

    assert models.get_provider("other") is mine


async def test_a_stream_without_credentials_ends_with_an_error_and_a_hint() -> None:
    models = collection(FauxProvider(row=OTHER, models=()))
    stream = models.stream(replace(FAUX_MODEL, provider="other"), HELLO)

    message = await stream.result()

    assert message.error_message == "No API key for provider: other"
    assert isinstance(stream.failure, AuthenticationFailed)
    assert stream.failure.hint == "Open other."


async def test_an_unknown_provider_is_an_error_in_the_stream() -> None:
    message = await collection().complete(replace(FAUX_MODEL, provider="gone"), HELLO)

    assert message.error_message == 'No provider is called "gone".'


async def test_stream_simple_clamps_the_thinking_level_and_max_tokens() -> None:
    provider = FauxProvider(says("a"), says("b"), says("c"))
    models = collection(provider)
    small = replace(FAUX_MODEL, reasoning=False, context_window=10_000, max_tokens=9_000)

    await models.stream_simple(small, HELLO, StreamOptions(reasoning="high")).result()
    await models.stream_simple(small, HELLO, StreamOptions(max_tokens=50)).result()
    await models.stream(small, HELLO, StreamOptions(reasoning="high")).result()

    assert [(call.options.reasoning, call.options.max_tokens) for call in provider.requests] == [
        ("off", 10_000 - 4096 - 2),
        ("off", 50),
        ("high", None),
    ]


async def test_the_cost_of_an_answer_is_calculated_from_the_prices_of_its_model() -> None:
    usage = AssistantMessage(usage=Usage(input=1_000_000)).usage
    dear = replace(FAUX_MODEL, cost=replace(FAUX_MODEL.cost, input=3))
    provider = FauxProvider(replace(says("x"), usage=usage), models=(dear,))

    message = await collection(provider).complete(dear, HELLO)

    assert message.usage.cost.total == 3.0
    assert message.content == (Text(text="x"),)


class Listing(FauxProvider):
    """A provider whose model list changes or fails to load."""

    def __init__(self, row: Provider, found: tuple[Model, ...] | Exception) -> None:
        super().__init__(row=row, models=())
        self._found = found

    async def refresh(self, services: Services, access: Access | None) -> None:
        if isinstance(self._found, Exception):
            raise self._found
        self._models = self._found


async def test_refresh_updates_every_provider_and_returns_the_failures() -> None:
    down = ProviderUnavailable("down")
    models = collection(Listing(FAUX, (FAUX_MODEL,)), Listing(OTHER, down))
    assert models.get_models() == ()

    problems = await models.refresh()

    assert models.get_models() == (FAUX_MODEL,)
    assert problems == {"other": down}
    await models.close()


async def test_a_provider_with_a_bug_does_not_stop_the_others_from_refreshing() -> None:
    models = collection(Listing(FAUX, (FAUX_MODEL,)), Listing(OTHER, KeyError("id")))

    problems = await models.refresh()

    assert models.get_models() == (FAUX_MODEL,)
    assert [str(problem) for problem in problems.values()] == [
        "Other could not list its models: KeyError('id')"
    ]
    await models.close()


async def test_expired_credentials_do_not_stop_the_others_from_refreshing() -> None:
    expired = replace(OTHER, id="expired")
    models = collection(Listing(FAUX, (FAUX_MODEL,)), Listing(expired, ()))

    problems = await models.refresh()

    assert [str(problem) for problem in problems.values()] == ["The login has expired."]
    assert models.get_models() == (FAUX_MODEL,)
    await models.close()
