"""What a person calls an extension by: commands, keys, options, texts."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeVar

from pi.coding.extension_host import registering
from pi.coding.extension_host.commands import CommandHandler, Completions
from pi.coding.extension_host.flags import ExtensionFlag, FlagKind, FlagValue, flag_value
from pi.coding.extension_host.input_modes import InputMode
from pi.coding.extension_host.members.api_members import ApiMembers
from pi.coding.extension_host.registration import Registration

C = TypeVar("C", bound=Callable[..., Any])


class CommandMembers(ApiMembers):
    """Registers commands, shortcuts, flags and input modes."""

    def register_command(
        self,
        name: str,
        handler: CommandHandler,
        *,
        description: str = "",
        completions: Completions | None = None,
    ) -> Registration:
        """Have ``/name arguments`` call ``handler(arguments, ctx)``."""
        return registering.add_command(self._instance, name, handler, description, completions)

    def command(
        self, name: str, *, description: str = "", completions: Completions | None = None
    ) -> Callable[[C], C]:
        """``register_command`` as a decorator; the docstring is the description."""

        def decorate(function: C) -> C:
            told = description or registering.first_line(function)
            self.register_command(name, function, description=told, completions=completions)
            return function

        return decorate

    def get_commands(self) -> Sequence[Any]:
        """What can be typed behind a slash: of extensions, templates and skills."""
        return self._link.session.facts.commands()

    def register_shortcut(
        self, key: str, handler: Callable[[Any], Any], *, description: str = ""
    ) -> Registration:
        """Have a key call ``handler(ctx)``, where there is a keyboard."""
        return registering.add_shortcut(self._instance, key, handler, description)

    def shortcut(self, key: str, *, description: str = "") -> Callable[[C], C]:
        """``register_shortcut`` as a decorator."""

        def decorate(function: C) -> C:
            told = description or registering.first_line(function)
            self.register_shortcut(key, function, description=told)
            return function

        return decorate

    def register_flag(
        self,
        name: str,
        *,
        type: FlagKind = "boolean",
        default: FlagValue = None,
        description: str = "",
    ) -> Registration:
        """Have one more option of the command line, ``--name``."""
        flag = ExtensionFlag(name=name, kind=type, default=default, description=description)
        return registering.add_flag(self._instance, flag)

    def flag(
        self,
        name: str,
        *,
        type: FlagKind = "boolean",
        default: FlagValue = None,
        description: str = "",
    ) -> Callable[[], FlagValue]:
        """``register_flag``; gives a function that tells the value."""
        self.register_flag(name, type=type, default=default, description=description)
        return lambda: self.get_flag(name)

    def get_flag(self, name: str) -> FlagValue:
        """What the command line says, or the default."""
        flag = self._registries.flags.get(name)
        return None if flag is None else flag_value(flag, self._shelves.flags)

    def add_input_mode(self, prefix: str, mode: InputMode) -> Registration:
        """Have texts that begin with ``prefix`` go to ``mode``; the longest prefix wins."""
        return registering.add_input_mode(self._instance, prefix, mode)
