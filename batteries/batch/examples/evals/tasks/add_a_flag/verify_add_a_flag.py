import subprocess
import sys


def run(*words):
    command = [sys.executable, "greet.py", *words]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


def test_greeting():
    assert run("Ada") == "Hello, Ada!\n"


def test_upper():
    assert run("--upper", "Ada") == run("Ada", "--upper") == "HELLO, ADA!\n"
