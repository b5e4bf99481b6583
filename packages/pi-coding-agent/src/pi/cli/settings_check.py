"""Settings check of ``pi doctor``: unknown keys, wrong types, unknown names, no effect."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, Literal, TypeAlias

from pi.ai.messages import Json
from pi.base.clock import SystemClock
from pi.base.files import read_regular
from pi.base.fuzzy import did_you_mean, nearest
from pi.base.records import Record, replace
from pi.cli.theme_files import theme_paths
from pi.coding.blobs.store import BlobOptions
from pi.coding.compaction.options import (
    DEFAULT_STRATEGY,
    BadTokens,
    BranchSummaryOptions,
    CompactionOptions,
    check_tokens,
    known_strategies,
)
from pi.coding.models.registry import ModelRegistry, find_scope
from pi.coding.retry import RetrySettings
from pi.coding.runtime.local_tools import ShellEnvironment, ShellValues
from pi.coding.runtime.models import KEYS, ProviderRetry
from pi.coding.runtime.session.exports import ShareOptions
from pi.coding.runtime.session.policies import RepetitionSettings
from pi.coding.runtime.tool_support import AsyncValues, BashValues, InterceptorValues
from pi.coding.settings.files import SettingsFile
from pi.coding.settings.guards import SECTIONS as SECTIONS_OF_GUARDS
from pi.coding.settings.layers import value_at
from pi.coding.settings.reading import read_record
from pi.coding.settings.setting import Setting
from pi.coding.settings.settings import Settings
from pi.coding.settings.table import SETTINGS, WITHOUT_EFFECT, WRITTEN_BY_PI
from pi.coding.settings.values import Values
from pi.coding.tools.registry import DEFAULT_TOOLS, READ_ONLY_TOOLS
from pi.modes.interactive.theme_file import RESERVED, InvalidTheme, read_theme, theme_name
from pi.modes.interactive.theme_selector import BUILT_IN as BUILT_IN_THEMES
from pi.modes.interactive.theme_selector import themes_in

SECTIONS: tuple[tuple[tuple[str, ...], type[Record]], ...] = (
    ((), Values),
    (("async",), AsyncValues),
    (("bash",), BashValues),
    (("bashInterceptor",), InterceptorValues),
    (("blobs",), BlobOptions),
    (("branchSummary",), BranchSummaryOptions),
    (("compaction",), CompactionOptions),
    (("repetition",), RepetitionSettings),
    (("retry",), RetrySettings),
    (("retry", "provider"), ProviderRetry),
    (("share",), ShareOptions),
    (("shell",), ShellValues),
    (("shell", "env"), ShellEnvironment),
)
"""The records read from the settings; a test finds missing ones."""

TOOLS = tuple(dict.fromkeys((*DEFAULT_TOOLS, *READ_ONLY_TOOLS)))

Severity: TypeAlias = Literal["broken", "missing", "note"]

_ROWS = {setting.name: setting for setting in SETTINGS}
_OBJECTS = dict.fromkeys(
    ".".join(parts[:end])
    for name in (*_ROWS, *WITHOUT_EFFECT)
    for parts in [name.split(".")]
    for end in range(1, len(parts))
)
"""Names that contain further settings."""


class Problem(Record):
    """One finding in the settings."""

    severity: Severity
    text: str
    advice: str


class SettingsCheck:
    """Checks the settings of the user and of a trusted project, file by file."""

    def __init__(
        self,
        settings: Settings,
        registry: ModelRegistry,
        *,
        agent_dir: Path,
        cwd: Path,
        trusted: bool,
        strategies: Collection[str] = (),
    ) -> None:
        self._strategies = strategies
        """Compaction strategies of extensions."""
        self._settings = settings
        self._registry = registry
        self._agent_dir, self._cwd, self._trusted = agent_dir, cwd, trusted
        files = {"user": agent_dir / "settings.json", "project": cwd / ".pi" / "settings.json"}
        self._layers: list[tuple[str, Path, Json]] = [
            (scope, path, raw)
            for scope, path in files.items()
            if isinstance(raw := settings.layer(scope, ()), dict) and raw
        ]

    @property
    def count(self) -> int:
        """Return the number of top-level values."""
        return sum(len(raw) for _, _, raw in self._layers)

    def problems(self) -> Iterator[Problem]:
        """Yield all findings: invalid files, then those of each file, then unknown names."""
        for warning in self._settings.warnings:
            if not warning.startswith("Ignored setting"):  # reported below, with its file
                yield Problem(severity="broken", text=warning, advice="Correct it.")
        yield from self._only_ours()
        try:
            check_tokens(self._settings.raw.get("compaction"))
        except BadTokens as bad:
            advice = "Correct it; no session can start."
            yield Problem(severity="broken", text=bad.message, advice=advice)
        for scope, path, raw in self._layers:
            yield from _wrong_types(raw, path)
            yield from _unknown_keys(raw, path)
            yield from self._without_effect(scope, raw, path)
        yield from self._unknown_names()

    def _only_ours(self) -> Iterator[Problem]:
        """Yield the files with comments or trailing commas."""
        for _, path, _ in self._layers:
            if not SettingsFile(path, clock=SystemClock()).is_plain_json():
                yield Problem(
                    severity="note",
                    text=f"{path} has comments or trailing commas: the original pi cannot read it",
                    advice="Remove them if you use the original, too.",
                )

    # Settings without effect ----------------------------------------------------------------------

    def _without_effect(self, scope: str, raw: Json, path: Path) -> Iterator[Problem]:
        def problem(name: str, why: str, advice: str) -> Problem:
            text = f'"{name}" in {path} has no effect: {why}'
            return Problem(severity="note", text=text, advice=advice)

        for name, why in WITHOUT_EFFECT.items():
            if value_at(raw, name.split(".")) is not None:
                yield problem(name, why, "Remove it.")
        for setting in SETTINGS:
            if value_at(raw, setting.name.split(".")) is None:
                continue
            if scope == "project" and setting.is_global:
                advice = f"Set it in {self._agent_dir}/settings.json."
                yield problem(setting.name, "a project cannot set it", advice)
            elif off := [name for name in setting.needs if not self._is_on(name)]:
                are = "is" if len(off) == 1 else "are"
                names = " and ".join(off)
                yield problem(setting.name, f"{names} {are} off", f"Set {names} to true.")

    def _is_on(self, name: str) -> bool:
        value = value_at(self._settings.raw, name.split("."))
        if isinstance(value, dict):
            return value.get("enabled") is not False
        return bool(_ROWS[name].default if value is None else value)

    # Names of models, themes, tools, strategies ---------------------------------------------------

    def _unknown_names(self) -> Iterator[Problem]:
        values = self._settings.values
        compaction = self._settings.section(("compaction",), CompactionOptions)
        strategy_names = known_strategies(self._strategies)
        for problem in _report_unknown(
            "compaction.strategy", [compaction.strategy], "strategy", strategy_names
        ):
            # Broken, not missing: the user would find out only when the window is full.
            text = f"{problem.text}; {DEFAULT_STRATEGY} is used instead"
            yield replace(problem, severity="broken", text=text)
        if values.theme is not None:
            yield from _report_unknown("theme", values.theme.split("/", 1), "theme", self._themes())
        yield from _report_unknown("defaultTools", values.default_tools, "tool", TOOLS)
        for setting in SETTINGS:
            if setting.choices and setting.kind in ("text", "list"):
                choices = [str(choice) for choice in setting.choices]
                yield from _report_unknown(
                    setting.name, self._string_values(setting), "name", choices, others=False
                )
        yield from self._refused_themes()
        yield from self._unknown_models(values, compaction)
        interceptor = self._settings.section(("bashInterceptor",), InterceptorValues)
        for rule in interceptor.rules or ():
            try:
                re.compile(rule.pattern)
            except re.error as bad:
                yield Problem(
                    severity="broken",
                    text=f'bashInterceptor.rules: "{rule.pattern}" is not a regular expression:'
                    f" {bad}",
                    advice="Correct it; the rule is ignored.",
                )

    def _string_values(self, setting: Setting) -> list[str]:
        """Return the strings of a setting; values of another type are reported elsewhere."""
        value = value_at(self._settings.raw, setting.name.split("."))
        values = value if isinstance(value, list) else [value]
        return [text for text in values if isinstance(text, str) and text]

    def _themes(self) -> list[str]:
        files = theme_paths(
            self._settings, self._agent_dir, self._cwd / ".pi", trusted=self._trusted
        )
        names = [RESERVED]
        for path in (*themes_in(BUILT_IN_THEMES), *files):
            with suppress(OSError):
                names += [theme_name(read_regular(path)) or path.stem, path.stem]
        return names

    def _refused_themes(self) -> Iterator[Problem]:
        """Yield the theme files that cannot be used."""
        for path in theme_paths(
            self._settings, self._agent_dir, self._cwd / ".pi", trusted=self._trusted
        ):
            try:
                read_theme(read_regular(path), str(path))
            except OSError as error:
                yield Problem(severity="broken", text=f"theme {path}: {error.strerror}", advice="")
            except InvalidTheme as error:
                advice = error.hint or "Correct it; the theme is not offered."
                yield Problem(severity="broken", text=f"theme {error.message}", advice=advice)

    def _unknown_models(self, values: Values, compaction: CompactionOptions) -> Iterator[Problem]:
        provider_names = [row.id for row in self._registry.models.get_providers()]
        provider = values.default_provider
        if provider is not None:
            yield from _report_unknown("defaultProvider", [provider], "provider", provider_names)
        if values.default_model is not None and (provider is None or provider in provider_names):
            name = f"{provider}/{values.default_model}" if provider else values.default_model
            yield from self._unknown_patterns("defaultModel", [name])
        yield from self._unknown_patterns("enabledModels", values.enabled_models or ())
        yield from self._unknown_patterns("modelThinkingLevels", values.model_thinking_levels)
        yield from self._unknown_patterns("compaction.modelOverrides", compaction.model_overrides)
        yield from self._unknown_patterns("compaction.fallbackModels", compaction.fallback_models)

    def _unknown_patterns(self, setting: str, patterns: Collection[str]) -> Iterator[Problem]:
        models = self._registry.get_all()
        names = [f"{model.provider}/{model.id}" for model in models]
        for pattern in patterns:
            # Some providers list their models only on request, and doctor sends no requests.
            owner, _, model_id = pattern.partition("/")
            if self._registry.is_undiscovered(owner) or self._registry.find(owner, model_id):
                continue
            if not find_scope([pattern], models, usable=lambda provider: True):
                yield Problem(
                    severity="missing",
                    text=f'{setting}: no known model matches "{pattern}"',
                    advice=did_you_mean(pattern, names)
                    or "`pi models` lists the available models.",
                )


def _report_unknown(
    setting: str,
    names: Sequence[str],
    kind: str,
    known_names: Sequence[str],
    *,
    others: bool = True,
) -> Iterator[Problem]:
    """Yield the names that are not known; with ``others``, extensions may add more."""
    for name in names:
        if name not in known_names:
            suggestion = (
                did_you_mean(name, known_names)
                or f"Known: {', '.join(dict.fromkeys(known_names))}."
            )
            yield Problem(
                severity="missing",
                text=f'{setting}: unknown {kind} "{name}"',
                advice=f"{suggestion} An extension or a package may add others."
                if others
                else suggestion,
            )


# Types --------------------------------------------------------------------------------------------


def _wrong_types(raw: Json, path: Path) -> Iterator[Problem]:
    warnings: list[str] = []
    for section, kind in SECTIONS:
        value = value_at(raw, section) if section else raw
        if value is not None:
            read_record(kind, value, warn=warnings.append, section=".".join(section))
    texts = [text.removeprefix("Ignored setting ") for text in warnings]
    reported = {text.split('"')[1] for text in texts}
    texts += [
        f'"{setting.name}": expected {expected}, got {value!r}'
        for setting in SETTINGS
        if setting.name not in reported
        if (value := value_at(raw, setting.name.split("."))) is not None
        if (expected := _describe_mismatch(setting, value))
    ]
    for text in dict.fromkeys(texts):
        yield Problem(
            severity="broken", text=f"{text} in {path}", advice="Correct it; it is ignored."
        )


def _describe_mismatch(setting: Setting, value: Any) -> str:
    """Return the expected type or range if ``value`` does not match; otherwise an empty string.

    Nested structures are checked by the records of ``SECTIONS``.
    """
    match setting.kind:
        case "choice" if value not in setting.choices or type(value) is int:
            return " or ".join(str(choice).lower() for choice in setting.choices)
        case "number" if value not in setting.words:
            upper = "" if setting.most is None else f" and at most {setting.most}"
            fits = isinstance(value, int | float) and not isinstance(value, bool)
            if not fits or value < setting.least or value > (setting.most or value):
                words = "".join(f", or {word}" for word in setting.words)
                return f"a number of at least {setting.least}{upper}{words}"
        case "text" if not isinstance(value, str):
            return "a string"
        case "list" if not (
            isinstance(value, list) and all(isinstance(element, str) for element in value)
        ):
            return "a list of strings"
    return ""


# Keys ---------------------------------------------------------------------------------------------


def _unknown_keys(raw: Json, path: Path, below: str = "") -> Iterator[Problem]:
    for key, value in raw.items():
        name = f"{below}{key}"
        if name in _OBJECTS:
            if isinstance(value, dict):
                yield from _unknown_keys(value, path, f"{name}.")
        elif below.removesuffix(".") in SECTIONS_OF_GUARDS:
            continue  # reported when it was read
        elif name not in (*_ROWS, *WITHOUT_EFFECT, *WRITTEN_BY_PI, KEYS, "$schema"):
            like = _nearest_name(key, below, holds_more=isinstance(value, dict))
            yield Problem(
                severity="missing" if like else "note",
                text=f'unknown key "{name}" in {path}',
                advice=f'Did you mean "{like}"?'
                if like
                else "Remove it, unless an extension reads it.",
            )


def _nearest_name(key: str, below: str, *, holds_more: bool) -> str | None:
    """Return the most similar known name: in the same object, else in any object."""
    structured = [name for name, row in _ROWS.items() if row.kind == "json"]
    names = [*_OBJECTS, *structured] if holds_more else [*_ROWS]
    names_below = [
        name for name in names if name.startswith(below) and "." not in name[len(below) :]
    ]
    if like := nearest(f"{below}{key}", names_below):
        return like
    last = {name.rpartition(".")[2]: name for name in reversed(names)}
    return last.get(nearest(key, last) or "")
