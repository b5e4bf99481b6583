"""iTerm2's inline images. Pure."""

from __future__ import annotations

from base64 import b64encode

from pi.tui.images.sizes import Cells


def show(data: str, cells: Cells, *, size: int, name: str = "") -> str:
    """Show a picture, given in base64, at the cursor; ``size`` is its length in bytes."""
    title = f";name={b64encode(name.encode()).decode()}" if name else ""
    area = f"width={cells.columns};height={cells.rows};preserveAspectRatio=1"
    return f"\x1b]1337;File=inline=1;size={size};{area}{title}:{data}\x07"
