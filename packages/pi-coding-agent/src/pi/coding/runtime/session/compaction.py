"""Connects compaction to a session: settings, strategies, summary requests, manual compaction."""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Iterator, Mapping, Sequence
from functools import cache, partial
from typing import TYPE_CHECKING, Any, Literal, Protocol

from msgspec import UNSET

from pi.agent.compaction.errors import CompactionFailed
from pi.agent.conversation import prompt_text
from pi.ai.json_text import json_bytes
from pi.ai.messages import AssistantMessage, Context, Json, Message
from pi.ai.models.model import Model
from pi.ai.request import StreamOptions
from pi.base.errors import PiError
from pi.base.records import replace
from pi.base.terminal_text import one_line
from pi.coding.compaction.automatic import Compactor
from pi.coding.compaction.options import (
    BUILT_IN_STRATEGIES,
    STRATEGY_TEXTS,
    CompactionOptions,
    unknown_strategy,
)
from pi.coding.compaction.request import CompactionRequest
from pi.coding.extension_host.dormant import ExtensionContributions
from pi.coding.extension_host.events.session import SessionStartEvent
from pi.coding.models.registry import full_name, writes_texts
from pi.coding.retry import (
    Attempt,
    RetrySettings,
    SummarizationRetryAttemptStart,
    exceeds_delay_limit,
    with_retries,
)
from pi.coding.runtime.live import LiveSession
from pi.coding.runtime.models import ModelClient
from pi.coding.runtime.session.prompts import PromptRunner
from pi.coding.session.conversation import SessionConversation
from pi.coding.session.entries import Entry

if TYPE_CHECKING:
    from pi.agent.compaction.summarise import Ask, SummaryRequest
    from pi.ai.http.client import HttpClient
    from pi.coding.compaction.events import CompactionReason, CompactionResult
    from pi.coding.compaction.execution import CompactionPreview
    from pi.coding.compaction.remote import RemoteCompaction
    from pi.coding.compaction.strategies import Strategy


MAX_REMOTE_ANSWER = 4 * 1024 * 1024
"""Most bytes of a summary from ``compaction.remoteEndpoint``."""
LONG_DELAY_MS = 10_000
"""Longest retry delay if another model is available for the summary."""


class Summaries:
    """Summary requests with the session's thinking level, credentials and retries.

    The requests are not part of the conversation; each purpose has its own session id for caches.
    """

    def __init__(self, core: LiveSession, client: ModelClient) -> None:
        self._core = core
        self._client = client

    def ask(
        self,
        model: Model,
        source: Literal["compaction", "branchSummary"],
        reason: str = "",
        *,
        is_last: bool = True,
    ) -> Ask:
        """Return a function that sends requests to ``model``.

        Retry events have ``source`` and ``reason``. Unless ``is_last``, another model is available,
        and the function fails instead of waiting for a long retry delay.
        """
        start_event = SummarizationRetryAttemptStart(source=source, reason=reason or UNSET)

        async def send(request: SummaryRequest) -> AssistantMessage:
            if not writes_texts(model):
                raise CompactionFailed(
                    "summary_failed",
                    f"{full_name(model)} cannot write summaries.",
                    hint="Choose another model, or name one in compaction.fallbackModels.",
                )
            options = StreamOptions(
                reasoning=self._core.agent.thinking_level,
                max_tokens=request.max_tokens,
                session_id=f"{self._core.log.header.id}-{request.purpose}",
            )

            async def once() -> Attempt:
                answer = self._client.stream(model, request.context, options, purpose="summary")
                message = await answer.result()
                return Attempt(answer=message, failure=answer.failure)

            settings = retry_settings(self._core)
            if not is_last:
                longest = min(settings.max_agent_delay_ms, LONG_DELAY_MS)
                settings = replace(settings, max_agent_delay_ms=longest)
            attempt = await with_retries(
                once,
                settings,
                start_event=start_event,
                emit=self._core.agent.emit,
                clock=self._core.machine.clock,
            )
            if exceeds_delay_limit(attempt.failure, settings):
                # Raised here: the caller would repeat the request at once, as after a bad summary.
                why = attempt.answer.error_message or "rate limited"
                raise CompactionFailed("summary_failed", f"The summary failed: {why}")
            return attempt.answer

        return send

    async def compact(self, model: Model, messages: Sequence[Message]) -> AssistantMessage:
        """Return the answer of the provider's own compaction of ``messages``."""
        session_id = f"{self._core.log.header.id}-compaction"
        options = StreamOptions(compact=True, session_id=session_id)
        prompt = prompt_text(self._core.agent.system_prompt)
        context = Context(system_prompt=prompt, messages=tuple(messages))
        answer = self._client.stream(model, context, options, purpose="summary")
        return await answer.result()


def retry_settings(core: LiveSession) -> RetrySettings:
    """Return the current retry settings."""
    return core.workspace.settings.section(("retry",), RetrySettings)


class Strategies(Mapping[str, "Strategy"]):
    """Built-in strategies and those of extensions; the latter take precedence."""

    def __init__(self, contributions: ExtensionContributions) -> None:
        self._contributions = contributions

    def __getitem__(self, name: str) -> Strategy:
        return self._contributions.strategies().get(name) or _own()[name]

    def __iter__(self) -> Iterator[str]:
        return iter({**_own(), **self._contributions.strategies()})

    def __len__(self) -> int:
        return len(list(iter(self)))


@cache
def _own() -> Mapping[str, Strategy]:
    """Return the built-in strategies. Deferred import: most sessions never compact."""
    from pi.coding.compaction.strategies import ShakeStrategy, SummaryStrategy

    return {"context-full": SummaryStrategy(), "shake": ShakeStrategy()}


class QueueHandOff(Protocol):
    """Queues the move to a new session that begins with a document."""

    async def __call__(self, document: str, /, *, go_on: bool, details: Json | None) -> None:
        """Queue the move for the end of the run."""
        ...


class LiveCompaction:
    """Implements ``CompactionSession`` for a live session."""

    def __init__(
        self,
        core: LiveSession,
        summaries: Summaries,
        hand_off: QueueHandOff,
        *,
        load_strategy: Callable[[str], Coroutine[Any, Any, None]],
        http: Callable[[], HttpClient],
        redact: Callable[[str], str],
    ) -> None:
        self._core = core
        self._summaries = summaries
        self._http = http
        self._redact = redact
        self.hand_off = hand_off
        self.load_strategy = load_strategy
        self.bus = core.bus
        self.agent = core.agent
        self.clock = core.machine.clock
        self.strategies = Strategies(core.extensions)
        self.add = core.append_entry
        self.emit = core.agent.emit

    def conversation(self) -> SessionConversation:
        """Return the current conversation."""
        return self._core.conversation

    def options(self) -> CompactionOptions:
        """Return the current settings."""
        return compaction_options(self._core)

    def fallbacks(self) -> Sequence[Model]:
        """Return the models to use when the session's own model returns no summary."""
        names = self.options().fallback_models
        resolved = (self._core.registry.resolve(name) for name in names)
        return [choice.model for choice in resolved if choice is not None]

    def ask(self, model: Model, reason: CompactionReason, *, is_last: bool) -> Ask:
        """Return a function that sends summary requests; see ``Summaries.ask``."""
        return self._summaries.ask(model, "compaction", reason, is_last=is_last)

    def remote(self) -> RemoteCompaction | None:
        """Return the remote compaction; ``None`` if the settings disable it."""
        options, model = self.options(), self.agent.model
        if not options.remote_enabled:
            return None
        # Deferred: few users enable it.
        from pi.coding.compaction.remote import (
            NATIVE_APIS,
            NATIVE_PROVIDERS,
            RemoteCompaction,
        )

        # A project must not choose where conversations are sent.
        url = self._core.workspace.settings.without_project(("compaction", "remoteEndpoint"))
        native = model.provider in NATIVE_PROVIDERS and model.api in NATIVE_APIS
        return RemoteCompaction(
            model,
            post=partial(self._post, url) if isinstance(url, str) and url else None,
            compact=partial(self._summaries.compact, model) if native else None,
        )

    async def _post(self, url: str, body: Json) -> bytes:
        """Send a summary request to the user's own server and return the body of the response.

        Model wraps do not apply to this request, so secrets are redacted here. Raises ``PiError``.
        """
        from pi.ai.http.errors import HttpError
        from pi.ai.http.request import HttpRequest

        clean = {name: self._redact(text) for name, text in body.items()}
        request = HttpRequest(
            method="POST",
            url=url,
            headers=(("content-type", "application/json"), ("accept", "application/json")),
            body=json_bytes(clean),
        )
        try:
            answer = await self._http().request(request, limit=MAX_REMOTE_ANSWER)
        except HttpError as error:
            raise PiError(f"{url} cannot be reached: {error}") from error
        if not 200 <= answer.status < 300:
            raise PiError(f"{url} answered with status {answer.status}")
        return answer.body


class StrategyCheck:
    """Reports an unknown ``compaction.strategy``, once for each name."""

    def __init__(self, core: LiveSession) -> None:
        self._core = core
        self._reported = ""

    def check(self, event: SessionStartEvent) -> None:
        """Check the current setting; extensions must be loaded."""
        options, extensions = compaction_options(self._core), self._core.extensions
        warning = ""
        if options.strategy not in BUILT_IN_STRATEGIES:
            strategies = (*extensions.declared_strategies(), *extensions.strategies())
            warning = unknown_strategy(options, strategies)
        if warning and warning != self._reported:
            self._core.machine.report(f"Warning: {warning}")
        self._reported = warning


def compaction_options(core: LiveSession) -> CompactionOptions:
    """Return the current compaction settings."""
    return core.workspace.settings.section(("compaction",), CompactionOptions)


class CompactionControl:
    """Compaction for modes."""

    def __init__(
        self,
        core: LiveSession,
        compactor: Compactor,
        prompts: PromptRunner,
        live_compaction: LiveCompaction,
    ) -> None:
        self._core = core
        self._compactor = compactor
        self._prompts = prompts
        self._live_compaction = live_compaction
        self.abort = compactor.abort

    @property
    def busy(self) -> bool:
        """Whether a compaction is running."""
        return self._compactor.busy

    @property
    def automatic(self) -> bool:
        """Whether automatic compaction is on."""
        return compaction_options(self._core).enabled

    async def compact(self, instructions: str = "", *, strategy: str = "") -> CompactionResult:
        """Compact now. Aborts the current run; prompts wait until the compaction has ended.

        Raises ``CompactionFailed`` if nothing could be compacted, ``PiError`` for an unknown
        strategy.
        """
        self._core.require_local("compact it")
        self._require_known(strategy)
        request = CompactionRequest(reason="manual", instructions=instructions, strategy=strategy)
        try:
            with self._prompts.gate.closed():
                self._core.agent.abort()
                await self._core.agent.wait_for_idle()
                return await self._compactor.compact(request)
        finally:
            await self._prompts.resume()

    async def preview(self, instructions: str = "", *, strategy: str = "") -> CompactionPreview:
        """Return what ``compact`` would drop and keep. Sends no request and stores nothing."""
        from pi.coding.compaction.execution import preview  # deferred, as in ``Compactor``

        self._require_known(strategy)
        request = CompactionRequest(reason="manual", instructions=instructions, strategy=strategy)
        return await preview(self._live_compaction, request)

    def strategies(self) -> dict[str, str]:
        """Return all strategies with their descriptions, those of extensions last."""
        extensions = self._core.extensions
        others = dict.fromkeys(extensions.strategies(), "") | extensions.declared_strategies()
        return STRATEGY_TEXTS | {
            name: text for name, text in others.items() if name not in STRATEGY_TEXTS
        }

    def _require_known(self, strategy: str) -> None:
        names = [name for name in self.strategies() if name != "off"]
        if strategy and strategy not in names:
            from pi.base.fuzzy import did_you_mean  # deferred: for typing errors only

            raise PiError(
                f'Unknown compaction strategy "{one_line(strategy)}".',
                hint=did_you_mean(strategy, names) or f"Known: {', '.join(names)}.",
            )

    def dropped(self) -> Sequence[Entry]:
        """Return the entries that compaction removed from the model's context."""
        from pi.coding.compaction.execution import dropped

        return dropped(self._core.log)
