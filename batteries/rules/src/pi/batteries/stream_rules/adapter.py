"""Connects stream rules to a session: settings, loading, events, and the state of the branch."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from importlib.resources import files
from pathlib import Path
from typing import Any

from pi.batteries.stream_rules.decisions import Decisions
from pi.batteries.stream_rules.injections import RepeatState
from pi.batteries.stream_rules.matcher import SlowMatcher
from pi.batteries.stream_rules.patterns import load_re2
from pi.batteries.stream_rules.policy import StreamRulesPolicy
from pi.batteries.stream_rules.rules import (
    ContextMode,
    InterruptMode,
    Registered,
    RepeatMode,
    StreamRule,
    StreamSettings,
    register,
)
from pi.coding.resources.rules import parse_rule
from pi.extension import (
    ExtensionAPI,
    ExtensionContext,
    Registration,
    Rule,
    SessionStartEvent,
    SessionTreeEvent,
    can_parse_syntax,
    install_hint,
)

SETTINGS: tuple[tuple[str, Any, Any, str], ...] = (
    ("ttsr.enabled", bool, False, "interrupt answers that break a rule"),
    ("ttsr.contextMode", ContextMode, "discard", "what becomes of an interrupted answer"),
    ("ttsr.interruptMode", InterruptMode, "always", "which matches interrupt"),
    ("ttsr.repeatMode", RepeatMode, "once", "whether a rule is injected again"),
    ("ttsr.repeatGap", int, 10, "turns between two injections of a rule"),
    ("ttsr.builtinRules", bool, True, "use the bundled rules"),
    ("ttsr.disabledRules", tuple[str, ...], (), "names of rules that are not used"),
)
SERVICE = "stream_rules"
"""Name of the service with which other extensions list the stream rules."""
BUILTIN = "builtin-defaults"


def extension(pi: ExtensionAPI) -> None:
    """Declare the settings; the rules are loaded when the session starts."""
    pi.settings.declare_all(SETTINGS)
    session = SessionRules(pi)
    pi.provide(SERVICE, session)
    pi.on("session_start", session.start)
    pi.on("session_tree", session.restore)


class SessionRules:
    """The stream rules of one session; also the service for other extensions."""

    def __init__(self, pi: ExtensionAPI) -> None:
        self._pi = pi
        self._registered: Registered | None = None
        self._repeat = RepeatState()
        self._policy: Registration | None = None

    @property
    def rules(self) -> tuple[StreamRule, ...]:
        """All stream rules; none if ``ttsr.enabled`` is off. Loaded at the first access."""
        return self._load().rules

    @property
    def note(self) -> str:
        """What another library would change, for ``/rules``; rules work without it."""
        if not self.rules or load_re2() is not None:
            return ""
        return (
            "google-re2 is not installed: rules are checked when a block of an answer is complete,"
            f" not while it streams. {install_hint('rules')}"
        )

    def _load(self) -> Registered:
        if self._registered is None:
            self._registered = self._registered_now()
        return self._registered

    def _registered_now(self) -> Registered:
        if self._pi.settings.get("ttsr.enabled") is not True:
            return Registered()
        settings = self._settings()
        loaded = self._pi.context.resources.load("rules")
        loaded_rules = [(item.value, item.source) for item in loaded if not item.shadowed]
        if settings.builtin_rules:
            names = {rule.name for rule, _ in loaded_rules}
            loaded_rules += ((rule, BUILTIN) for rule in bundled_rules() if rule.name not in names)
        tools = [tool.name for tool in self._pi.get_all_tools()]
        return register(loaded_rules, settings, tools, load_re2())

    def _settings(self) -> StreamSettings:
        get = self._pi.settings.get
        return StreamSettings(
            context_mode=get("ttsr.contextMode"),
            interrupt_mode=get("ttsr.interruptMode"),
            repeat_mode=get("ttsr.repeatMode"),
            repeat_gap=max(get("ttsr.repeatGap"), 0),
            builtin_rules=get("ttsr.builtinRules"),
            disabled_rules=get("ttsr.disabledRules"),
        )

    def start(self, event: SessionStartEvent, ctx: ExtensionContext) -> None:
        """Load the rules, report problems, and add the policy if there are rules."""
        registered = self._load()
        for warning in registered.warnings:
            self._complain(warning)
        if not registered.rules:
            return
        self._complain_about_trees(registered.rules)
        self.restore(None, ctx)
        decisions = Decisions(
            self._repeat,
            paths={rule.name: self._shown_path(rule) for rule in registered.rules},
            context_mode=lambda: self._pi.settings.get("ttsr.contextMode"),
            triggered=self._notify_interrupt,
            reminded=self._notify_reminder,
            silenced=self._notify_silenced,
        )
        policy = StreamRulesPolicy(
            registered.rules,
            re2=load_re2(),
            ctx=ctx,
            slow=SlowMatcher(self._pi, self._complain),
            decisions=decisions,
        )
        # First: other extensions see that an answer was rejected.
        self._policy = self._pi.add_policy(policy, at="first")

    def restore(self, event: SessionTreeEvent | None, ctx: ExtensionContext) -> None:
        """Read from the branch which rules were injected."""
        self._repeat.restore(ctx.session_manager.get_branch())

    def _notify_reminder(self, rules: Sequence[StreamRule]) -> None:
        names = ", ".join(rule.name for rule in rules)
        self._pi.context.ui.notify(f"Rule {names} matched; the model is reminded.", "info")

    def _notify_interrupt(self, rules: Sequence[StreamRule], reason: str) -> None:
        data = {"rules": [_as_json(rule) for rule in rules]}
        # Not awaited: the interrupt must not wait for subscribers.
        self._pi.scope.spawn(self._pi.publish("ttsr_triggered", data), name="ttsr_triggered")
        ctx = self._pi.context
        # In the TUI a discarded answer shows the reason itself.
        if ctx.mode != "tui" or self._pi.settings.get("ttsr.contextMode") == "keep":
            ctx.ui.notify(reason, "warning")

    def _notify_silenced(self, names: Sequence[str]) -> None:
        self._complain(
            f"Rule {', '.join(names)} matched several answers in a row."
            " It is silenced for this session."
        )

    def _complain(self, text: str) -> None:
        self._pi.log.warning("%s", text)
        self._pi.warn(text, kind="warning")

    def _complain_about_trees(self, rules: Sequence[StreamRule]) -> None:
        """Report conditions that have no effect: without the library they are never checked."""
        trees = [rule.name for rule in rules if rule.ast]
        if trees and not can_parse_syntax():
            names = ", ".join(trees)
            hint = install_hint("rules")
            self._complain(
                f"ast-grep is not installed: astCondition is not checked ({names}). {hint}"
            )

    def _shown_path(self, rule: StreamRule) -> str:
        """The path for the model: relative to the project, or the file name only."""
        path, cwd = Path(rule.rule.path), Path(self._pi.context.cwd)
        if rule.source == BUILTIN:
            return f"pi:{rule.name}"
        return str(path.relative_to(cwd)) if path.is_relative_to(cwd) else path.name


def bundled_rules() -> Iterator[Rule]:
    """The rules that come with pi."""
    folder = files("pi.batteries.stream_rules") / "bundled"
    for file in sorted(folder.iterdir(), key=lambda path: path.name):
        if file.name.endswith(".md"):
            yield parse_rule(file.read_text("utf-8"), Path(str(file)))


def _as_json(rule: StreamRule) -> dict[str, Any]:
    """A rule for the event, with the field names of rule files."""
    return {
        "name": rule.name,
        "path": rule.rule.path,
        "content": rule.rule.content,
        "description": rule.rule.description,
        "condition": [condition.source for condition in rule.conditions],
        "astCondition": [*rule.ast],
        "scope": [*rule.rule.scopes],
        "globs": [*rule.rule.globs],
        "interruptMode": rule.interrupt_mode,
        "source": rule.source,
    }
