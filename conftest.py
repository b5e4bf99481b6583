"""The fixtures of all tests, which are in several folders."""

import pytest

# Before anything of them is imported: a failed assertion of a helper shows its values, too.
pytest.register_assert_rewrite("tests")

pytest_plugins = ("tests.fixtures",)
