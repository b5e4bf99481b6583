"""``ExtensionSwitches``: switches extensions of a running session on and off.

The only path: ``/extensions``, ``/settings``, RPC and typed commands call it. ``pi extensions``
changes the same values without a session.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from typing import TYPE_CHECKING

from pi.ai.json_text import json_bytes
from pi.ai.messages import Json
from pi.ai.token_estimates import CHARACTERS_PER_TOKEN
from pi.base.errors import PiError
from pi.base.records import replace
from pi.coding.runtime.extensions.hosting import ExtensionHosting
from pi.coding.runtime.live import LiveSession
from pi.coding.settings.layers import nested, value_at

if TYPE_CHECKING:  # lazy: imported when extensions are listed or switched
    from pi.coding.extension_host.contributions.commands import DeclaredCommand
    from pi.coding.extension_host.discovery.manifest import Manifest
    from pi.coding.port.extensions import ExtensionRow


class ExtensionSwitches:
    """Implements ``SwitchesPort``."""

    def __init__(
        self,
        hosting: ExtensionHosting,
        core: LiveSession,
        *,
        reload: Callable[[], Awaitable[None]],
        when_idle: Callable[[Callable[[], Awaitable[None]]], None],
    ) -> None:
        self._hosting = hosting
        self._core = core
        self._reload = reload
        self._when_idle = when_idle
        self._changing = asyncio.Lock()
        """Held while settings are stored and extensions follow."""

    def rows(self) -> list[ExtensionRow]:
        """Return every extension with its state."""
        from pi.coding.extension_host.switches import row_of  # lazy, as everything about rows

        hosting, workspace = self._hosting, self._core.workspace
        state = hosting.activation_state(workspace, self._core.log)
        loading = hosting.host.loading
        rows = [
            row_of(info, loading.manifest_at(info.path), workspace.settings, state)
            for info in loading.infos
        ]
        return [
            replace(row, tokens=self._tokens_of_tools(row.path))
            if row.tokens is None and loading.is_loaded(row.path)
            else row
            for row in rows
        ]

    def _tokens_of_tools(self, path: str) -> int:
        """About how many tokens the tools that an extension has registered take in a request."""
        rows = self._hosting.host.registries.tools.all()
        tools = [row.value[1] for row in rows if row.owner.path == path]
        definitions = [
            {"name": t.name, "description": t.description, "parameters": t.parameters}
            for t in (added.tool for added in tools if added.exposure == "active")
        ]
        characters = sum(len(json_bytes(definition)) for definition in definitions)
        return characters // CHARACTERS_PER_TOKEN

    async def switch(self, name: str, *, on: bool, value: object = None, keep: bool = True) -> str:
        """Switch an extension at once; returns a sentence that says what is true now."""
        from pi.coding.extension_host.switches import (
            changes_to_switch,
            check_switchable,
            find_row,
            needs_no_switch,
            removed_value,
            sentence,
            switch_of,
        )

        row = find_row(self.rows(), name)
        if on and row.state == "needs":
            raise PiError(sentence(row), hint=f"Install it: {row.install}")
        if on and needs_no_switch(row):
            return sentence(row)
        check_switchable(row)
        setting = switch_of(self._hosting.host.loading.manifest_at(row.path))
        assert setting is not None, "a switchable extension has a setting"
        raw = self._core.workspace.settings.raw
        changes = changes_to_switch(row, setting, raw, on=on, keep=keep, user_value=value)
        _, note = await self._change(changes, keep=keep)
        removed = removed_value(row, on=on) if keep else ""
        row = find_row(self.rows(), row.name)
        if row.state == "failed":
            raise PiError(sentence(row))
        return _join(self._outcome(row, on=on), removed, note)

    async def change(self, changes: Mapping[str, object], *, keep: bool = True) -> str:
        """Store settings by dotted name, and load or unload the extensions that they switch.

        Returns what is true now of the extensions whose switches were among them. If the values
        cannot be stored, they count for this session, and the error is raised after extensions
        followed.
        """
        changed, note = await self._change(changes, keep=keep)
        if not changed:
            return note
        from pi.coding.extension_host.switches import counts_as_on, is_on, switch_of

        outcomes = []
        for row in self.rows():
            if row.path not in changed or row.setting not in changes:
                continue
            setting = switch_of(self._hosting.host.loading.manifest_at(row.path))
            assert setting is not None, "a row with a setting has a switch"
            value = changes[row.setting]
            # A removed value leaves the decision to other files and to the recommended set.
            on = (
                counts_as_on(row) if value is None else is_on(setting, nested({row.setting: value}))
            )
            outcomes.append(self._outcome(row, on=on))
        return _join(*outcomes, note)

    def _outcome(self, row: ExtensionRow, *, on: bool) -> str:
        from pi.coding.extension_host.switches import outcome

        others = "the project's settings, an option or a file"
        return outcome(row, on=on, keep=self._way_to_keep(row.name), decided_by=others)

    async def _change(self, changes: Mapping[str, object], *, keep: bool) -> tuple[list[str], str]:
        """Store settings; returns the paths of extensions that followed, and a note about when."""
        self._core.require_open()
        error: PiError | None = None
        async with self._changing:
            settings = self._core.workspace.settings
            before = settings.raw
            if keep:
                try:
                    settings.set(changes)
                except PiError as failure:
                    error = failure
                else:
                    named = self._named_by_options()
                    # A choice for this session only would hide what was stored, and an option of
                    # the command line yields to such a choice only.
                    settings.override(
                        {
                            name: changes[name] if name in named else None
                            for name in changes
                            if value_at(settings.overrides, name.split(".")) is not None
                            or name in named
                        }
                    )
            else:
                settings.override(changes)
            result = await self._follow(before)
        if error is not None:
            raise error
        return result

    async def use_command(self, command: DeclaredCommand) -> str:
        """Switch the extension of a typed command on for this session, as its manifest declares.

        Returns a sentence about it; empty if nothing has changed.
        """
        manifest = self._hosting.manifests_by_path().get(command.owner.path)
        if manifest is None or command.name not in manifest.enabling_commands:
            return ""
        from pi.coding.extension_host.switches import is_on, switch_of

        setting = switch_of(manifest)
        if setting is None or is_on(setting, self._core.workspace.settings.raw):
            return ""
        return await self.switch(command.owner.name, on=True, keep=False)

    # Following ------------------------------------------------------------------------------------

    async def _follow(self, before: Json) -> tuple[list[str], str]:
        """Load and unload extensions for settings that differ from ``before``.

        Returns the paths of these extensions, and a note if some follow later.
        """
        manifests = self._hosting.manifests_by_path()
        after = self._core.workspace.settings.raw
        changed = [path for path in manifests if _differs(manifests[path], before, after)]
        if not changed:
            return [], ""
        if any(self._needs_trust_decision(manifests[path]) for path in changed):
            return changed, await self._now_or_later(
                self._reload
            )  # it asks whether to read the project
        loading = self._hosting.host.loading
        loaded = [path for path in changed if loading.is_loaded(path)]
        # Loading is safe at any time. What is unloaded may be at work in the current run.
        await self._hosting.follow(path for path in changed if path not in loaded)
        if not loaded:
            return changed, ""
        return changed, await self._now_or_later(lambda: self._hosting.follow(loaded))

    async def _now_or_later(self, act: Callable[[], Awaitable[None]]) -> str:
        if not self._core.busy:
            await act()
            return ""
        self._when_idle(act)
        return "It takes full effect when the current run ends."

    def _named_by_options(self) -> frozenset[str]:
        """The switches of extensions that have got an option of the command line."""
        from pi.coding.extension_host.switches import switch_of

        flags = self._hosting.sources.flags.keys()
        manifests = self._hosting.manifests_by_path().values()
        switches = (switch_of(m) for m in manifests if not flags.isdisjoint(m.flags))
        return frozenset(setting.name for setting in switches if setting is not None)

    def _needs_trust_decision(self, manifest: Manifest) -> bool:
        """Whether an extension that is on now reads files of a project that was never decided."""
        core = self._core
        workspace = core.workspace
        if workspace.trust.source != "nothing to trust" or not manifest.gates:
            return False
        from pi.coding.extension_host.discovery.manifest import active_gates
        from pi.coding.trust import needing_trust

        hosting = self._hosting
        state = hosting.activation_state(workspace, core.log)
        gates = active_gates([manifest], state, hosting.sources.flags, hosting.mode)
        return bool(needing_trust(workspace.cwd, home=core.machine.home, gates=gates))

    def _way_to_keep(self, name: str) -> str:
        on_screen = self._hosting.mode == "tui"
        return f"/extensions on {name}" if on_screen else f"`pi extensions on {name}`"


def _differs(manifest: Manifest, before: Json, after: Json) -> bool:
    """Whether a setting that loads the extension has changed."""
    from pi.coding.extension_host.switches import settings_of

    paths = (name.split(".") for name in settings_of(manifest))
    return any(value_at(before, path) != value_at(after, path) for path in paths)


def _join(*sentences: str) -> str:
    return " ".join(filter(None, sentences))
