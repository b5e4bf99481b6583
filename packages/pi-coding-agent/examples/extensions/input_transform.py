"""``?question`` requests a short answer."""

from __future__ import annotations

from pi.extension import ExtensionAPI, ExtensionContext, InputAnswer, InputEvent


def extension(pi: ExtensionAPI) -> None:
    """Rewrite prompts that begin with a question mark."""

    @pi.on("input")
    def brief(event: InputEvent, ctx: ExtensionContext) -> InputAnswer | None:
        if not event.text.startswith("?"):
            return None
        question = event.text.removeprefix("?").strip()
        return InputAnswer(action="transform", text=f"Answer in one sentence: {question}")
