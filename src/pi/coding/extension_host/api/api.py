"""``ExtensionAPI``: the object that ``extension(pi)`` is given.

Four verbs: ``on`` (be told, or decide), ``register_*`` and ``add_*`` (contribute), ``wrap_*``
(stand around a model call or a tool), and ``scope`` (run something). Every registration gives a
handle with ``remove()`` and ends with the session.
"""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable, Hashable, Mapping, Sequence
from functools import partial
from typing import Any, TypeVar, Unpack, overload

from msgspec import UNSET

from pi import __version__
from pi.agent.policy import Policy
from pi.agent.tools.define import ToolOptions
from pi.agent.tools.tool import AgentTool
from pi.ai.collection import ModelProvider
from pi.ai.messages import Json
from pi.ai.models.model import Model, ThinkingLevel
from pi.base.processes import Child
from pi.coding.bus import At
from pi.coding.compaction.strategies import Strategy
from pi.coding.extension_host.api import loaded_extension
from pi.coding.extension_host.api.context import ExtensionContext
from pi.coding.extension_host.api.loaded_extension import LoadedExtension
from pi.coding.extension_host.api.messages import (
    ExtensionEvent,
    MessageOptions,
    MessageSender,
    UserMessageOptions,
)
from pi.coding.extension_host.api.processes import ExecOptions, ExecResult, Processes, SpawnOptions
from pi.coding.extension_host.api.readers import Feed
from pi.coding.extension_host.api.services import (
    ExtensionAuth,
    ExtensionHttp,
    ExtensionModels,
    ExtensionSettings,
)
from pi.coding.extension_host.api.storage import Store, StorePlace, open_store
from pi.coding.extension_host.api.sub_sessions import SessionHandle
from pi.coding.extension_host.contributions.commands import CommandHandler, Completions
from pi.coding.extension_host.contributions.model_wraps import ModelWrap, Purpose, Wrapped
from pi.coding.extension_host.contributions.references import (
    ParseReference,
    Reference,
    ResourceHandler,
    scheme_form,
)
from pi.coding.extension_host.contributions.registries import RankedPolicy, Redactor, Section
from pi.coding.extension_host.contributions.tools import (
    Exposure,
    ToolWrap,
    Wrapping,
    checked,
    owned,
)
from pi.coding.extension_host.contributions.views import View
from pi.coding.extension_host.control import SessionControl
from pi.coding.extension_host.discovery.manifest import (
    ExtensionFlag,
    FlagKind,
    FlagValue,
    flag_value,
)
from pi.coding.extension_host.events.handlers import Handler
from pi.coding.extension_host.scope import Registration, Scope
from pi.coding.extension_host.session_parts import Content
from pi.coding.files.layers import FileLayer
from pi.coding.port.extensions import InputMode, ViewKind
from pi.coding.port.results import SubSession
from pi.coding.session.entries import CustomMessage

# What the members of every subject work with.


class ApiMembers:
    """Members of the API of one extension; what they register ends with it."""

    def __init__(self, instance: LoadedExtension) -> None:
        self._instance = instance
        self._shelves = instance.shelves
        self._registries = instance.shelves.registries
        self._link = instance.link


# What a person calls an extension by: commands, keys, options, texts.


C = TypeVar("C", bound=Callable[..., Any])


class CommandMembers(ApiMembers):
    """Registers commands, shortcuts, flags and input modes."""

    def register_command(
        self,
        name: str,
        handler: CommandHandler,
        *,
        description: str = "",
        completions: Completions | None = None,
    ) -> Registration:
        """Have ``/name arguments`` call ``handler(arguments, ctx)``."""
        return loaded_extension.add_command(self._instance, name, handler, description, completions)

    def command(
        self, name: str, *, description: str = "", completions: Completions | None = None
    ) -> Callable[[C], C]:
        """``register_command`` as a decorator; the docstring is the description."""

        def decorate(function: C) -> C:
            told = description or loaded_extension.first_line(function)
            self.register_command(name, function, description=told, completions=completions)
            return function

        return decorate

    def get_commands(self) -> Sequence[Any]:
        """What can be typed behind a slash: of extensions, templates and skills."""
        return self._link.session.facts.commands()

    def register_shortcut(
        self, key: str, handler: Callable[[Any], Any], *, description: str = ""
    ) -> Registration:
        """Have a key call ``handler(ctx)``, where there is a keyboard."""
        return loaded_extension.add_shortcut(self._instance, key, handler, description)

    def shortcut(self, key: str, *, description: str = "") -> Callable[[C], C]:
        """``register_shortcut`` as a decorator."""

        def decorate(function: C) -> C:
            told = description or loaded_extension.first_line(function)
            self.register_shortcut(key, function, description=told)
            return function

        return decorate

    def register_flag(
        self,
        name: str,
        *,
        type: FlagKind = "boolean",
        default: FlagValue = None,
        description: str = "",
    ) -> Registration:
        """Have one more option of the command line, ``--name``."""
        flag = ExtensionFlag(name=name, kind=type, default=default, description=description)
        return loaded_extension.add_flag(self._instance, flag)

    def flag(
        self,
        name: str,
        *,
        type: FlagKind = "boolean",
        default: FlagValue = None,
        description: str = "",
    ) -> Callable[[], FlagValue]:
        """``register_flag``; gives a function that tells the value."""
        self.register_flag(name, type=type, default=default, description=description)
        return lambda: self.get_flag(name)

    def get_flag(self, name: str) -> FlagValue:
        """What the command line says, or the default."""
        flag = self._registries.flags.get(name)
        return None if flag is None else flag_value(flag, self._shelves.flags)

    def add_input_mode(self, prefix: str, mode: InputMode) -> Registration:
        """Have texts that begin with ``prefix`` go to ``mode``; the longest prefix wins."""
        return loaded_extension.add_input_mode(self._instance, prefix, mode)


# How what an extension says is drawn.


class DrawingMembers(ApiMembers):
    """Registers views."""

    def add_view(self, kind: ViewKind, name: str, view: View) -> Registration:
        """Draw a tool, message, entry or status of that name; a string is imported when needed."""
        return self._instance.add_name(self._registries.views, f"{kind}:{name}", view)

    def register_message_renderer(self, custom_type: str, view: View) -> Registration:
        """Draw messages of an extension."""
        return self.add_view("message", custom_type, view)

    def register_entry_renderer(self, custom_type: str, view: View) -> Registration:
        """Draw entries of an extension."""
        return self.add_view("entry", custom_type, view)

    def register_markdown_transformer(self, transform: Callable[..., str]) -> Registration:
        """Change Markdown before it is drawn."""
        return self._instance.add_row(self._registries.markdown, transform)


# Who answers: providers, the model, how much it thinks.


class ModelMembers(ApiMembers):
    """Brings providers, and chooses who answers."""

    def register_provider(
        self, provider: ModelProvider | str, config: Mapping[str, Any] | None = None
    ) -> Registration:
        """Have one more provider: an object, or a name and a ``ProviderConfig`` as a dict."""
        return loaded_extension.add_provider(self._instance, provider, config)

    def unregister_provider(self, name: str) -> None:
        """Have a provider of this extension no longer."""
        self._shelves.providers.remove(name, self._instance.owner)

    async def set_model(self, model: Model) -> bool:
        """Have another model answer; False if there are no credentials for it."""
        return await self._link.session.models.use(model)

    def get_thinking_level(self) -> ThinkingLevel:
        """How much the model thinks."""
        return self._link.session.models.thinking_level

    async def set_thinking_level(self, level: ThinkingLevel) -> None:
        """Have the model think that much."""
        await self._link.session.models.think(level)


# What an extension runs, keeps, and shares with others.


T = TypeVar("T")


class RunningMembers(ApiMembers):
    """Runs programs and sessions, and keeps what others may use."""

    def __init__(self, instance: LoadedExtension) -> None:
        super().__init__(instance)
        self._processes = Processes(instance.link, instance.scope)

    async def exec(self, argv: Sequence[str], **how: Unpack[ExecOptions]) -> ExecResult:
        """Run a program to its end: with ``stdin``, ``env``, ``cwd`` and a ``timeout``."""
        return await self._processes.exec(argv, **how)

    async def spawn(self, argv: Sequence[str], **how: Unpack[SpawnOptions]) -> Child:
        """Start a program to talk to; it ends with ``scope``, else with the session.

        One that is ``detached`` goes on when pi ends; its input, output and errors are null.
        """
        return await self._processes.spawn(argv, **how)

    async def shared(
        self, key: Hashable, make: Callable[[Scope], Awaitable[T]], *, linger: float = 0
    ) -> T:
        """What ``make`` gives, made once per process and closed when no session uses it."""
        user, report = self._instance.scope, partial(self._shelves.failed, self._instance.owner)
        return await self._shelves.shared.take(key, make, user=user, report=report, linger=linger)

    async def sub_session(self, spec: SubSession) -> SessionHandle:
        """Begin a nested session with the guards of this one; it ends with it."""
        nested = await self._link.session.control.open_nested(spec)
        return SessionHandle(nested, spec, self._instance.scope)

    def provide(self, name: str, service: object) -> Registration:
        """Offer something to other extensions."""
        return self._instance.add_name(self._registries.services, name, service)

    def service(self, name: str) -> Any:
        """What another extension offers; ``None`` if nobody does."""
        return self._registries.services.get(name)

    def store(self, place: StorePlace = "session") -> Store:
        """Small JSON values that are kept for this extension: ``get``, ``set``, ``delete``."""
        name = self._instance.owner.name
        return open_store(place, name, self._link.session, self._shelves.agent_dir)

    def when_idle(
        self,
        act: Callable[[SessionControl], Awaitable[None]],
        *,
        before_next_prompt: bool = True,
    ) -> Registration:
        """Have ``act`` replace or move the session as soon as the agent rests.

        The next prompt waits for it, unless it need not come ``before_next_prompt``.
        """
        return loaded_extension.when_idle(
            self._instance, act, before_next_prompt=before_next_prompt
        )


# What an extension says and tells, and what it is told of everything else.


class SayingMembers(ApiMembers):
    """Speaks in the session, and to whoever listens to it."""

    def __init__(self, instance: LoadedExtension) -> None:
        super().__init__(instance)
        self._sending = MessageSender(instance.link, instance.shelves.next_turn)

    async def send_message(
        self, message: CustomMessage | Mapping[str, Any], **how: Unpack[MessageOptions]
    ) -> None:
        """Say something to the model; at rest it is only recorded unless ``trigger_turn``.

        While it works, ``deliver_as`` says when: ``steer``, ``follow_up`` or ``next_turn``.
        """
        await self._sending.send_message(message, **how)

    async def send_user_message(self, content: Content, **how: Unpack[UserMessageOptions]) -> None:
        """Say something as if the person had said it; ``meta`` is kept, but told to no model.

        While the model works, ``deliver_as`` must say when: ``steer`` or ``follow_up``.
        """
        await self._sending.send_user_message(content, **how)

    async def append_entry(self, custom_type: str, data: Any = UNSET) -> str:
        """Keep something in the session that the model does not see; gives the entry's id."""
        return await self._sending.append_entry(custom_type, data)

    async def set_session_name(self, name: str) -> None:
        """Call the session something else."""
        await self._link.session.talk.rename(name)

    def get_session_name(self) -> str | None:
        """What the session is called."""
        return self._link.session.talk.log.name

    async def set_label(self, entry_id: str, label: str | None = None) -> None:
        """Put a label on an entry, or take it off."""
        await self._link.session.talk.label(entry_id, label)

    async def publish(self, name: str, data: Any = None) -> None:
        """Tell everybody an event of the extension's own: listeners, JSON mode and RPC."""
        await self._shelves.events.emit(name, data)
        await self._link.session.events.tell(ExtensionEvent(name=name, data=data))

    def feed(self, *, size: int = 1000) -> Feed:
        """Everything that there is and that happens from now on, as data and in order."""
        feed = Feed(self._link.session, size=size)
        self._instance.keep(feed.close)
        return feed


# What shapes runs: policies, wraps, references, the prompt, compaction.


class ShapingMembers(ApiMembers):
    """Stands in and around what a run does."""

    def add_policy(self, policy: Policy, *, at: At = "normal") -> Registration:
        """Have a policy asked in every run from the next one on."""
        guarded = owned(policy, self._instance.owner, self._shelves.failed)
        ranked = RankedPolicy(policy=guarded, at=at)
        return self._instance.add_row(self._registries.policies, ranked, at)

    def wrap_model(
        self,
        wrap: ModelWrap,
        *,
        at: At = "normal",
        purposes: frozenset[Purpose] | None = None,
    ) -> Registration:
        """Stand around every model call of the session, summaries included."""
        wrapped = Wrapped(wrap=wrap, purposes=purposes)
        return self._instance.add_row(self._registries.model_wraps, wrapped, at)

    def wrap_files(self, layer: FileLayer, *, at: At = "normal") -> Registration:
        """Stand around every write of a tool: see, change or forbid it, and add notes."""
        return self._instance.add_row(self._registries.file_layers, layer, at)

    def add_scheme(self, scheme: str, handler: ResourceHandler) -> Registration:
        """Have ``scheme://…`` read, and written if the handler can, by the tools for files."""
        return self.add_path_form(scheme_form(scheme), handler)

    def add_path_form(self, parse: ParseReference, handler: ResourceHandler) -> Registration:
        """Have every path that ``parse`` gives a reference for read and written by ``handler``."""
        reference = Reference(parse=parse, handler=handler)
        return self._instance.add_row(self._registries.references, reference)

    def add_section(self, name: str, text: Section | str) -> Registration:
        """Have one more section of the system prompt; it must be stable between turns."""
        section: Section = (lambda: text) if isinstance(text, str) else text
        return self._instance.add_name(self._registries.sections, name, section)

    def add_compaction(self, name: str, strategy: Strategy) -> Registration:
        """Have one more strategy of compaction; ``compaction.strategy`` chooses it."""
        return self._instance.add_name(self._registries.strategies, name, strategy)

    def add_redactor(self, redact: Redactor) -> Registration:
        """Change texts before they reach the log, an export or a share: ``redact(text, sink)``."""
        return self._instance.add_row(self._registries.redactors, redact)


# Tools: more of them, and what stands around those of others.


class ToolMembers(ApiMembers):
    """Registers, wraps and chooses tools."""

    def register_tool(
        self,
        tool: AgentTool,
        *,
        prompt_snippet: str = "",
        prompt_guidelines: Sequence[str] = (),
        exposure: Exposure = "active",
    ) -> Registration:
        """Have one more tool, or another one of that name; at any time."""
        return loaded_extension.add_tool(
            self._instance,
            checked(tool),
            snippet=prompt_snippet,
            guidelines=tuple(prompt_guidelines),
            exposure=exposure,
        )

    add_tool = register_tool

    @overload
    def tool(self, function: Callable[..., Any], /) -> AgentTool: ...

    @overload
    def tool(
        self, /, *, name: str = "", description: str = "", **options: Unpack[ToolOptions]
    ) -> Callable[[Callable[..., Any]], AgentTool]: ...

    def tool(
        self,
        function: Callable[..., Any] | None = None,
        /,
        *,
        name: str = "",
        description: str = "",
        **options: Unpack[ToolOptions],
    ) -> AgentTool | Callable[[Callable[..., Any]], AgentTool]:
        """Make a typed function a tool and register it: ``@pi.tool``, ``@pi.tool(name="x")``."""

        def decorate(function: Callable[..., Any]) -> AgentTool:
            made = loaded_extension.tool_of(function, name, description, options)
            self.register_tool(made)
            return made

        return decorate if function is None else decorate(function)

    def wrap_tool(
        self,
        name: str,
        run: ToolWrap,
        *,
        params: type | Json | None = None,
        description: str | None = None,
        at: At = "normal",
    ) -> Registration:
        """Stand around the tool of a name: ``await run(params, ctx, inner)``."""
        wrapping = Wrapping(name=name, run=run, params=params, description=description)
        return self._instance.add_row(self._registries.tool_wraps, wrapping, at)

    def get_active_tools(self) -> tuple[str, ...]:
        """The names of the tools that are on."""
        return tuple(self._link.session.tools.active())

    def get_all_tools(self) -> tuple[AgentTool, ...]:
        """Every tool that could be on, but for hidden ones."""
        return tuple(self._link.session.tools.all())

    def set_active_tools(self, names: Sequence[str]) -> None:
        """Have exactly these tools on from the next request on."""
        self._link.session.tools.choose(names)


H = TypeVar("H", bound=Handler)


class ExtensionAPI(
    ToolMembers,
    CommandMembers,
    DrawingMembers,
    ShapingMembers,
    ModelMembers,
    SayingMembers,
    RunningMembers,
):
    """What an extension can do. Handlers and commands are added while its function runs."""

    def __init__(self, instance: LoadedExtension) -> None:
        super().__init__(instance)
        self.name = instance.owner.name
        self.version = __version__
        """Of pi, for what extensions tell others."""
        self.scope: Scope = instance.scope
        """Tasks, timers and what is to be closed with the session."""
        self.context: ExtensionContext = instance.context
        """What handlers are given, for timers, tools and tasks."""
        self.events = loaded_extension.ScopedEvents(instance)
        """Events between extensions: ``on`` and ``emit``."""
        self.settings = ExtensionSettings(instance.link, instance.scope)
        self.auth = ExtensionAuth(instance)
        self.models = ExtensionModels(instance)
        self.http = ExtensionHttp(instance.link)
        self.log = logging.getLogger(f"pi.extensions.{instance.owner.name}")

    @overload
    def on(self, event: str, handler: None = None, *, at: At = "normal") -> Callable[[H], H]: ...

    @overload
    def on(self, event: str, handler: Handler, *, at: At = "normal") -> Registration: ...

    def on(
        self, event: str, handler: Handler | None = None, *, at: At = "normal"
    ) -> Registration | Callable[[H], H]:
        """Have ``handler(event, ctx)`` called at an event; also as a decorator."""
        if handler is not None:
            return loaded_extension.add_handler(self._instance, event, handler, at)

        def decorate(function: H) -> H:
            loaded_extension.add_handler(self._instance, event, function, at)
            return function

        return decorate
