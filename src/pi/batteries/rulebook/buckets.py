"""Sorts rules into buckets, and writes the two sections of the prompt. Pure."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence
from html import escape
from typing import Literal, TypeAlias

from pi.extension import Record, ResourceItem, Rule

Bucket: TypeAlias = Literal["stream", "always", "on touch", "rulebook", "unused"]
Globs: TypeAlias = Literal["show", "enforce"]
Shorten: TypeAlias = Callable[[str], str]
"""Returns a path as the user knows it."""

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
    """Sort rules, highest priority first; a rule is in one bucket only.

    ``stream_rules`` are the names that the stream rules have taken: a rule whose conditions are not
    used falls back to its other bucket.
    """
    used = {item.key: item for item in items if not item.shadowed}
    return tuple(_sorted(item, used, stream_rules, disabled, globs) for item in items)


def _sorted(
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
    # The first that holds: a rule is in one bucket only.
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
    return "\n\n".join(each.rule.content for each in rules if each.bucket == "always")


def rulebook_section(rules: Iterable[SortedRule]) -> str:
    """The names and descriptions of the rules that the model reads on demand."""
    listed = [_listed(each.rule) for each in rules if each.bucket == "rulebook"]
    return "\n".join((HEADING, *listed)) if listed else ""


def _listed(rule: Rule) -> str:
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
    """What ``/rules`` shows: every rule with its bucket, the reason, and its file."""
    lines: list[str] = []
    for bucket, title in _TITLES:
        rows = [each for each in rules if each.bucket == bucket]
        if rows:
            lines += ("", f"{title}:", *(f"  {_row(each, shorten)}" for each in rows))
    if not lines:
        lines = ["", "There are no rules. Write one into .pi/rules/NAME.md."]
    return "\n".join((*notes, *lines)).strip()


def _row(each: SortedRule, shorten: Shorten) -> str:
    place = ", ".join(filter(None, (each.source, each.scope, shorten(each.rule.path))))
    globs = f" [{', '.join(each.rule.globs)}]" if each.rule.globs else ""
    return f"{each.name}{globs}: {each.why} ({place})"


def details(rules: Sequence[SortedRule], shorten: Shorten = str) -> str:
    """What ``/rules NAME`` shows: all rules of that name, and the text of the first."""
    return "\n".join((*(_row(each, shorten) for each in rules), "", rules[0].rule.content))
