from pathlib import Path


def test_count():
    assert Path("errors.txt").read_text().strip() == "2"
