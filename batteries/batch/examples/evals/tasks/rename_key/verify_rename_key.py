import json
from pathlib import Path


def test_key():
    assert json.loads(Path("settings.json").read_text()) == {"color": "red", "size": 3}
