from __future__ import annotations

from pathlib import Path

import pytest

from pi.base.errors import PiError
from pi.base.lazy_names import lazy_names
from pi.base.optional_modules import NotInstalled, import_optional


def test_a_missing_distribution_is_named_with_the_command_that_installs_it() -> None:
    with pytest.raises(
        NotInstalled, match=r"pi\.absent\.x is in the package pi-harness-x"
    ) as error:
        import_optional("pi.absent.x", "pi-harness-x")

    assert error.value.hint.startswith("Install it: ")
    assert "pi-harness-x" in error.value.hint
    assert isinstance(error.value, PiError)
    assert isinstance(error.value, ImportError)


def test_what_an_existing_module_misses_is_not_hidden(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "existing_module.py").write_text("import absent_library\n")
    monkeypatch.syspath_prepend(tmp_path)

    with pytest.raises(ModuleNotFoundError, match="absent_library"):
        import_optional("existing_module", "pi-harness-x")


def test_a_lazy_name_of_a_missing_distribution_says_so() -> None:
    look_up = lazy_names(
        __name__, {"pi.absent": ("Name",)}, distributions={"pi.absent": "pi-harness-x"}
    )

    with pytest.raises(NotInstalled, match="pi-harness-x, which is not installed"):
        look_up("Name")
