from __future__ import annotations

from pi.coding.bus import NamedRegistry, OrderedList, Owner, Rank


def owner(name: str, rank: Rank = "user", number: int = 0) -> Owner:
    return Owner(name=name, path=name, rank=rank, number=number)


def test_rows_are_ordered_by_position_rank_load_order_and_registration() -> None:
    rows: OrderedList[str] = OrderedList()
    rows.add("last", owner("a", "bundled"), "last")
    rows.add("explicit", owner("b", "explicit"))
    rows.add("second user", owner("d", "user", 2))
    rows.add("first user", owner("c", "user", 1))
    rows.add("first user again", owner("c", "user", 1))
    rows.add("bundled", owner("a", "bundled"))
    rows.add("first", owner("b", "explicit"), "first")

    assert rows.values == (
        "first",
        "bundled",
        "first user",
        "first user again",
        "second user",
        "explicit",
        "last",
    )


def test_adding_and_removing_a_row_report_a_change() -> None:
    changes: list[int] = []
    rows: OrderedList[str] = OrderedList(lambda: changes.append(1))

    remove = rows.add("a", owner("a"))
    remove()

    assert (rows.values, len(rows), len(changes)) == ((), 0, 2)


def test_of_two_rows_with_the_same_name_the_higher_rank_wins_and_the_other_is_listed() -> None:
    names: NamedRegistry[int] = NamedRegistry()
    user, bundled = owner("u", "user"), owner("b", "bundled")
    remove = names.add("x", 1, user)
    names.add("x", 2, bundled)

    assert (names.get("x"), names.values) == (1, {"x": 1})
    assert names.hidden() == [("x", bundled, user)]

    remove()
    assert (names.get("x"), names.get("y")) == (2, None)
