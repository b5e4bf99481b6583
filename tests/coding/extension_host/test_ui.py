from __future__ import annotations

from pi.coding.extension_host.no_ui import NoUI
from pi.coding.extension_host.ui import ExtensionUI
from pi.modes.rpc.extension_ui import RpcUI


def test_every_interface_has_all_that_an_extension_may_use() -> None:
    wanted = {name for name in vars(ExtensionUI) if not name.startswith("_")}

    assert wanted <= set(dir(NoUI))
    assert wanted <= set(dir(RpcUI))
