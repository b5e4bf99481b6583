"""ImagesModels: all image models, and requests to them."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Protocol

from pi.ai.errors import AuthenticationFailed, ProviderError
from pi.ai.images.formats import SHAPES, ImageHttpResponse, ImageModel, ImageRequest, ImageResult
from pi.ai.models.model import Model
from pi.ai.models.prices import priced
from pi.ai.provider import Provider
from pi.ai.request import Access, StreamOptions
from pi.base.clock import Clock
from pi.base.records import replace

if TYPE_CHECKING:
    from pi.ai.wire_support.exchange import Services


class Credentials(Protocol):
    """The part of ``Authenticator`` that requests for images need."""

    async def access(
        self, provider: Provider, model: Model | None, options: StreamOptions, services: Services
    ) -> Access | None:
        """Return the credentials for one request; ``None`` if there are none."""
        ...


class ImagesModels:
    """Image models, routed to their provider as ``Models`` does for chat."""

    def __init__(
        self,
        models: Iterable[ImageModel],
        providers: Iterable[Provider],
        *,
        auth: Credentials,
        clock: Clock,
        make_services: Callable[[], Services],
    ) -> None:
        self._models = tuple(models)
        self._providers = {provider.id: provider for provider in providers}
        self._auth = auth
        self._clock = clock
        self._make_services = make_services
        self._services: Services | None = None

    def get_models(self, provider: str | None = None) -> tuple[ImageModel, ...]:
        """Return all models, or those of one provider."""
        return tuple(model for model in self._models if provider in (None, model.provider))

    def get_model(self, provider: str, model_id: str) -> ImageModel | None:
        """Return the model of ``provider`` with exactly this id."""
        for model in self.get_models(provider):
            if model.id == model_id:
                return model
        return None

    async def generate(
        self, model: ImageModel, request: ImageRequest, options: StreamOptions | None = None
    ) -> ImageResult:
        """Return images, or a result with the error; only cancellation is raised."""
        empty = ImageResult(provider=model.provider, model=model.id, timestamp=self._clock.now_ms())
        try:
            answer = await self._ask(model, request, options or StreamOptions())
        except ProviderError as error:
            return replace(empty, stop_reason="error", error_message=error.message)
        return replace(
            empty,
            images=answer.images,
            text=answer.text,
            usage=priced(answer.usage, model.cost, charged=answer.charged),
        )

    async def close(self) -> None:
        """Close every connection that requests have left open."""
        if self._services is not None:
            await self._services.close()
            self._services = None

    async def _ask(
        self, model: ImageModel, request: ImageRequest, options: StreamOptions
    ) -> ImageHttpResponse:
        # Lazy: no HTTP client before the first request.
        from pi.ai.failures.classify import from_error_object, from_http, from_status
        from pi.ai.http.errors import HttpError
        from pi.ai.http.request import HttpRequest

        shape = SHAPES.get(model.api)
        provider = self._providers.get(model.provider)
        if shape is None or provider is None:
            raise ProviderError(f'Model "{model.provider}/{model.id}" cannot generate images.')
        if self._services is None:
            self._services = self._make_services()
        access = await self._auth.access(provider, None, options, self._services)
        if access is None or access.api_key is None:
            raise AuthenticationFailed(f"No API key for provider: {provider.id}")
        question = shape.encode(model, request)
        headers = {
            "Content-Type": question.content_type,
            **dict([shape.authorization(access.api_key)]),
            **(model.headers or {}),
            **access.headers,
        }
        base_url = (access.base_url or model.base_url).rstrip("/")
        try:
            response = await self._services.http.request(
                HttpRequest(
                    method="POST",
                    url=base_url + question.path,
                    headers=tuple(headers.items()),
                    body=question.body,
                )
            )
            if response.status != 200:
                raise from_status(response.status, response.headers, response.body, self._clock)
            body = response.json()
            if not isinstance(body, dict):
                body = {}
            if body.get("error"):
                raise from_error_object(body, clock=self._clock)
            return shape.decode(body)
        except HttpError as error:
            raise from_http(error) from error
