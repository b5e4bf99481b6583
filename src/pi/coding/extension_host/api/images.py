"""Image generation for extensions, with the credentials and the HTTP client of the session."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pi.ai.provider import Provider
from pi.ai.request import Access, StreamOptions
from pi.base.records import replace

if TYPE_CHECKING:
    from pi.ai.images.collection import ImagesModels
    from pi.ai.images.formats import ImageModel, ImageRequest, ImageResult
    from pi.ai.models.model import Model
    from pi.ai.wire_support.exchange import Services
    from pi.coding.extension_host.api.auth import ExtensionAuth
    from pi.coding.extension_host.scope import SessionLink


class ExtensionImages:
    """Image models, and requests to them."""

    def __init__(self, link: SessionLink, auth: ExtensionAuth) -> None:
        self._link = link
        self._auth = auth
        self._made: ImagesModels | None = None

    async def available(self) -> tuple[ImageModel, ...]:
        """Every image model whose provider has credentials."""
        models = self._models.get_models()
        providers = dict.fromkeys(model.provider for model in models)
        usable = {name for name in providers if await self._auth.access(name) is not None}
        return tuple(self._placed(model) for model in models if model.provider in usable)

    def _placed(self, model: ImageModel) -> ImageModel:
        """The model where the user asks its provider: a key of a gateway must not go elsewhere."""
        known = self._link.session.models.registry.get_all()
        urls = (chat.base_url for chat in known if chat.provider == model.provider)
        return replace(model, base_url=next(urls, "") or model.base_url)

    async def generate(self, model: ImageModel, request: ImageRequest) -> ImageResult:
        """Make pictures, or change those of the request; failures are in ``error_message``."""
        return await self._models.generate(model, request)

    @property
    def _models(self) -> ImagesModels:
        if self._made is None:
            # Deferred: few sessions make pictures.
            from pi.ai.images.collection import IMAGE_MODELS, ImagesModels
            from pi.ai.providers.rows import BUILT_IN

            self._made = ImagesModels(
                IMAGE_MODELS,
                BUILT_IN,
                auth=_SessionCredentials(self._auth),
                clock=self._link.scope.clock,
                make_services=self._services,
            )
        return self._made

    def _services(self) -> Services:
        """The client belongs to the session, so the collection is never closed."""
        from pi.ai.wire_support.exchange import Services

        session = self._link.session
        environ = session.workspace.environ
        return Services(http=session.http(), clock=self._link.scope.clock, environ=environ)


class _SessionCredentials:
    """Credentials as extensions see them: their sources, the store, the environment."""

    def __init__(self, auth: ExtensionAuth) -> None:
        self._auth = auth

    async def access(
        self, provider: Provider, model: Model | None, options: StreamOptions, services: Services
    ) -> Access | None:
        """The credentials for one request."""
        return await self._auth.access(provider.id)
