import subprocess
import sys


def run(*arguments):
    command = [sys.executable, "greet.py", *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


def test_greeting():
    assert run("Ada") == "Hello, Ada!\n"


def test_upper():
    assert run("--upper", "Ada") == run("Ada", "--upper") == "HELLO, ADA!\n"
