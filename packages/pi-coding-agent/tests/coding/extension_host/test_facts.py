from __future__ import annotations

from pi.coding.bus import Owner
from pi.coding.extension_host.contributions.views import Facts

ADA, BOB = Owner(name="ada", path="ada"), Owner(name="bob", path="bob", number=1)


class Painted:
    """Rows that count how often they are redrawn."""

    def __init__(self) -> None:
        self.times = 0
        self.removed = False

    def invalidate(self) -> None:
        """Count."""
        self.times += 1

    def remove(self) -> None:
        """Removed."""
        self.removed = True


def test_the_last_text_of_a_name_is_used_until_it_is_removed() -> None:
    facts = Facts()
    facts.add("sandbox", "on", ADA)
    take_back = facts.add("sandbox", "strict", BOB)

    reported = [facts.texts]
    take_back()

    assert [*reported, facts.texts] == [{"sandbox": "strict"}, {"sandbox": "on"}]


def test_rows_are_redrawn_at_every_change_until_they_are_removed() -> None:
    facts, replaced, rows = Facts(), Painted(), Painted()
    facts.show_in("status", replaced)
    remove = facts.show_in("status", rows)

    facts.add("sandbox", "on", ADA)()
    remove()
    facts.add("sandbox", "off", ADA)

    assert (replaced.times, rows.times, rows.removed) == (0, 2, True)
