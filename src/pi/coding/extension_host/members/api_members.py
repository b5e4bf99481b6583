"""What the members of every subject work with."""

from __future__ import annotations

from pi.coding.extension_host.instance import Instance


class ApiMembers:
    """Members of the API of one extension; what they register ends with it."""

    def __init__(self, instance: Instance) -> None:
        self._instance = instance
        self._shelves = instance.shelves
        self._registries = instance.shelves.registries
        self._link = instance.link
