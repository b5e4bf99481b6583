"""The fixtures of all tests, which are in several folders."""

pytest_plugins = ("tests.fixtures",)
