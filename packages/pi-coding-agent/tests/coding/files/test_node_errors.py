from __future__ import annotations

import errno

from pi.base.errors import PiError
from pi.coding.files.errors import find_os_error, node_code, node_text


def test_errors_have_the_format_of_node() -> None:
    missing = OSError(errno.ENOENT, "No such file or directory")

    assert node_text(missing, "access", "/a") == ("ENOENT: no such file or directory, access '/a'")
    assert node_text(OSError(errno.EISDIR, "x"), "read") == (
        "EISDIR: illegal operation on a directory, read"
    )
    assert node_code(OSError("odd")) == "UNKNOWN"


def test_errors_unknown_to_node_keep_their_message() -> None:
    assert node_text(OSError(errno.EDOM, "Out Of Domain"), "open") == "EDOM: out of domain, open"


def test_the_os_error_is_found_in_the_chain_of_causes() -> None:
    system, ours, more = OSError(1, "x"), PiError("ours"), PiError("more")
    ours.__cause__ = system
    more.__cause__ = ours

    assert find_os_error(more) is system
    assert find_os_error(PiError("alone")) is None
