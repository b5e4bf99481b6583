"""Which servers the files and settings of one session define, and which of them may run."""

from __future__ import annotations

from typing import Any

from pi.batteries.mcp import definitions
from pi.batteries.mcp.definitions import FILES, ConfigFile, Configured
from pi.extension import ConsentRequest, ExtensionAPI, PiError, Where

KIND = "mcp-files"
SETTINGS_SOURCE = "settings"


class Configuration:
    """Reads the files of all agents, and asks for consent to servers of others."""

    def __init__(self, pi: ExtensionAPI) -> None:
        self._pi = pi
        self.where: Where | None = None
        """The directories of configuration files, once they were read."""
        resources = pi.context.resources
        for priority, kind in enumerate(reversed(FILES)):
            resources.add_source(KIND, self._finder(kind), priority=priority)
        resources.add_kind(KIND, lambda text, path: (path, text), lambda each: str(each[0]))

    def _finder(self, kind: definitions.FileKind) -> Any:
        def find(where: Where) -> Any:
            self.where = where
            return [definitions.path_of(kind, where)]

        return find

    def read(self) -> tuple[Configured, ...]:
        """Every definition that is found, shadowed ones included. Invalid files are reported."""
        settings = self._pi.settings
        files: list[tuple[ConfigFile, str, bool, bool]] = []
        # The project's own settings are left out: whatever they start needs consent to a file.
        given = settings.get("mcp.servers", with_project=False)
        if given:
            files.append((definitions.from_settings(given), SETTINGS_SOURCE, True, False))
        of_project = settings.get("mcp.enableProjectConfig")
        for item in self._pi.context.resources.load(KIND):
            path, text = item.value
            kind = self._kind(path)
            if kind is None or (kind.place == "project" and not of_project):
                continue
            try:
                raw = definitions.parse_file(text, path)
            except PiError as error:
                self._pi.warn(f"MCP servers of {path} are left out: {error.message}")
                continue
            is_project = kind.place == "project"
            files.append((kind.read(raw, self.where), str(path), kind.is_own, is_project))
        return definitions.merge(files)

    def _kind(self, path: Any) -> definitions.FileKind | None:
        where = self.where
        if where is None:
            return None
        return next((each for each in FILES if definitions.path_of(each, where) == path), None)

    async def allowed(self, usable: list[Configured]) -> list[Configured]:
        """The servers of the user, and those of other files that the user accepted."""
        asked = {}
        for each in usable:
            if not each.is_own:
                asked[each.name] = ConsentRequest(
                    kind="MCP server",
                    name=each.name,
                    source=each.source,
                    definition=each.definition.runs,
                )
        accepted = await self._pi.consent.allowed(asked.values()) if asked else []
        names = {request.name for request in accepted}
        return [each for each in usable if each.is_own or each.name in names]
