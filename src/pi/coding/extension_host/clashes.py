"""Names that several extensions want: who has them, and who does not."""

from __future__ import annotations

from pi.base.records import Record
from pi.coding.extension_host.registries import Registries


class Clash(Record):
    """Something that was registered and does not count."""

    kind: str
    name: str
    loser: str
    """Where the extension is that registered it."""
    winner: str
    """Where the one is that has the name; ``pi`` if it is built in."""


def clashes(registries: Registries) -> list[Clash]:
    """Every one. Commands of extensions that share a name all count, by numbers."""
    found = [
        Clash(kind=kind, name=name, loser=loser.path, winner=winner.path)
        for kind, name, loser, winner in registries.hidden_names()
    ]
    return found + [
        Clash(kind="command", name=name, loser=owner.path, winner="pi")
        for name, owner in registries.commands.hidden()
    ]
