"""Guards the tool calls of a session: rules, grants, dialogs, ``/permissions``."""

from __future__ import annotations

import asyncio
import os
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from pi.batteries.permissions.actual_files import ActualFiles
from pi.batteries.permissions.confined_runs import ConfinedRuns
from pi.batteries.permissions.decisions import decide
from pi.batteries.permissions.granted import Duration, Grant, Grants
from pi.batteries.permissions.paths import BaseFolders
from pi.batteries.permissions.questions import (
    CANCEL,
    DENY,
    DENY_WITH_REASON,
    ONCE,
    ONCE_WITH_NOTE,
    PROJECT,
    SESSION,
    STOPPED,
    asking_agent,
    changes_content,
    initial_option,
    options,
    question,
    visible,
)
from pi.batteries.permissions.requests import Decision, ToolRequest
from pi.batteries.permissions.rules import (
    EFFECTS,
    MODES,
    RESTRICTING,
    Mode,
    Rule,
    RuleSet,
    misspelt_tools,
    parse_claude_settings,
    parse_rules,
)
from pi.batteries.permissions.sensitive_guard import SensitiveFiles
from pi.extension import (
    Block,
    CommandContext,
    ConsentRequest,
    ExtensionAPI,
    ExtensionContext,
    FileFailed,
    Option,
    SessionStartEvent,
    StopRun,
    ToolCall,
    ToolCallEvent,
    ToolResultEvent,
    Where,
    replace,
)
from pi.extension.guards import mcp_key

SETTINGS: tuple[tuple[str, Any, Any, str], ...] = (
    ("permissions.mode", str, "off", "which tool calls need consent"),
    ("permissions.allow", tuple[str, ...], (), "rules for calls that run without a question"),
    ("permissions.ask", tuple[str, ...], (), "rules for calls that always ask"),
    ("permissions.deny", tuple[str, ...], (), "rules for calls that are refused"),
    ("files.sensitive", str, "auto", "what happens with files that look like credentials"),
)
KIND = "permission rules"
FLAG = "permission-mode"
MEANINGS: dict[Mode, str] = {
    "off": "off (nothing asks; deny rules count)",
    "ask": "ask (edits and commands ask)",
    "ask-all": "ask-all (every call asks, reads too)",
    "auto-edit": "auto-edit (commands ask, edits inside the project run)",
    "read-only": "read-only (edits and commands are refused)",
}
KEEP = "It holds until pi ends. To keep it, set permissions.mode with /settings."
DURATION_OF: dict[str, Duration] = {SESSION: "this session", PROJECT: "this project"}
NOTES = {
    ONCE_WITH_NOTE: "Allow once, with a note for the model",
    DENY_WITH_REASON: "Deny, with a reason for the model",
}
CYCLE: tuple[Mode, ...] = ("ask", "auto-edit", "read-only", "off")
"""The modes through which the key cycles. ``ask-all`` is for evaluations."""
MOST_COMPARED = 1_000_000
"""Maximum bytes of a file that is compared with its new content."""


def extension(pi: ExtensionAPI) -> None:
    """Guard every tool call, also in nested sessions."""
    pi.settings.declare_all(SETTINGS)
    pi.register_flag(FLAG, type="string", description=", ".join(MODES))
    guard = Guard(pi)
    pi.context.resources.add_kind(KIND, parse_claude_settings, lambda file: file.path)
    pi.context.resources.add_source(KIND, guard.find)
    pi.on("session_start", guard.start)
    # Last, because other handlers may change the arguments.
    pi.on("tool_call", guard.call, at="last")
    pi.on("tool_result", guard.ended)
    pi.on("tool_result", guard.confined.result)
    # Last: programs that other extensions wrap around a command run in the sandbox, too.
    pi.wrap_spawn(guard.confined.wrap, ("bash",), at="last")
    actual = ActualFiles(guard)
    pi.wrap_files(actual.write, guard=actual, at="first")
    sensitive = SensitiveFiles(pi, approves=lambda: guard.mode != "off", folders=guard.folders)
    pi.on("tool_call", sensitive.call, at="last")
    pi.on("tool_result", sensitive.ended)
    pi.wrap_files(sensitive.write, guard=sensitive)
    pi.register_command("permissions", guard.command, description="show or switch permissions")


class Guard:
    """Decides about the tool calls of one session."""

    def __init__(self, pi: ExtensionAPI) -> None:
        self._pi = pi
        self._file_rules: tuple[Rule, ...] | None = None
        self._problems: tuple[str, ...] = ()
        self._grants = Grants(pi)
        self.running: dict[str, ToolRequest] = {}
        """The calls that were allowed and have not ended, by id."""
        self.confined = ConfinedRuns(pi, self.running)
        self._agreed: set[tuple[str, str]] = set()
        """Calls and files that they did not name, and that the user has allowed."""
        self._agent_dir = ""
        self._dialog = asyncio.Lock()
        """Held during a dialog, so that an answer can cover the calls that wait."""

    # Mode and rules -------------------------------------------------------------------------------

    @property
    def mode(self) -> Mode:
        """The current mode; ``read-only`` for an unknown one: a typo must not switch it off."""
        written = self._written_mode
        return next((mode for mode in MODES if mode == written), "read-only")

    @property
    def _written_mode(self) -> object:
        settings = self._pi.settings
        flag = self._pi.get_flag(FLAG)
        # An empty value, such as that of an unset variable, is invalid and not "no flag".
        if settings.get_session("permissions.mode") is None and flag is not None:
            return flag
        return settings.get("permissions.mode")

    @property
    def _mode_problem(self) -> str:
        written = self._written_mode
        if written in MODES:
            return ""
        return f"Unknown permission mode {written!r}: use one of {', '.join(MODES)}."

    def find(self, locations: Where) -> Iterator[Path]:
        """The settings files of Claude Code, of the project and of the user."""
        self._agent_dir = str(locations.agent_dir)
        yield locations.cwd / ".claude" / "settings.local.json"
        yield locations.cwd / ".claude" / "settings.json"
        if locations.cwd != locations.home:
            yield locations.home / ".claude" / "settings.json"

    async def start(self, event: SessionStartEvent, ctx: ExtensionContext) -> None:
        """Read the rules. Deny rules apply in every mode, also if it is ``off``."""
        if mode_error := self._mode_problem:
            self._complain(mode_error)
        elif ctx.depth == 0 and self._written_mode != self._pi.settings.get("permissions.mode"):
            # The option counts as a choice for this session, so that lists and switches see it.
            self._pi.settings.set("permissions.mode", self.mode, place="session")
        self._show_mode(ctx)
        await self._load(ctx)

    def _complain(self, text: str) -> None:
        self._pi.log.error("%s", text)
        self._pi.warn(text)

    def _show_mode(self, ctx: ExtensionContext) -> None:
        # Guards of single tools rely on ``approval`` as long as it is there.
        ctx.ui.set_fact("approval", None if self.mode == "off" else self.mode)
        ctx.ui.set_fact("permissions", self.mode)

    async def _load(self, ctx: ExtensionContext) -> None:
        rules: list[Rule] = []
        problems: list[str] = []
        for item in ctx.resources.load(KIND):
            lists, source = item.value.permissions, str(item.path)
            effects = RESTRICTING if item.scope == "project" else EFFECTS
            source_rules, invalid = parse_rules(lists, source, effects=effects)
            problems += [item.value.problem] if item.value.problem else []
            if item.scope != "project":
                source_rules = await self._accepted(source_rules, source, ctx)
            rules += source_rules
            problems += invalid
        # Rules of a project can only restrict, never allow.
        project = self._pi.settings.get_project("permissions")
        source_rules, invalid = parse_rules(project, "project settings", effects=RESTRICTING)
        file_rules = (*rules, *source_rules)
        own_rules, own_problems = self._own()
        tools = (tool.name for tool in self._pi.get_all_tools())
        misspelt = misspelt_tools((*own_rules, *file_rules), tools)
        self._file_rules, self._problems = file_rules, (*problems, *invalid, *misspelt)
        for message in (*self._problems, *own_problems):
            self._complain(f"A permission rule is invalid. {message}")

    async def _accepted(
        self, rules: tuple[Rule, ...], source: str, ctx: ExtensionContext
    ) -> tuple[Rule, ...]:
        """The rules of another agent's user file; its allow rules only with consent."""
        allowing = [rule.text for rule in rules if rule.effect == "allow"]
        if not allowing:
            return rules
        if self.mode == "off":  # not asked now: allow rules have no effect while nothing asks
            return tuple(rule for rule in rules if rule.effect != "allow")
        request = ConsentRequest(
            kind="allow rules", name="Claude Code", source=source, definition={"allow": allowing}
        )
        if await ctx.consent.allowed([request]):
            return rules
        return tuple(rule for rule in rules if rule.effect != "allow")

    def _own(self) -> tuple[tuple[Rule, ...], tuple[str, ...]]:
        get = self._pi.settings.get
        lists = {
            effect: list(get(f"permissions.{effect}", with_project=False)) for effect in EFFECTS
        }
        return parse_rules(lists, "your settings")

    def rules(self) -> RuleSet:
        """All rules that apply now; in the mode ``off`` only deny rules do."""
        rules = self._all_rules()
        return replace(rules, rules=rules.of("deny")) if self.mode == "off" else rules

    def _all_rules(self) -> RuleSet:
        own, problems = self._own()
        everything = (*own, *(self._file_rules or ()), *self._grants.rules())
        return RuleSet(rules=everything, problems=(*problems, *self._problems))

    def folders(self, session_cwd: str) -> BaseFolders:
        """The folders of patterns, for a session whose working directory may differ."""
        folders = self._base_folders(self._pi.context)
        is_other = session_cwd != folders.cwd
        return replace(folders, session_cwd=session_cwd) if is_other else folders

    def _base_folders(self, ctx: ExtensionContext) -> BaseFolders:
        home = ctx.environ.get("HOME") or str(Path.home())
        get = self._pi.settings.get
        keeps_folder = get("bash.extended") is True and get("bash.session") is not False
        shell = self._pi.service("shell-folder") if keeps_folder else None
        confinement = self._pi.service("sandbox")
        return BaseFolders(
            cwd=str(ctx.cwd),
            home=home,
            agent_dir=self._agent_dir,
            keeps_folder=keeps_folder,
            shell_folder=str((shell is not None and shell.cwd) or ""),
            is_confined=confinement is not None and confinement.is_confining,
            program_folders=tuple(ctx.environ.get("PATH", "").split(os.pathsep)),
        )

    # Calls ----------------------------------------------------------------------------------------

    async def call(self, event: ToolCallEvent, ctx: ExtensionContext) -> Block | None:
        """Allow a call, ask the user, or refuse it with a ``Block``."""
        if self._file_rules is None:
            await self._load(ctx)
        # Not ``event.approval``: other handlers may have changed the arguments since.
        call = ToolCall(id=event.tool_call_id, name=event.tool_name, arguments=event.input)
        request = ToolRequest(
            tool=call.name,
            input=call.arguments,
            approval=ctx.approval(call),
            effects=ctx.effects(call),
            agent=event.agent,
            collides_with=self._collision(call.name),
        )
        refusal = await self._refusal(call.id, request, ctx)
        if refusal is None:
            self.running[call.id] = request
        return refusal

    def _collision(self, name: str) -> str:
        plain = re.fullmatch(r"(mcp__.*)_\d+", name)
        if plain is None:
            return ""
        keys = {mcp_key(tool.name) for tool in self._pi.get_all_tools()}
        return plain[1] if mcp_key(plain[1]) in keys else ""

    def ended(self, event: ToolResultEvent, ctx: ExtensionContext) -> None:
        """Forget a call."""
        self.running.pop(event.tool_call_id, None)
        self._agreed = {
            agreement for agreement in self._agreed if agreement[0] != event.tool_call_id
        }

    async def _refusal(
        self, call_id: str, request: ToolRequest, ctx: ExtensionContext
    ) -> Block | None:
        decision = decide(request, self.rules(), self.mode, self._base_folders(ctx))
        self.confined.release(call_id, request)
        if decision.runs_project and await self.confined.accept(call_id, request, decision):
            return None
        if decision.action == "ask":
            async with self._dialog:
                # The answer to the previous question may cover this call.
                decision = decide(request, self.rules(), self.mode, self._base_folders(ctx))
                if decision.action == "ask":
                    return await self._ask(call_id, request, decision, ctx)
        if decision.action == "deny":
            return Block(reason=f"Refused by the user's permissions. {decision.reason}")
        return None

    async def _ask(
        self, call_id: str, request: ToolRequest, decision: Decision, ctx: ExtensionContext
    ) -> Block | None:
        if not ctx.has_ui:
            return Block(reason=_without_user(request, decision, self._mode_problem))
        text = question(request, decision, await self._before(request, ctx))
        answer, note = await self._answer(call_id, text, request, decision, ctx)
        if answer in (DENY, DENY_WITH_REASON):
            return Block(reason=f"The user denied this call. {note}".rstrip())
        if answer in DURATION_OF:
            await self._grants.add(decision.grants, DURATION_OF[answer])
        elif answer not in (ONCE, ONCE_WITH_NOTE):
            if ctx.depth:
                ctx.abort(outermost=True)  # the user speaks to the outermost session
            raise StopRun(STOPPED)
        elif note:
            await self._pi.send_user_message(note, deliver_as="steer")
        return None

    async def _answer(
        self,
        call_id: str,
        text: str,
        request: ToolRequest,
        decision: Decision,
        ctx: ExtensionContext,
    ) -> tuple[str, str]:
        """The option that the user chose, and the note; empty if the question was cancelled."""
        while True:
            answer = await ctx.ui.select(
                text,
                options(request, decision),
                initial=initial_option(decision),
                call_id=call_id,
                cancel=CANCEL,
            )
            if answer not in NOTES:
                return answer or "", ""
            # Without a note the question is asked again.
            if note := await ctx.ui.input(NOTES[answer]):
                return answer, note

    async def agree(self, call_id: str, path: str, question: str) -> bool:
        """Ask whether a call may use a file that it did not name; once for each file of a call."""
        ctx = self._pi.context
        if not ctx.has_ui:
            return False
        async with self._dialog:
            if (call_id, path) in self._agreed:
                return True
            choices = [Option(label=ONCE, key="y"), Option(label=DENY, key="n")]
            call = self.running.get(call_id)
            asking = "" if call is None else asking_agent(call.agent)
            answer = await ctx.ui.select(
                visible("\n".join(filter(None, (question, asking)))),
                choices,
                initial=DENY,
                call_id=call_id or None,
                cancel=CANCEL,
            )
        if answer is None:
            ctx.abort(outermost=True)
        if answer == ONCE and call_id:
            self._agreed.add((call_id, path))
        return answer == ONCE

    async def _before(self, request: ToolRequest, ctx: ExtensionContext) -> str | None:
        path = request.input.get("path")
        if not isinstance(path, str) or not changes_content(request.input):
            return None
        try:
            return (await ctx.files.read_file(path, most=MOST_COMPARED)).decode("utf-8", "replace")
        except FileFailed:  # new or too large: the whole content is shown
            return None

    # ``/permissions`` -----------------------------------------------------------------------------

    async def command(self, arguments: str, ctx: CommandContext) -> None:
        """Show mode and rules, switch the mode, or revoke grants."""
        word, _, rule = arguments.strip().partition(" ")
        match word:
            case "":
                await self._show_rules(ctx)
            case "next":
                position = CYCLE.index(self.mode) + 1 if self.mode in CYCLE else 0
                await self._switch(CYCLE[position % len(CYCLE)], ctx)
                ctx.ui.notify(f"Permission mode: {MEANINGS[self.mode]}")
            case "forget":
                await self._grants.clear()
                ctx.write("All grants of this session and this project were revoked.\n")
            case "revoke":
                await self._revoke(rule.strip(), ctx)
            case _ if word in MODES:
                await self._switch(next(mode for mode in MODES if mode == word), ctx)
                ctx.write(f"Permission mode: {MEANINGS[self.mode]}\n{KEEP}\n")
            case _:
                choices = ", ".join(MODES)
                ctx.write(f"Unknown mode {word}. Use one of {choices}, or revoke, or forget.\n")

    async def _switch(self, mode: Mode, ctx: CommandContext) -> None:
        # Holds for nested sessions, too, survives /reload and /new, and wins over the flag.
        self._pi.settings.set("permissions.mode", mode, place="session")
        self._show_mode(ctx)
        await self._load(ctx)

    async def _show_rules(self, ctx: CommandContext) -> None:
        if self._file_rules is None:
            await self._load(ctx)
        ctx.write("\n".join(self._report()) + "\n")
        if self._grants.all and ctx.mode == "tui":
            await self._choose_revoked(ctx)

    async def _revoke(self, rule: str, ctx: CommandContext) -> None:
        grants = self._grants.all
        if not grants:
            ctx.write("There are no grants of this session or this project.\n")
        elif not rule and ctx.has_ui:
            await self._choose_revoked(ctx)
        elif revoked := [grant for grant in grants if rule in (grant.rule, grant.label)]:
            await self._remove(revoked, ctx)
        else:
            labels = ", ".join(grant.label for grant in grants)
            ctx.write(f"There is no grant {rule}. Grants: {labels}\n")

    async def _choose_revoked(self, ctx: CommandContext) -> None:
        grants = {grant.label: grant for grant in self._grants.all}
        chosen = await ctx.ui.select("Which grants are revoked?", [*grants], multi=True)
        if chosen:
            await self._remove([grants[label] for label in chosen], ctx)

    async def _remove(self, grants: Sequence[Grant], ctx: CommandContext) -> None:
        for grant in grants:
            await self._grants.revoke(grant)
        ctx.write(f"Revoked: {', '.join(grant.label for grant in grants)}\n")

    def _report(self) -> Iterator[str]:
        yield f"Permission mode: {MEANINGS[self.mode]}"
        if self._mode_problem:
            yield f"  {self._mode_problem}"
        rules = self._all_rules()
        for effect in EFFECTS:
            for rule in rules.of(effect):
                yield f"  {effect}: {rule.text} ({rule.source})"
        if not rules.rules:
            yield "  no rules"
        for message in rules.problems:
            yield f"  invalid: {message}"
        if self._grants.all:
            yield "/permissions revoke RULE removes a grant, /permissions forget removes all."
        if not self._pi.context.is_project_trusted():
            yield "The project is not trusted: its rules are not read. See /trust."


def _without_user(request: ToolRequest, decision: Decision, mode_error: str) -> str:
    reason = "".join(f" {sentence}" for sentence in (decision.reason, mode_error) if sentence)
    rules = ", ".join(f'"{rule}"' for rule in decision.grants)
    hint = f" The user can allow it with permissions.allow: {rules}." if rules else ""
    return f"{request.tool} needs the consent of the user, and no user can answer.{reason}{hint}"
