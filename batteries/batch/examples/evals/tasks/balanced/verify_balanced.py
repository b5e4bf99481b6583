from brackets import balanced


def test_balanced():
    assert all(map(balanced, ["", "()", "a[b{c}(d)]"]))
    assert not any(map(balanced, ["(", ")(", "[(])", "}"]))
