"""``Settings``: layers of settings that merge; validates, merges and writes them.

The settings of a session are a value of that session: a session that gets the settings of another
one derives its own from them (``derived``), and those of a nested session can only be stricter.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any, Literal, TypeAlias
from weakref import WeakSet

from pi.ai.messages import Json
from pi.base.clock import Clock, SystemClock
from pi.base.errors import PiError
from pi.base.records import Record
from pi.coding.settings.files import BadSettings, ConfigFile, SettingsFile
from pi.coding.settings.guards import (
    BATTERIES,
    RECOMMENDED,
    checked_guards,
    restrictions,
    strictest_guards,
    tightened,
)
from pi.coding.settings.layers import merge_layers, migrated, nested, value_at, with_value
from pi.coding.settings.reading import R, read_record
from pi.coding.settings.values import GLOBAL_ONLY, Values

Unreadable: TypeAlias = Literal["refuse", "strictest"]
"""What a file that cannot be read does: ``load`` raises ``BadSettings``, or the file counts as
empty and all guards are at their strictest."""


class Settings:
    """Layers of settings: defaults, user, project, overlays, overrides; later ones take precedence.

    The project's files count only if they are trusted. With ``batteries: "recommended"``, the
    settings that batteries recommend are added to the defaults. ``warnings`` lists invalid values
    among those that were read. Nothing is read before ``load``.
    """

    def __init__(
        self,
        user: SettingsFile | None = None,
        project: SettingsFile | None = None,
        *,
        overrides: Json | None = None,
        overlays: Sequence[ConfigFile] = (),
        unreadable: Unreadable = "refuse",
    ) -> None:
        self.warnings: list[str] = []
        self._user_file, self._project_file = user, project
        self._overlay_files = tuple(overlays)
        self._unreadable = unreadable
        self._is_strictest = False
        """Whether a file could not be read, so that all guards are at their strictest."""
        self._user: Json = {}
        self._project: Json = {}
        self._overlay: Json = {}
        self._overrides = migrated(overrides or {})
        self._recommended: Callable[[], Json] = dict
        self._parent: Settings | None = None
        self._is_nested = False
        self._derived: WeakSet[Settings] = WeakSet()
        """Weak, because a session has no duty to end its settings."""
        self.raw: Json = dict(self._overrides)
        """All layers merged, as JSON, unknown names included."""
        self._sections: dict[tuple[tuple[str, ...], type[Record]], Record] = {}
        self._listeners: list[Callable[[], None]] = []
        self._report: Callable[[str], None] | None = None

    @classmethod
    def of(
        cls,
        agent_dir: Path,
        cwd: Path,
        *,
        trusted: bool = False,
        clock: Clock | None = None,
        overlays: Sequence[ConfigFile] = (),
        unreadable: Unreadable = "refuse",
    ) -> Settings:
        """Read the settings of the user and, if trusted, of the project.

        Raises ``BadSettings`` for a file that cannot be read, unless ``unreadable`` is "strictest".
        """
        clock = clock or SystemClock()
        user = SettingsFile(agent_dir / "settings.json", clock=clock)
        settings = cls(user, overlays=overlays, unreadable=unreadable)
        settings.load()
        if trusted:
            settings.trust_project(SettingsFile(cwd / ".pi" / "settings.json", clock=clock))
        return settings

    @classmethod
    def in_memory(cls, values: Json | None = None) -> Settings:
        """Make settings without files, for tests and for programs that embed pi.

        Dotted names are paths, as in ``set``: ``{"compaction.enabled": False}``.
        """
        settings = cls(overrides=nested(values or {}))
        settings.load()
        return settings

    def derived(self, *, nested: bool = False) -> Settings:
        """Return the settings of another session that follow these ones.

        What the other session sets for itself, and what it recommends, does not change these.
        Values to store go to the files of these settings. Those of a ``nested`` session store
        nothing, and their guards are at least as strict as here.
        """
        child = Settings()
        child._parent, child._is_nested = self, nested
        self._derived.add(child)
        child._merge()
        return child

    # Reading --------------------------------------------------------------------------------------

    def load(self) -> None:
        """Read the files again.

        Raises ``BadSettings`` for a file that cannot be read; then the settings stay as they were.
        """
        before = self.warnings, self._is_strictest
        self.warnings, self._is_strictest = [], False
        try:
            user, project = self._read(self._user_file), self._read(self._project_file)
            overlay: Json = {}
            for file in self._overlay_files:
                overlay = merge_layers(overlay, self._read_one(file))
        except BadSettings:
            self.warnings, self._is_strictest = before
            raise
        self._user, self._project, self._overlay = user, project, overlay
        self._merge()

    def trust_project(self, file: SettingsFile) -> None:
        """Include the project's file from now on. Raises ``BadSettings`` if it cannot be read."""
        self._project = self._read(file)
        self._project_file = file
        self._merge()

    @cached_property
    def values(self) -> Values:
        """The general settings; cached until something changes."""
        return self.section((), Values)

    @cached_property
    def _own_values(self) -> Json:
        """All layers but that of the project; cached, because guards ask for each tool call."""
        return self._apply_guards(self._own())

    @property
    def overrides(self) -> Json:
        """Values for this run only: from the command line, or set without storing."""
        return self._overrides

    def override_at(self, path: Sequence[str]) -> Any:
        """Return the value that was set for this run only; that of the parent counts as well."""
        value = value_at(self._overrides, path)
        if value is None and self._parent is not None:
            return self._parent.override_at(path)
        return value

    def without_project(self, path: Sequence[str]) -> Any:
        """Return the value at ``path`` from the user's files, overlays and overrides alone."""
        return value_at(self._own_values, path)

    def section(self, path: Sequence[str], kind: type[R]) -> R:
        """Return the object at ``path`` as a record; cached until something changes."""
        key = (tuple(path), kind)
        record = self._sections.get(key)
        if not isinstance(record, kind):
            raw = value_at(self.raw, path) if path else self.raw
            record = read_record(
                kind, {} if raw is None else raw, warn=self.warn, section=".".join(path)
            )
            self._sections[key] = record
        return record

    def layer(self, scope: str, path: Sequence[str]) -> object:
        """Return the value in one layer alone, ``user`` or ``project``.

        Overlays and settings in memory count as the user's, so that they can contain lists of
        resources.
        """
        if self._parent is not None:
            return self._parent.layer(scope, path)
        if scope == "user" and self._user_file is None:
            return value_at(self._overrides, path)
        own = merge_layers(self._user, self._overlay)
        return value_at(own if scope == "user" else self._project, path)

    def on_warning(self, report: Callable[[str], None]) -> None:
        """Call ``report`` with every warning, past ones included.

        A nested session reports none: its warnings are those of the outer session.
        """
        if self._is_nested:
            return
        self._report = report
        inherited = [] if self._parent is None else self._parent.warnings
        for warning in (*inherited, *self.warnings):
            report(warning)

    def warn(self, text: str) -> None:
        """Report an invalid value, once."""
        if self._is_nested and self._parent is not None:
            self._parent.warn(text)
        elif text not in self.warnings:
            self.warnings.append(text)
            if self._report is not None:
                self._report(text)

    def on_change(self, listener: Callable[[], None]) -> Callable[[], None]:
        """Call ``listener`` after every change. Returns an unsubscribe function."""
        self._listeners.append(listener)
        return lambda: self._listeners.remove(listener)

    # Changing -------------------------------------------------------------------------------------

    def set(self, changes: Mapping[str, object]) -> None:
        """Store values by dotted name in the user's file; ``None`` removes one.

        Without a file they last as long as the program, and in a nested session as long as it.
        Raises ``PiError`` if they cannot be stored, e.g. because the file is invalid, which is not
        changed; they are still valid for this session.
        """
        if self._parent is not None and not self._is_nested:
            self._parent.set(changes)
            return
        paths = {tuple(name.split(".")): value for name, value in changes.items()}
        error: PiError | None = None
        if self._user_file is not None:
            try:
                self._user_file.change(paths)
                self._user = self._read(self._user_file)
            except PiError as failed:
                error = failed
        if self._user_file is None or error is not None:
            self.override(changes)
        self._merge()
        if error is not None:
            raise error

    def device_id(self) -> str:
        """Return the id of this installation, a UUID that is stored when it is first needed."""
        from uuid import UUID, uuid4  # lazy: for a login only

        try:
            return str(UUID(self._user.get("deviceId")))
        except (ValueError, AttributeError, TypeError):  # the user can write anything
            id = str(uuid4())
            self.set({"deviceId": id})
            return id

    def set_for_project(self, changes: Mapping[str, object]) -> None:
        """Store values in the project's file; raises ``PiError`` if it is not trusted."""
        if self._parent is not None and not self._is_nested:
            self._parent.set_for_project(changes)
            return
        if self._is_nested:
            raise PiError("A nested session cannot change the settings of the project.")
        if self._project_file is None:
            raise PiError("The project is not trusted.", hint="Trust it first, or use --approve.")
        paths = {tuple(name.split(".")): value for name, value in changes.items()}
        self._project_file.change(paths)
        self._project = self._read(self._project_file)
        self._merge()

    def recommend(self, recommended: Callable[[], Json]) -> None:
        """Use these values as defaults while ``batteries`` is ``"recommended"``.

        ``recommended`` is called only then, because it reads the index of extensions.
        """
        self._recommended = recommended
        if self.raw.get(BATTERIES) == RECOMMENDED:
            self._merge()

    def override(self, changes: Mapping[str, object]) -> None:
        """Set values for this session only."""
        for name, value in changes.items():
            self._overrides = with_value(self._overrides, name.split("."), value)
        self._merge()

    # Layers ---------------------------------------------------------------------------------------

    def _read(self, file: SettingsFile | None) -> Json:
        if file is None:
            return {}
        return merge_layers(self._read_one(file.config), self._read_one(file))

    def _read_one(self, file: ConfigFile | SettingsFile) -> Json:
        try:
            raw = file.read()
        except BadSettings as error:
            if self._unreadable == "refuse":
                raise
            self._is_strictest = True
            self.warn(f"{error.message} Until then all guards are at their strictest.")
            return {}
        return checked_guards(raw, str(file.path), self.warn)

    def _own(self) -> Json:
        """Return all layers but that of the project, merged."""
        if self._parent is None:
            below = merge_layers(self._user, self._overlay)
        else:
            below = self._parent._own()
        return merge_layers(below, self._checked_overrides())

    def _checked_overrides(self) -> Json:
        return checked_guards(self._overrides, "the values of this run", self.warn)

    def _apply_guards(self, values: Json) -> Json:
        """Return the values with guards as strict as they have to be here."""
        if self._is_strictest:
            return tightened(values, strictest_guards())
        if self._is_nested and self._parent is not None:
            return tightened(values, self._parent.raw, defaults=True)
        return values

    def _merge(self) -> None:
        if self._parent is None:
            project = {k: value for k, value in self._project.items() if k not in GLOBAL_ONLY}
            if project.get(BATTERIES) != RECOMMENDED:
                # They hide secrets and record changes: a project can switch them on, not off.
                project.pop(BATTERIES, None)
            files = merge_layers(merge_layers(self._user, project), self._overlay)
        else:
            files = self._parent.raw
        raw = merge_layers(files, self._checked_overrides())
        if raw.get(BATTERIES) == RECOMMENDED:
            raw = merge_layers(self._recommended(), raw)
        if restricted := restrictions(self._project):
            raw = tightened(raw, restricted)
        self.raw = self._apply_guards(raw)
        self._sections.clear()
        for cached in ("values", "_own_values"):
            self.__dict__.pop(cached, None)
        for listener in tuple(self._listeners):
            listener()
        for child in tuple(self._derived):
            child._merge()
