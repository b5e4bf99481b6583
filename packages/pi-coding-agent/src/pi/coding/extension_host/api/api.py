"""``ExtensionAPI``: the object passed to ``extension(pi)``.

``on`` subscribes to an event, ``register_*`` and ``add_*`` add contributions, ``wrap_*`` wraps
model calls, tools, file writes or processes, and ``scope`` runs tasks. Every registration returns a
handle with ``remove()`` and is removed when the session ends.
"""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable, Hashable, Iterable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar, Unpack, get_args, overload

from msgspec import UNSET

from pi.agent.policy import Policy
from pi.agent.tools.define import ToolOptions
from pi.agent.tools.tool import AgentTool, ToolResult, Update
from pi.ai.collection import ModelProvider
from pi.ai.messages import Json
from pi.ai.models.model import Model
from pi.ai.models.thinking_levels import THINKING_LEVELS, ThinkingLevel
from pi.base.processes import Child
from pi.base.terminal_text import one_line
from pi.coding.bus import At
from pi.coding.compaction.strategies import Strategy
from pi.coding.extension_host.api import loaded_extension
from pi.coding.extension_host.api.auth import ExtensionAuth
from pi.coding.extension_host.api.context import ExtensionContext
from pi.coding.extension_host.api.loaded_extension import (
    CommandOptions,
    LoadedExtension,
    ToolRegistrationOptions,
    decorator,
)
from pi.coding.extension_host.api.messages import (
    Content,
    MessageOptions,
    MessageSender,
    UserMessageOptions,
)
from pi.coding.extension_host.api.pending_actions import PendingAction
from pi.coding.extension_host.api.processes import (
    ExecOptions,
    ExecResult,
    PrepareOptions,
    Processes,
    SpawnOptions,
)
from pi.coding.extension_host.api.readers import Feed
from pi.coding.extension_host.api.services import (
    ExtensionHttp,
    ExtensionImages,
    ExtensionModels,
    ExtensionSettings,
)
from pi.coding.extension_host.api.storage import Store, StorePlace, data_directory, open_store
from pi.coding.extension_host.api.sub_sessions import SessionHandle, open_sub_session
from pi.coding.extension_host.contributions.commands import CommandHandler
from pi.coding.extension_host.contributions.flags import FlagOptions, FlagValue, checked_flag
from pi.coding.extension_host.contributions.model_wraps import ModelWrap, Purpose, Wrapped
from pi.coding.extension_host.contributions.references import (
    ParseReference,
    Reference,
    ResourceHandler,
    scheme_form,
)
from pi.coding.extension_host.contributions.registries import (
    DoctorCheck,
    RankedPolicy,
    Redactor,
    Section,
    ShareTarget,
    WrappedSpawn,
)
from pi.coding.extension_host.contributions.tools import (
    ToolDescription,
    ToolParameters,
    ToolWrap,
    Wrapping,
    check_tool,
    guard_policy,
    tool_names,
)
from pi.coding.extension_host.contributions.views import View
from pi.coding.extension_host.control import SessionControl
from pi.coding.extension_host.errors import check_options, check_value
from pi.coding.extension_host.events.handlers import Handler
from pi.coding.extension_host.scope import Registration, Scope
from pi.coding.files.layers import FileLayer, OpenText, ReadGuard, WrappedFiles
from pi.coding.port.extensions import InputMode, Sink, ViewKind
from pi.coding.port.results import SubSession
from pi.coding.session.entries import CustomMessage
from pi.coding.shell.spawns import SpawnRequest, SpawnWrap
from pi.version import __version__

if TYPE_CHECKING:
    from pi.coding.export.share import ShareHandler  # deferred: imports every export format
    from pi.coding.port.ui import NotifyKind

C = TypeVar("C", bound=Callable[..., Any])
H = TypeVar("H", bound=Handler)
T = TypeVar("T")


class ExtensionAPI:
    """The API of one extension. Its registrations are removed when its session ends.

    Handlers and commands are added while ``extension(pi)`` runs.
    """

    def __init__(self, instance: LoadedExtension) -> None:
        self._instance = instance
        self._state = instance.state
        self._registries = instance.state.registries
        self._link = instance.link
        self._sender = MessageSender(instance.link, instance.state.next_turn)
        self._processes = Processes(instance.link, instance.state.spawn_wraps, instance.state.bus)
        self.name = instance.owner.name
        """The name of the extension."""
        self.version = __version__
        """The version of pi, e.g. for a user agent."""
        self.scope: Scope = instance.scope
        """Tasks, timers and resources that are closed with the session."""
        self.context: ExtensionContext = instance.context
        """The context that handlers get, for use in timers, tools and tasks."""
        self.events = loaded_extension.ScopedEvents(instance)
        """Events between extensions: ``on`` and ``emit``."""
        self.settings = ExtensionSettings(instance.link)
        self.auth = ExtensionAuth(instance)
        self.models = ExtensionModels(instance)
        self.http = ExtensionHttp(instance.link)
        self.images = ExtensionImages(instance.link, self.auth)
        self.consent = instance.context.consent
        """Whether definitions of a project or of another agent may run."""
        self.pending_actions = instance.state.pending_actions
        """The previewed changes of all tools, for the extension that resolves them."""
        self.log: logging.Logger = logging.getLogger(f"pi.extensions.{instance.owner.name}")
        """A logger; use ``pi.warn`` for messages to the user."""

    @overload
    def on(self, event: str, handler: None = None, *, at: At = "normal") -> Callable[[H], H]: ...

    @overload
    def on(self, event: str, handler: Handler, *, at: At = "normal") -> Registration: ...

    def on(
        self, event: str, handler: Handler | None = None, *, at: At = "normal"
    ) -> Registration | Callable[[H], H]:
        """Subscribe ``handler(event, ctx)`` to an event; also as a decorator."""
        add = partial(loaded_extension.add_handler, self._instance, event, at=at)
        return decorator(lambda function, text: add(function)) if handler is None else add(handler)

    # Tools ----------------------------------------------------------------------------------------

    def register_tool(
        self, tool: AgentTool, **options: Unpack[ToolRegistrationOptions]
    ) -> Registration:
        """Add a tool, or replace the one of that name; at any time. ``exposure`` is ``active`` by
        default. ``deferred`` tools are declared once the model has found them with
        ``tool_search``; ``on_demand`` ones are inactive until selected; ``hidden`` ones are also
        absent from lists; ``unlisted`` ones are active but absent from lists.
        """
        return loaded_extension.add_tool(self._instance, check_tool(tool), **options)

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
        """Register a typed function as a tool: ``@pi.tool`` or ``@pi.tool(name="x")``."""

        def decorate(function: Callable[..., Any]) -> AgentTool:
            tool = loaded_extension.tool_from_function(function, name, description, options)
            self.register_tool(tool)
            return tool

        return decorate if function is None else decorate(function)

    def wrap_tool(
        self,
        name: str,
        run: ToolWrap,
        *,
        params: ToolParameters | None = None,
        description: ToolDescription | None = None,
        at: At = "normal",
    ) -> Registration:
        """Wrap the tool of that name: ``await run(params, ctx, inner)``.

        ``params`` and ``description`` replace those of the tool; a function receives them and
        returns changed ones, so that several wraps can add parameters.
        """
        wrapping = Wrapping(name=name, run=run, params=params, description=description)
        return self._instance.add_row(self._registries.tool_wraps, wrapping, at)

    def get_active_tools(self) -> tuple[str, ...]:
        """The names of the active tools."""
        return self._link.session.tools.active_names

    def get_all_tools(self) -> tuple[AgentTool, ...]:
        """Every tool that can be activated; hidden tools are left out."""
        return self._link.session.tools.listed()

    def set_active_tools(self, names: Sequence[str]) -> None:
        """Activate only these tools, and tools registered later, from the next request on."""
        self._link.session.tools.select(tool_names(names))
        self._link.session.tools.refresh()

    def limit_tools(self, names: Iterable[str]) -> Registration:
        """Deactivate all other tools until removed, including later ones and in nested sessions.

        A tool must be allowed by every limit.
        """
        return self._instance.add_row(self._registries.tool_limits, frozenset(tool_names(names)))

    async def call_tool(
        self, name: str, arguments: Json, *, update: Update | None = None
    ) -> ToolResult:
        """Call a tool, active or not, under the policies, wraps and limits of the session.

        A refused or failed call returns an error result. Raises ``ToolFailed`` if the tool does not
        exist or is not allowed, ``StopRun`` if a guard ends the run. The call is not part of the
        conversation. Cancelling it cancels the tool.
        """
        tools = self._link.session.tools
        return await tools.call(name, arguments, caller=self.name, update=update)

    def push_pending_action(self, action: PendingAction) -> Registration:
        """Offer a previewed change to the model, which applies or discards it; the newest first.

        Raises ``ExtensionError`` if no extension resolves pending actions.
        """
        return self._instance.keep(self.pending_actions.push(action))

    def enable_tools(self, names: Sequence[str]) -> Registration:
        """Activate these tools beside the others until removed; limits still apply."""
        return self._instance.add_row(self._registries.enabled_tools, tool_names(names))

    # Commands, shortcuts, flags and input modes ---------------------------------------------------

    def register_command(
        self, name: str, handler: CommandHandler, **options: Unpack[CommandOptions]
    ) -> Registration:
        """Call ``handler(arguments, ctx)`` for ``/name arguments``."""
        context = self._instance.command_context
        return loaded_extension.add_command(self._instance, name, handler, context, **options)

    def command(self, name: str, **options: Unpack[CommandOptions]) -> Callable[[C], C]:
        """``register_command`` as a decorator; the docstring is the description."""
        return decorator(
            lambda function, text: self.register_command(
                name, function, **(CommandOptions(description=text) | options)
            )
        )

    def get_commands(self) -> Sequence[Any]:
        """All slash commands: of extensions, prompt templates and skills."""
        return self._link.session.info.commands()

    def register_shortcut(
        self, key: str, handler: Callable[[Any], Any], *, description: str = ""
    ) -> Registration:
        """Call ``handler(ctx)`` when a key is pressed in the terminal UI."""
        return loaded_extension.add_shortcut(
            self._instance, key, handler, description, self._instance.command_context
        )

    def shortcut(self, key: str, *, description: str = "") -> Callable[[C], C]:
        """``register_shortcut`` as a decorator."""
        return decorator(
            lambda function, text: self.register_shortcut(
                key, function, description=description or text
            )
        )

    def register_flag(self, name: str, **options: Unpack[FlagOptions]) -> Registration:
        """Add the command-line option ``--name``."""
        check_options("pi.register_flag", options, FlagOptions)
        flags = self._instance.state.registries.flags
        return self._instance.add_name(flags, name, checked_flag(name, options))

    def flag(self, name: str, **options: Unpack[FlagOptions]) -> Callable[[], FlagValue]:
        """Call ``register_flag`` and return a function that reads the value."""
        self.register_flag(name, **options)
        return lambda: self.get_flag(name)

    def get_flag(self, name: str) -> FlagValue:
        """The value from the command line, or the default."""
        return loaded_extension.get_flag(self._instance, name)

    def add_input_mode(self, prefix: str, mode: InputMode) -> Registration:
        """Send input that starts with ``prefix`` to ``mode``; the longest prefix wins."""
        context = self._instance.command_context
        return loaded_extension.add_input_mode(self._instance, prefix, mode, context)

    # Views ----------------------------------------------------------------------------------------

    def add_view(self, kind: ViewKind, name: str, view: View) -> Registration:
        """Render a tool, message, entry, status or code; a string is imported on first use.

        ``code`` draws fenced code of a language in messages, once the fence is closed and again
        when the width changes. The source is shown if the view returns ``None``, fails, or is wider
        than the screen.
        """
        check_value("a kind of view", kind, get_args(ViewKind))
        return self._instance.add_name(self._registries.views, f"{kind}:{name}", view)

    def register_message_renderer(self, custom_type: str, view: View) -> Registration:
        """Render custom messages of that type."""
        return self.add_view("message", custom_type, view)

    def register_entry_renderer(self, custom_type: str, view: View) -> Registration:
        """Render custom entries of that type."""
        return self.add_view("entry", custom_type, view)

    def register_markdown_transformer(self, transform: Callable[..., str]) -> Registration:
        """Transform Markdown before it is rendered."""
        return self._instance.add_row(self._registries.markdown, transform)

    # Policies, wraps, references, prompt sections and compaction ----------------------------------

    def add_policy(self, policy: Policy, *, at: At = "normal") -> Registration:
        """Add a policy to every run from the next one on."""
        guarded = guard_policy(policy, self._instance.owner, self._state.failed)
        ranked = RankedPolicy(policy=guarded, at=at)
        return self._instance.add_row(self._registries.policies, ranked, at)

    def wrap_model(
        self,
        wrap: ModelWrap,
        *,
        at: At = "normal",
        purposes: frozenset[Purpose] | None = None,
    ) -> Registration:
        """Wrap every model call of the session, summaries included."""
        for purpose in purposes or ():
            check_value("a purpose", purpose, get_args(Purpose))
        wrapped = Wrapped(wrap=wrap, purposes=purposes)
        return self._instance.add_row(self._registries.model_wraps, wrapped, at)

    def wrap_files(
        self,
        layer: FileLayer,
        *,
        read: OpenText | None = None,
        guard: ReadGuard | None = None,
        at: At = "normal",
        nested: bool = True,
    ) -> Registration:
        """Wrap every file write of a tool: observe, change or forbid it, and add notes.

        Writes of nested sessions are included unless ``nested`` is False, for an extension that is
        also loaded in nested sessions and wraps their writes there.

        ``await read(path)`` returns the text of a file with unsaved changes, as in an editor, or
        ``None`` to read the disk. Tools that read single files use it.

        ``await guard.check(read)`` gets the actual path of every file that a tool call reads and
        may raise ``ToolFailed``; ``guard.hidden(cwd)`` returns which files searches leave out.
        """
        wrapped = WrappedFiles(layer=layer, read=read, guard=guard, nested=nested)
        return self._instance.add_row(self._registries.file_layers, wrapped, at)

    def wrap_spawn(
        self, wrap: SpawnWrap, kinds: Iterable[str] | None = None, *, at: At = "normal"
    ) -> Registration:
        """Change or refuse child processes of these kinds before they start: all by default.

        ``wrap(request)`` returns a ``SpawnRequest`` or raises ``SpawnRefused``.
        """
        wrapped = WrappedSpawn(wrap=wrap, kinds=None if kinds is None else frozenset(kinds))
        return self._instance.add_row(self._registries.spawn_wraps, wrapped, at)

    def add_scheme(
        self, scheme: str, handler: ResourceHandler, *, example: str = ""
    ) -> Registration:
        """Let the file tools read ``scheme://…``, and write it if the handler supports that.

        ``example`` is as in ``add_path_form``.
        """
        return self.add_path_form(scheme_form(scheme), handler, example=example)

    def add_path_form(
        self, parse: ParseReference, handler: ResourceHandler, *, example: str = ""
    ) -> Registration:
        """Let ``handler`` read and write every path for which ``parse`` returns a reference.

        ``example`` is such a path; ``read``, and ``write`` if the handler writes, declare it in
        the description of their field ``path``.
        """
        reference = Reference(parse=parse, handler=handler, example=example)
        return self._instance.add_row(self._registries.references, reference)

    def add_section(self, name: str, text: Section | str) -> Registration:
        """Add a section to the system prompt; it must be stable between turns."""
        section: Section = (lambda: text) if isinstance(text, str) else text
        return self._instance.add_name(self._registries.sections, name, section)

    def add_compaction(self, name: str, strategy: Strategy) -> Registration:
        """Add a compaction strategy; ``compaction.strategy`` selects it."""
        return self._instance.add_name(self._registries.strategies, name, strategy)

    def add_doctor_check(self, name: str, check: DoctorCheck) -> Registration:
        """Let ``pi doctor`` call ``check(ctx)``, which returns any number of ``CheckResult``.

        The manifest needs ``doctor = true``, so that ``pi doctor`` loads the extension.
        """
        row = (check, self._instance.context)
        return self._instance.add_name(self._registries.doctor_checks, name, row)

    def add_redactor(self, redact: Redactor) -> Registration:
        """Change texts before they leave pi: ``redact(text, sink)``.

        Sinks: ``log``, ``export``, ``share``, and ``collab`` for guests of a live session.
        """
        return self._instance.add_row(self._registries.redactors, redact)

    def redact(self, value: T, sink: Sink) -> T:
        """``value``, a text or JSON, with known secrets removed and all redactors applied."""
        check_value("a sink", sink, get_args(Sink))
        redacted: T = self._link.session.exports.redact(value, sink)
        return redacted

    def add_share_target(
        self, name: str, share: ShareHandler, *, description: str = ""
    ) -> Registration:
        """Let ``/share NAME`` call ``await share(path)`` with the redacted page of the session.

        ``share`` returns the address, ``Shared``, or ``None``. The setting ``share.target`` makes
        it the default.
        """
        target = ShareTarget(share=share, description=description)
        return self._instance.add_name(self._registries.share_targets, name, target)

    # Providers, model and thinking level ----------------------------------------------------------

    def register_provider(
        self, provider: ModelProvider | str, config: Mapping[str, Any] | None = None
    ) -> Registration:
        """Add a provider: an object, or a name and a ``ProviderConfig`` as a dict."""
        return loaded_extension.add_provider(self._instance, provider, config)

    def unregister_provider(self, name: str) -> None:
        """Remove a provider that this extension registered."""
        self._state.providers.remove(name, self._instance.owner)

    async def set_model(self, model: Model) -> bool:
        """Switch to another model. Returns False if it has no credentials."""
        return await self.models.use(model)

    def get_thinking_level(self) -> ThinkingLevel:
        """The current thinking level."""
        return self._link.session.models.thinking_level

    async def set_thinking_level(self, level: ThinkingLevel) -> None:
        """Change the thinking level."""
        check_value("a thinking level", level, THINKING_LEVELS)
        await self._link.session.models.set_thinking_level(level)

    # Messages, entries and events -----------------------------------------------------------------

    async def send_message(
        self, message: CustomMessage | Mapping[str, Any], **options: Unpack[MessageOptions]
    ) -> None:
        """Send a message to the model; while idle it is only recorded unless ``trigger_turn``.

        During a run, ``deliver_as`` is ``steer``, ``follow_up`` or ``next_turn``.
        """
        await self._sender.send_message(message, **options)

    async def send_user_message(
        self, content: Content, **options: Unpack[UserMessageOptions]
    ) -> None:
        """Send a message as the user; ``meta`` is stored, but not sent to the model.

        During a run, ``deliver_as`` is required: ``steer`` or ``follow_up``.
        """
        await self._sender.send_user_message(content, **options)

    def append_entry(self, custom_type: str, data: Any = UNSET) -> Awaitable[str]:
        """Store an entry that the model does not see. Await it for its id."""
        return self._sender.append_entry(custom_type, data)

    async def set_session_name(self, name: str) -> None:
        """Rename the session."""
        await self._link.session.info.rename(name)

    def get_session_name(self) -> str | None:
        """The name of the session."""
        return self._link.session.entries.log.name

    def set_label(self, entry_id: str, label: str | None = None) -> Awaitable[Any]:
        """Set or remove the label of an entry; awaiting it is optional."""
        return self._sender.set_label(entry_id, label)

    async def publish(self, name: str, data: Any = None) -> None:
        """Emit an event of this extension to other extensions, JSON mode and RPC."""
        await self.events.publish(name, data)

    def warn(self, text: str, *, kind: NotifyKind = "error") -> None:
        """Show a problem: as a notice, or on standard error if there is no user interface."""
        if self.context.has_ui:
            self.context.ui.notify(text, kind)
        else:
            self._state.report(one_line(text))

    def feed(self, *, size: int = 1000) -> Feed:
        """An iterator over the session as ordered data: a snapshot, then every change."""
        return loaded_extension.open_feed(self._instance, size)

    # Programs, nested sessions, services and storage ----------------------------------------------

    async def exec(self, argv: Sequence[str], **options: Unpack[ExecOptions]) -> ExecResult:
        """Run a program and wait for it: with ``stdin``, ``env``, ``cwd`` and a ``timeout``."""
        return await self._processes.exec(argv, **options)

    async def spawn(
        self, argv: Sequence[str] | SpawnRequest, **options: Unpack[SpawnOptions]
    ) -> Child:
        """Start a program with pipes; it is stopped with ``scope``, by default with the session.

        A ``detached`` program outlives pi; its input, output and errors are null. A request of
        ``prepare_spawn`` is started without calling the spawn wraps again.
        """
        return await self._processes.spawn(argv, **options)

    async def prepare_spawn(
        self, argv: Sequence[str], **options: Unpack[PrepareOptions]
    ) -> SpawnRequest:
        """The request that ``spawn`` would start, after all spawn wraps; raises ``SpawnRefused``.

        A program that runs several commands calls this before each one, with ``command``.
        """
        return await self._processes.prepare(argv, **options)

    async def shared(
        self, key: Hashable, make: Callable[[Scope], Awaitable[T]], *, linger: float = 0
    ) -> T:
        """The result of ``make``, created once per process and closed when no session uses it."""
        return await loaded_extension.acquire_shared(self._instance, key, make, linger)

    async def sub_session(self, spec: SubSession) -> SessionHandle:
        """Start a nested session under the guards of this one; it is closed with this one."""
        return await open_sub_session(self._instance, spec)

    def provide(self, name: str, service: object) -> Registration:
        """Offer a service to other extensions."""
        return self._instance.add_name(self._registries.services, name, service)

    def service(self, name: str) -> Any:
        """The service of another extension; ``None`` if it is not provided."""
        return self._registries.services.get(name)

    def store(self, place: StorePlace = "session") -> Store:
        """Persistent JSON values of this extension: ``get``, ``set``, ``delete``, ``keys``."""
        return open_store(place, self._link, self._state.agent_dir)

    def data_directory(self) -> Path:
        """A folder for files of this extension, private to the user and shared by all sessions.

        Several processes may use it: see ``FileLock`` and ``replace_file``.
        """
        return data_directory(self._link, self._state.agent_dir)

    def when_idle(
        self,
        act: Callable[[SessionControl], Awaitable[None]],
        *,
        before_next_prompt: bool = True,
    ) -> Registration:
        """Call ``act`` once the agent is idle; it may replace the session or move its leaf.

        The next prompt waits for it, unless ``before_next_prompt`` is False.
        """
        return loaded_extension.when_idle(
            self._instance, act, before_next_prompt=before_next_prompt
        )
