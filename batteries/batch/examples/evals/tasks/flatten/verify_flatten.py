from lists import flatten


def test_flatten():
    assert flatten([1, [2, ["ab", []]], [[3]]]) == [1, 2, "ab", 3]
