"""Dialog to search earlier prompts."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Sequence

from pi.base.tasks import TaskScope
from pi.base.terminal_text import one_line
from pi.coding.mentions import without_attachments
from pi.coding.session.catalog import SessionCatalog
from pi.coding.session.lookup import prompts_of
from pi.modes.interactive.dialogs.panel import list_rows, make_panel, summarise_message
from pi.modes.interactive.dialogs.picker import Picker
from pi.modes.interactive.ui import Ui
from pi.tui.component import Component

SEARCH = "app.history.search"
HELP = "app.help"
_SEARCH_KEYS = (
    ("tui.select.confirm", "put into the editor"),
    (SEARCH, "older"),
    ("tui.select.cancel", "cancel"),
)


async def search_history(
    ui: Ui, prompts: Iterable[str], catalog: SessionCatalog, query: str = ""
) -> str | None:
    """Return an earlier prompt that the user chooses.

    ``prompts`` are those of this session, the oldest first. Those of earlier sessions of the folder
    are read in the background and follow them.
    """
    candidates = _newest_first(map(without_attachments, prompts))

    def draw(prompt: str, width: int, *, selected: bool) -> str:
        text = one_line(summarise_message(prompt))
        return ui.theme.paint("accent")(text) if selected else text

    async with TaskScope() as tasks:

        def build(done: Callable[[str | None], None]) -> Component:
            inside: Picker[str] = Picker(
                ui.theme,
                ui.keymap,
                find=lambda query: matching_prompts(query, candidates),
                draw=draw,
                rows=lambda: list_rows(ui),
                on_pick=done,
                on_cancel=lambda: done(None),
                keys={SEARCH: lambda prompt: inside.select_next()},
                query=query,
                empty="No earlier prompts",
            )

            async def load() -> None:
                cwd = str(ui.port.info.cwd)
                earlier = await asyncio.to_thread(prompts_of, catalog, cwd)
                have = set(candidates)
                typed = dict.fromkeys(map(without_attachments, earlier))
                candidates.extend(prompt for prompt in typed if prompt not in have)
                inside.refresh()
                ui.request_render()

            tasks.start(load(), name="reading earlier prompts")
            return make_panel(ui, "Search earlier prompts", inside, lambda: _SEARCH_KEYS)

        return await ui.show(build)


def matching_prompts(query: str, prompts: Sequence[str]) -> list[str]:
    """Return the prompts that contain every word of ``query``, in their order.

    Words in lower case match both cases.
    """
    terms = query.split()
    if not terms:
        return list(prompts)
    folded = {prompt: prompt.lower() for prompt in prompts}
    return [
        prompt
        for prompt in prompts
        if all(word in (folded[prompt] if word.islower() else prompt) for word in terms)
    ]


def _newest_first(prompts: Iterable[str]) -> list[str]:
    return list(dict.fromkeys(reversed(list(prompts))))
