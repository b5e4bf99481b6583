"""The tool ``generate_image`` in a session."""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Sequence
from pathlib import PurePath
from typing import Annotated, Any

from pi.extension import (
    BeforeAgentStartEvent,
    CallEffects,
    ExtensionAPI,
    ExtensionContext,
    Image,
    ImageModel,
    ImageRequest,
    Json,
    Meta,
    PiError,
    Record,
    SessionStartEvent,
    Text,
    ToolContext,
    ToolFailed,
    ToolResult,
    make_tool,
)

NAME = "generate_image"
MAX_INPUT = 20 * 1024 * 1024
"""Maximum bytes of a picture that is edited."""
MAX_PICTURES = 4
DESCRIPTION = f"""\
Make a picture from a description, or change existing pictures. Up to {MAX_PICTURES} pictures are \
saved as files and shown to you and the user. Use it for illustrations, icons and mock-ups; draw \
charts with code instead."""
SETTINGS: tuple[tuple[str, type[Any], Any, str], ...] = (
    ("imageTool.enabled", bool, False, "let the model make and edit pictures"),
    ("imageTool.provider", str, "auto", "provider of the pictures"),
    ("imageTool.model", str, "", "image model, instead of the first one of the provider"),
)
_SUFFIXES = {"image/png": ".png", "image/jpeg": ".jpg", "image/webp": ".webp", "image/gif": ".gif"}
_HEADS = (
    (b"\x89PNG\r\n\x1a\n", "image/png"),
    (b"\xff\xd8\xff", "image/jpeg"),
    (b"GIF8", "image/gif"),
)


class ImageParams(Record):
    """Arguments of a call."""

    prompt: Annotated[
        str, Meta(description="What the picture shows, or what to change", min_length=1)
    ]
    path: Annotated[
        str, Meta(description="Where to save it; a name from the prompt without it")
    ] = ""
    images: Annotated[
        tuple[str, ...], Meta(description="Files of pictures to change or combine")
    ] = ()
    count: Annotated[int, Meta(description="How many pictures", ge=1, le=MAX_PICTURES)] = 1
    size: Annotated[str, Meta(description="Such as 1024x1024, for providers that take sizes")] = ""
    aspect_ratio: Annotated[str, Meta(description="Such as 16:9, for others")] = ""


def extension(pi: ExtensionAPI) -> None:
    """Register the tool once an image model has a key. The setting activates it, or its name."""
    pi.settings.declare_all(SETTINGS)
    maker = ImageMaker(pi)
    pi.add_view("tool", NAME, "pi.batteries.image_tool.views:generate_image")
    pi.on("session_start", maker.session_start)
    pi.on("before_agent_start", maker.before_agent_start)


class ImageMaker:
    """Makes pictures for one session."""

    def __init__(self, pi: ExtensionAPI) -> None:
        self._pi = pi
        self._is_offered = False

    async def session_start(self, event: SessionStartEvent, ctx: ExtensionContext) -> None:
        """Offer the tool if a model can be used; otherwise name the reason."""
        await self._offer()
        if not self._is_offered and ctx.task.depth == 0:
            self._pi.warn(f"{NAME} is not offered to the model. {self._no_model()}")

    async def before_agent_start(self, event: BeforeAgentStartEvent, ctx: ExtensionContext) -> None:
        """Offer the tool after a login during the session."""
        await self._offer()

    async def _offer(self) -> None:
        if self._is_offered or not self._fitting(await self._pi.images.available()):
            return
        self._is_offered = True
        self._pi.add_tool(
            make_tool(
                name=NAME,
                label=NAME,
                description=DESCRIPTION,
                params=ImageParams,
                run=self.run,
                effects=self.effects,
                approval="write",
                format_approval_details=lambda arguments: str(arguments.get("prompt", "")),
            ),
            exposure="on_demand",
            prompt_snippet="Make or edit a picture",
        )
        if self._pi.settings.get("imageTool.enabled"):
            self._pi.enable_tools((NAME,))

    def effects(self, params: ImageParams) -> CallEffects:
        """The pictures that are read, and those that are written with the usual suffix."""
        files = self._pi.context.files
        numbers = range(1, params.count + 1)
        written = [_file_name(params, number, ".png") or slug(params.prompt) for number in numbers]
        return files.effects(
            *(files.effect(path) for path in params.images),
            *(files.effect(path, writes=True) for path in dict.fromkeys(written)),
        )

    async def run(self, params: ImageParams, ctx: ToolContext) -> ToolResult:
        """Generate pictures with an image model, and save them."""
        inputs = [await self._input(path) for path in params.images]
        model = self._chosen(await self._pi.images.available(), edits=bool(inputs))
        ctx.update(ToolResult.of(f"Asking {model.provider}/{model.id}…"))
        result = await self._pi.images.generate(
            model,
            ImageRequest(
                prompt=params.prompt,
                images=tuple(inputs),
                count=params.count,
                size=params.size or None,
                aspect_ratio=params.aspect_ratio or None,
            ),
        )
        if result.stop_reason != "stop" or not result.images:
            why = result.error_message or result.text or "it returned no picture"
            raise ToolFailed(f"{model.provider}/{model.id} made no picture: {why}")
        saved = [
            await self._save_image(image, params, number)
            for number, image in enumerate(result.images, 1)
        ]
        names = ", ".join(picture["path"] for picture in saved)
        text = f"Saved {names} ({model.provider}/{model.id})." + (
            f"\n{result.text}" if result.text else ""
        )
        details: Json = {"files": saved, "provider": model.provider, "model": model.id}
        content: tuple[Text | Image, ...] = (Text(text=text), *result.images)
        return ToolResult(content=content, details=details, usage=result.usage)

    def _chosen(self, models: Sequence[ImageModel], *, edits: bool) -> ImageModel:
        """The configured model; by default one of the session's provider. Raises ``ToolFailed``."""
        fitting = [model for model in self._fitting(models) if not edits or "image" in model.input]
        if not fitting:
            raise ToolFailed(self._no_model(" that can change pictures" * (edits and bool(models))))
        current = self._pi.context.model
        own = "" if current is None else current.provider
        return next((model for model in fitting if model.provider == own), fitting[0])

    def _fitting(self, models: Sequence[ImageModel]) -> list[ImageModel]:
        """The models that the settings allow."""
        provider = self._pi.settings.get("imageTool.provider")
        name = self._pi.settings.get("imageTool.model")
        return [
            model
            for model in models
            if provider in ("auto", "", model.provider) and name in ("", model.id)
        ]

    def _no_model(self, ability: str = "") -> str:
        provider = self._pi.settings.get("imageTool.provider")
        preferred = f" of {provider}" if provider not in ("auto", "") else ""
        return (
            f"There is no image model{preferred}{ability} with a key. The user can add one with"
            " /login for openai, google or openrouter."
        )

    async def _input(self, path: str) -> Image:
        try:
            data = await self._pi.context.files.read_file(path, most=MAX_INPUT)
        except PiError as error:
            raise ToolFailed(error.message) from error
        mime = next((mime for head, mime in _HEADS if data.startswith(head)), "")
        if data[:4] == b"RIFF" and data[8:12] == b"WEBP":
            mime = "image/webp"
        if not mime:
            raise ToolFailed(f"{path} is not a PNG, JPEG, GIF or WebP picture.")
        return Image(data=base64.b64encode(data).decode(), mime_type=mime)

    async def _save_image(self, image: Image, params: ImageParams, number: int) -> Json:
        try:
            data = base64.b64decode(image.data, validate=True)
        except binascii.Error as error:
            raise ToolFailed(f"The provider returned a damaged picture: {error}.") from error
        suffix = _SUFFIXES.get(image.mime_type, ".png")
        path = await self._path(params, number, suffix)
        try:
            await self._pi.context.files.write_file(path, data)
        except PiError as error:
            raise ToolFailed(f"The picture was not saved: {error.message}") from error
        return {"path": path, "mimeType": image.mime_type, "bytes": len(data)}

    async def _path(self, params: ImageParams, number: int, suffix: str) -> str:
        """The path of a picture. Only a file that the model names may be overwritten."""
        if name := _file_name(params, number, suffix):
            return name
        stem = slug(params.prompt)
        attempt = 1
        while await self._pi.context.files.exists(
            path := f"{_numbered_stem(stem, attempt)}{suffix}"
        ):
            attempt += 1
        return path


def _file_name(params: ImageParams, number: int, suffix: str) -> str:
    """The file that the model names for a picture; empty if it names none."""
    if not params.path:
        return ""
    plain = PurePath(params.path)
    name = plain if plain.suffix else plain.with_name(f"{plain.name}{suffix}")
    return str(name if number == 1 else name.with_stem(f"{name.stem}-{number}"))


def slug(prompt: str) -> str:
    """The first words of a prompt as a file name."""
    tokens = re.findall(r"[a-z0-9]+", prompt.lower())
    return "-".join(tokens[:6])[:48] or "picture"


def _numbered_stem(stem: str, number: int) -> str:
    return stem if number == 1 else f"{stem}-{number}"
