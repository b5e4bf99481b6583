from statistic import mean


def test_mean():
    assert mean([]) == 0.0
    assert mean([1, 2]) == 1.5
