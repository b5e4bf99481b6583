"""Connects the rulebook to a session: prompt sections, ``rule://``, ``/rules``."""

from __future__ import annotations

from difflib import get_close_matches
from pathlib import Path
from typing import Any

from pi.batteries.rulebook.buckets import (
    Globs,
    SortedRule,
    always_section,
    details,
    report,
    rulebook_section,
    sort_rules,
)
from pi.batteries.rulebook.enforcing import GlobRules
from pi.extension import (
    CommandContext,
    ExtensionAPI,
    ExtensionContext,
    Resource,
    ResourceRef,
    ResourceWindow,
    SessionStartEvent,
    ToolFailed,
)

SETTINGS: tuple[tuple[str, Any, Any, str], ...] = (
    ("rulebook.enabled", bool, False, "rules in the prompt, and rule://NAME"),
    ("rulebook.globs", Globs, "show", "whether globs are shown or enforced"),
    ("ttsr.disabledRules", tuple[str, ...], (), "names of rules that are not used"),
)


def extension(pi: ExtensionAPI) -> None:
    """Register the command; the rest follows when the session starts, if the rulebook is on."""
    for name, kind, default, help in SETTINGS:
        pi.settings.declare(name, kind, default, help)
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
        """Read the rules, if the rulebook is on; files that change later count after a reload."""
        get = self._pi.settings.get
        if get("rulebook.enabled") is not True:
            return
        rules = self.rules
        # The first section comes first in the prompt.
        self._pi.add_section("always_rules", always_section(rules))
        self._pi.add_section("rulebook", rulebook_section(rules))
        self._pi.add_scheme("rule", self)
        if get("rulebook.globs") == "enforce":
            enforced = GlobRules(ctx, self.on_touch)
            self._pi.add_policy(enforced)
            self._pi.wrap_files(enforced.write)

    def on_touch(self) -> list[SortedRule]:
        """The rules that are sent when a matching file is touched."""
        return [each for each in self.rules if each.bucket == "on touch"]

    def _load(self) -> tuple[SortedRule, ...]:
        get = self._pi.settings.get
        stream = self._pi.service("stream_rules")
        taken = () if stream is None else {rule.name for rule in stream.rules}
        found = sort_rules(
            self._pi.context.resources.load("rules"),
            stream_rules=taken,
            disabled=get("ttsr.disabledRules"),
            globs=get("rulebook.globs"),
        )
        names = {each.name for each in found}
        bundled = () if stream is None else (r for r in stream.rules if r.name not in names)
        return found + tuple(
            SortedRule(rule=r.rule, bucket="stream", why=r.rule.description, source=r.source)
            for r in bundled
        )

    # ``rule://NAME`` ------------------------------------------------------------------------------

    async def read(self, ref: ResourceRef, window: ResourceWindow) -> Resource:
        """The text of a rule, without its front matter."""
        readable = {each.name: each for each in self.rules if each.is_readable}
        if ref.rest in readable:
            return Resource(text=readable[ref.rest].rule.content, media_type="text/markdown")
        known = ", ".join(sorted(readable)) or "none"
        raise ToolFailed(f"Unknown rule: {ref.rest}. Available rules: {known}")

    def complete(self, prefix: str) -> list[str]:
        """The names of all readable rules."""
        return [each.name for each in self.rules if each.is_readable]

    # ``/rules`` -----------------------------------------------------------------------------------

    async def command(self, arguments: str, ctx: CommandContext) -> None:
        """Show all rules, or one."""
        name = arguments.strip()
        if name:
            ctx.write(self._one(name) + "\n")
        else:
            ctx.write(report(self.rules, self._notes(), self._shown) + "\n")

    def _one(self, name: str) -> str:
        rules = [each for each in self.rules if each.name == name]
        if rules:
            return details(rules, self._shown)
        known = sorted({each.name for each in self.rules})
        near = get_close_matches(name, known, 1)
        hint = f"Did you mean {near[0]}?" if near else f"There are: {', '.join(known) or 'none'}."
        return f"Unknown rule {name}. {hint}"

    def _shown(self, path: str) -> str:
        """A path below the project or the home directory; nothing for what comes with pi."""
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
        if self._pi.service("stream_rules") is None:
            notes.append("Stream rules are off: set ttsr.enabled to use conditions.")
        if not self._pi.context.is_project_trusted():
            notes.append("The project is not trusted: its rules are not read. See /trust.")
        return notes
