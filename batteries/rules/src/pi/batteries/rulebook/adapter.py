"""Sorts rules into buckets and connects them to a session: prompt, ``rule://``, ``/rules``."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence
from difflib import get_close_matches
from html import escape
from pathlib import Path
from typing import Any, Literal, TypeAlias

from pi.extension import (
    Boundary,
    CommandContext,
    CustomMessageEntry,
    ExtensionAPI,
    ExtensionContext,
    FileChange,
    FileWrite,
    FileWritten,
    Next,
    Policy,
    Record,
    Resource,
    ResourceItem,
    ResourceRef,
    ResourceWindow,
    Rule,
    SessionStartEvent,
    ToolCall,
    ToolFailed,
    ToolResult,
    path_matches,
    replace,
)

Bucket: TypeAlias = Literal["stream", "always", "on touch", "rulebook", "unused"]
Globs: TypeAlias = Literal["show", "enforce"]
Shorten: TypeAlias = Callable[[str], str]
"""Shortens a path for display."""

HEADING = "# Rules\nRead rule://<name> when working in matching domain."


class SortedRule(Record):
    """A rule with its bucket."""

    rule: Rule
    bucket: Bucket
    why: str
    """Why it is in this bucket, for ``/rules``."""
    source: str
    """The agent whose rule it is."""
    scope: str = ""
    """``user`` or ``project``."""

    @property
    def name(self) -> str:
        """The name of the rule."""
        return self.rule.name

    @property
    def is_readable(self) -> bool:
        """Whether ``rule://NAME`` returns its text."""
        return self.bucket in ("always", "on touch", "rulebook")


def sort_rules(
    items: Sequence[ResourceItem],
    *,
    stream_rules: Collection[str] = (),
    disabled: Collection[str] = (),
    globs: Globs = "show",
) -> tuple[SortedRule, ...]:
    """Return the rules with their buckets, in the order of ``items``.

    ``stream_rules`` are the names of the rules that the stream rules use: a rule with conditions
    that is not among them goes to another bucket.
    """
    used = {item.key: item for item in items if not item.shadowed}
    return tuple(_sort_rule(item, used, stream_rules, disabled, globs) for item in items)


def _sort_rule(
    item: ResourceItem,
    used: dict[str, ResourceItem],
    stream_rules: Collection[str],
    disabled: Collection[str],
    globs: Globs,
) -> SortedRule:
    rule: Rule = item.value
    bucket, why = _bucket(rule, stream_rules, disabled, globs)
    if item.shadowed:
        bucket, why = "unused", f"shadowed by {used[item.key].path}"
    return SortedRule(rule=rule, bucket=bucket, why=why, source=item.source, scope=item.scope)


def _bucket(
    rule: Rule, stream_rules: Collection[str], disabled: Collection[str], globs: Globs
) -> tuple[Bucket, str]:
    only_condition = "has only a condition, and stream rules do not use it"
    enforced = rule.always_apply and rule.globs and globs == "enforce"
    # The first condition that holds decides: a rule is in one bucket only.
    choices: tuple[tuple[object, Bucket, str], ...] = (
        (not rule.enabled, "unused", "enabled: false"),
        (rule.name in disabled, "unused", "listed in ttsr.disabledRules"),
        (rule.name in stream_rules, "stream", "has a condition"),
        (enforced, "on touch", f"alwaysApply, for {', '.join(rule.globs)}"),
        (rule.always_apply, "always", "alwaysApply"),
        (rule.description, "rulebook", "has a description"),
        (rule.conditions or rule.ast_conditions, "unused", only_condition),
        (True, "unused", "neither alwaysApply nor a description"),
    )
    return next((bucket, why) for holds, bucket, why in choices if holds)


def always_section(rules: Iterable[SortedRule]) -> str:
    """The texts of the rules that always apply."""
    return "\n\n".join(rule.rule.content for rule in rules if rule.bucket == "always")


def rulebook_section(rules: Iterable[SortedRule]) -> str:
    """The names and descriptions of the rules that the model reads on demand."""
    listed = [_list_line(rule.rule) for rule in rules if rule.bucket == "rulebook"]
    return "\n".join((HEADING, *listed)) if listed else ""


def _list_line(rule: Rule) -> str:
    globs = "".join(f"<glob>{escape(glob, quote=False)}</glob>" for glob in rule.globs)
    description = escape(" ".join(rule.description.split()), quote=False)
    return f'<rule name="{escape(rule.name)}">{description}{globs}</rule>'


_TITLES: tuple[tuple[Bucket, str], ...] = (
    ("always", "In every prompt"),
    ("on touch", "Sent when a matching file is read or written"),
    ("rulebook", "Offered to the model as rule://NAME"),
    ("stream", "Stream rules: an answer that breaks one is interrupted"),
    ("unused", "Not used"),
)


def report(rules: Sequence[SortedRule], notes: Sequence[str], shorten: Shorten = str) -> str:
    """The text of ``/rules``: every rule with its bucket, the reason, and its file."""
    lines: list[str] = []
    for bucket, title in _TITLES:
        rows = [rule for rule in rules if rule.bucket == bucket]
        if rows:
            lines += ("", f"{title}:", *(f"  {_row(row, shorten)}" for row in rows))
    if not lines:
        lines = ["", "There are no rules. Write one into .pi/rules/NAME.md."]
    return "\n".join((*notes, *lines)).strip()


def _row(rule: SortedRule, shorten: Shorten) -> str:
    origin = ", ".join(filter(None, (rule.source, rule.scope, shorten(rule.rule.path))))
    globs = f" [{', '.join(rule.rule.globs)}]" if rule.rule.globs else ""
    return f"{rule.name}{globs}: {rule.why} ({origin})"


def details(rules: Sequence[SortedRule], shorten: Shorten = str) -> str:
    """The text of ``/rules NAME``: all rules of that name, and the content of the first."""
    return "\n".join((*(_row(rule, shorten) for rule in rules), "", rules[0].rule.content))


MESSAGE = "rulebook-rules"
_TEXT = """\
<system-reminder reason="rule" rule="{name}">
This rule applies to {path}, which you have just used. Follow it from now on.

{content}
</system-reminder>"""


class GlobRules(Policy):
    """Collects the files that a turn touches, and sends the rules for them at its end."""

    def __init__(self, ctx: ExtensionContext, rules: Callable[[], Sequence[SortedRule]]) -> None:
        self._ctx = ctx
        self._rules = rules
        self._touched: dict[str, None] = {}

    async def after_tool(self, call: ToolCall, result: ToolResult) -> ToolResult:
        """Record a file that was read."""
        path = call.arguments.get("path")
        if call.name == "read" and isinstance(path, str) and not result.is_error:
            self._touched[path] = None
        return result

    async def write(self, change: FileChange, write: FileWrite) -> FileWritten:
        """File layer: record a file that was written by any tool."""
        written = await write(change)
        self._touched[str(change.path)] = None
        return written

    async def at_boundary(self, at: Boundary) -> Next:
        """Send the rules of the touched files that are not in the context."""
        if at.kind != "turn" or not self._touched:
            return at.next
        paths, self._touched = [*self._touched], {}
        names_in_context = self._in_context()
        texts, names = [], []
        for rule in self._rules():
            path = _first_match(rule, paths, Path(self._ctx.cwd))
            if path is not None and rule.name not in names_in_context:
                texts.append(_TEXT.format(name=rule.name, path=path, content=rule.rule.content))
                names.append(rule.name)
        if not names:
            return at.next
        entry = CustomMessageEntry(
            custom_type=MESSAGE,
            content="\n\n".join(texts),
            display=False,
            details={"rules": names},
        )
        return replace(at.next, entries=(*at.next.entries, entry))

    def _in_context(self) -> set[str]:
        """Names of the rules in the context; a compaction may have removed some."""
        names: set[str] = set()
        for entry in self._ctx.session_manager.build_context_entries():
            match entry:
                case CustomMessageEntry(
                    custom_type="rulebook-rules", details={"rules": [*rule_names]}
                ):
                    names.update(map(str, rule_names))
        return names


def _first_match(rule: SortedRule, paths: Sequence[str], cwd: Path) -> str | None:
    return next((path for path in paths if path_matches(rule.rule.globs, path, cwd)), None)


SETTINGS: tuple[tuple[str, Any, Any, str], ...] = (
    ("rulebook.enabled", bool, False, "rules in the prompt, and rule://NAME"),
    ("rulebook.globs", Globs, "show", "whether globs are shown or enforced"),
    ("ttsr.disabledRules", tuple[str, ...], (), "names of rules that are not used"),
)


def extension(pi: ExtensionAPI) -> None:
    """Register the command; sections, scheme and policy are added at the start of the session."""
    pi.settings.declare_all(SETTINGS)
    book = Rulebook(pi)
    pi.register_command("rules", book.command, description="show which rules apply, and why")
    pi.on("session_start", book.start)


class Rulebook:
    """The rules of one session. They are read once, so that the prompt stays the same."""

    def __init__(self, pi: ExtensionAPI) -> None:
        self._pi = pi
        self._rules: tuple[SortedRule, ...] | None = None

    @property
    def rules(self) -> tuple[SortedRule, ...]:
        """All rules, sorted; read when first needed."""
        if self._rules is None:
            self._rules = self._load()
        return self._rules

    def start(self, event: SessionStartEvent, ctx: ExtensionContext) -> None:
        """Read the rules if the rulebook is on; later changes of files need a reload."""
        get = self._pi.settings.get
        if get("rulebook.enabled") is not True:
            return
        rules = self.rules
        # The prompt has the sections in this order.
        self._pi.add_section("always_rules", always_section(rules))
        self._pi.add_section("rulebook", rulebook_section(rules))
        self._pi.add_scheme("rule", self)
        if get("rulebook.globs") == "enforce":
            enforced = GlobRules(ctx, self.on_touch)
            self._pi.add_policy(enforced)
            self._pi.wrap_files(enforced.write)

    def on_touch(self) -> list[SortedRule]:
        """The rules that are sent when a matching file is touched."""
        return [rule for rule in self.rules if rule.bucket == "on touch"]

    def _load(self) -> tuple[SortedRule, ...]:
        get = self._pi.settings.get
        stream = self._pi.service("stream_rules")
        stream_names = () if stream is None else {rule.name for rule in stream.rules}
        rules = sort_rules(
            self._pi.context.resources.load("rules"),
            stream_rules=stream_names,
            disabled=get("ttsr.disabledRules"),
            globs=get("rulebook.globs"),
        )
        names = {rule.name for rule in rules}
        bundled = () if stream is None else (r for r in stream.rules if r.name not in names)
        return rules + tuple(
            SortedRule(rule=r.rule, bucket="stream", why=r.rule.description, source=r.source)
            for r in bundled
        )

    # ``rule://NAME`` ------------------------------------------------------------------------------

    async def read(self, ref: ResourceRef, window: ResourceWindow) -> Resource:
        """The text of a rule, without its front matter. Raises ``ToolFailed``."""
        readable = {rule.name: rule for rule in self.rules if rule.is_readable}
        if ref.rest in readable:
            return Resource(text=readable[ref.rest].rule.content, media_type="text/markdown")
        names = ", ".join(sorted(readable)) or "none"
        raise ToolFailed(f"Unknown rule: {ref.rest}. Available rules: {names}")

    def complete(self, prefix: str) -> list[str]:
        """The names of all readable rules."""
        return [rule.name for rule in self.rules if rule.is_readable]

    # ``/rules`` -----------------------------------------------------------------------------------

    async def command(self, arguments: str, ctx: CommandContext) -> None:
        """Show all rules, or one."""
        name = arguments.strip()
        if name:
            ctx.write(self._rule_details(name) + "\n")
        else:
            ctx.write(report(self.rules, self._notes(), self._short_path) + "\n")

    def _rule_details(self, name: str) -> str:
        rules = [rule for rule in self.rules if rule.name == name]
        if rules:
            return details(rules, self._short_path)
        names = sorted({rule.name for rule in self.rules})
        near = get_close_matches(name, names, 1)
        hint = f"Did you mean {near[0]}?" if near else f"There are: {', '.join(names) or 'none'}."
        return f"Unknown rule {name}. {hint}"

    def _short_path(self, path: str) -> str:
        """A path relative to the project or to ``~``; empty for bundled files."""
        file, ctx = Path(path), self._pi.context
        home = Path(ctx.environ.get("HOME") or "~")
        if file.is_relative_to(ctx.cwd):
            return str(file.relative_to(ctx.cwd))
        if file.is_relative_to(Path(__file__).parents[1]):
            return ""
        return f"~/{file.relative_to(home)}" if file.is_relative_to(home) else path

    def _notes(self) -> list[str]:
        notes = []
        if self._pi.settings.get("rulebook.enabled") is not True:
            notes.append("The rulebook is off: set rulebook.enabled to use these rules.")
        stream = self._pi.service("stream_rules")
        if stream is None:
            notes.append("Stream rules are off: set ttsr.enabled to use conditions.")
        elif stream.note:
            notes.append(stream.note)
        if not self._pi.context.is_project_trusted():
            notes.append("The project is not trusted: its rules are not read. See /trust.")
        return notes
