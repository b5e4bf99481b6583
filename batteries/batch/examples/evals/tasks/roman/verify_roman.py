from numerals import roman


def test_roman():
    assert [roman(n) for n in (1, 4, 1994, 3999)] == ["I", "IV", "MCMXCIV", "MMMCMXCIX"]
