from texts import slug


def test_slug():
    assert slug("  Crème  Brûlée! ") == "creme-brulee"
