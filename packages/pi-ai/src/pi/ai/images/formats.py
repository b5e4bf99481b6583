"""Records of image generation, and request and response bodies per API. Pure."""

from __future__ import annotations

from base64 import b64decode
from collections.abc import Iterable, Mapping
from hashlib import sha256
from typing import Any, Literal, Protocol

from msgspec import UNSET, UnsetType

from pi.ai.errors import AnswerRefused, BadAnswer, BadRequest
from pi.ai.json_text import json_bytes
from pi.ai.messages import Image, Json, Usage
from pi.ai.models.model import ModelCost
from pi.ai.models.prices import billed_cost
from pi.base.records import Record, replace


class ImageModel(Record):
    """An image model."""

    id: str
    name: str
    api: str
    """``openai-images``, ``google-images`` or ``openrouter-images``."""
    provider: str
    base_url: str
    input: tuple[Literal["text", "image"], ...] = ("text",)
    """With ``image`` it can edit given pictures."""
    output: tuple[Literal["image", "text"], ...] = ("image", "text")
    cost: ModelCost = ModelCost()
    headers: dict[str, str] | UnsetType = UNSET


class ImageRequest(Record):
    """An image request."""

    prompt: str
    images: tuple[Image, ...] = ()
    """Input pictures."""
    count: int = 1
    size: str | None = None
    """``1024x1024`` or ``auto``."""
    aspect_ratio: str | None = None
    """``16:9``, for providers that take ratios."""
    quality: str | None = None
    extra: Json | UnsetType = UNSET
    """Merged into the request body last."""


class ImageResult(Record):
    """The result; ``error_message`` is set if there are no images."""

    images: tuple[Image, ...] = ()
    text: str = ""
    """Text that came with the images."""
    usage: Usage = Usage()
    stop_reason: Literal["stop", "error", "aborted"] = "stop"
    error_message: str | UnsetType = UNSET
    provider: str = ""
    model: str = ""
    timestamp: int = 0


class ImageHttpRequest(Record):
    """An HTTP request without its credentials."""

    path: str
    body: bytes
    content_type: str = "application/json"


class ImageHttpResponse(Record):
    """The content of a response body."""

    images: tuple[Image, ...] = ()
    text: str = ""
    usage: Usage = Usage()
    charged: float | None = None
    """Dollars, if the server reports what it bills."""


class ImageFormat(Protocol):
    """Encodes requests and decodes responses of one API."""

    def encode(self, model: ImageModel, request: ImageRequest) -> ImageHttpRequest:
        """Return the HTTP request."""
        ...

    def authorization(self, key: str) -> tuple[str, str]:
        """Return the header that carries the key."""
        ...

    def decode(self, body: Json) -> ImageHttpResponse:
        """Return the decoded response; raises ``ProviderError`` if it has no image."""
        ...


class _Bearer:
    def authorization(self, key: str) -> tuple[str, str]:
        """Return the key as a bearer token."""
        return "Authorization", f"Bearer {key}"


class OpenAIImages(_Bearer):
    """``/images/generations``, and ``/images/edits`` if there are input pictures."""

    def encode(self, model: ImageModel, request: ImageRequest) -> ImageHttpRequest:
        """JSON for a new picture, a form for an edited one."""
        fields = _without_none(
            {
                "model": model.id,
                "prompt": request.prompt,
                "n": request.count,
                "size": request.size,
                "quality": request.quality,
            }
        ) | (request.extra or {})
        if not request.images:
            return ImageHttpRequest(path="/images/generations", body=json_bytes(fields))
        boundary = _boundary(request.images)
        return ImageHttpRequest(
            path="/images/edits",
            body=_form(boundary, fields, request.images),
            content_type=f"multipart/form-data; boundary={boundary}",
        )

    def decode(self, body: Json) -> ImageHttpResponse:
        """Decode base64 images; URLs are not followed."""
        kind = f"image/{body.get('output_format') or 'png'}"
        images = [
            Image(data=entry["b64_json"], mime_type=kind)
            for entry in _objects(body.get("data"))
            if isinstance(entry.get("b64_json"), str)
        ]
        counts = _object(body.get("usage"))
        usage = Usage(
            input=_read_count(counts, "input_tokens"), output=_read_count(counts, "output_tokens")
        )
        return _image_response(images, "", usage, body)


class GoogleImages:
    """``generateContent`` of a model that responds with images."""

    def encode(self, model: ImageModel, request: ImageRequest) -> ImageHttpRequest:
        """Text and pictures as parts of one turn."""
        parts: list[Json] = [
            {"inlineData": {"mimeType": image.mime_type, "data": image.data}}
            for image in request.images
        ]
        config: Json = {"responseModalities": ["TEXT", "IMAGE"]}
        if request.count > 1:
            config["candidateCount"] = request.count
        if request.aspect_ratio:
            config["imageConfig"] = {"aspectRatio": request.aspect_ratio}
        body = {
            "contents": [{"role": "user", "parts": [*parts, {"text": request.prompt}]}],
            "generationConfig": config,
        } | (request.extra or {})
        return ImageHttpRequest(path=f"/models/{model.id}:generateContent", body=json_bytes(body))

    def authorization(self, key: str) -> tuple[str, str]:
        """Google's own header."""
        return "x-goog-api-key", key

    def decode(self, body: Json) -> ImageHttpResponse:
        """Decode inline images and text of all candidates, without thinking."""
        parts = [
            part
            for candidate in _objects(body.get("candidates"))
            for part in _objects(_object(candidate.get("content")).get("parts"))
            if not part.get("thought")
        ]
        images = [
            Image(data=inline["data"], mime_type=str(inline.get("mimeType") or "image/png"))
            for part in parts
            if isinstance((inline := _object(part.get("inlineData"))).get("data"), str)
        ]
        text = "".join(part["text"] for part in parts if isinstance(part.get("text"), str))
        counts = _object(body.get("usageMetadata"))
        usage = Usage(
            input=_read_count(counts, "promptTokenCount"),
            output=_read_count(counts, "candidatesTokenCount"),
        )
        return _image_response(images, text, usage, body)


class OpenRouterImages(_Bearer):
    """Chat completions whose response has images beside the text."""

    def encode(self, model: ImageModel, request: ImageRequest) -> ImageHttpRequest:
        """One user message, with the modalities that the model can answer in."""
        content: list[Json] = [{"type": "text", "text": request.prompt}]
        content += [
            {"type": "image_url", "image_url": {"url": image.data_url}} for image in request.images
        ]
        body: Json = {
            "model": model.id,
            "messages": [{"role": "user", "content": content}],
            "modalities": list(model.output),
        }
        if request.aspect_ratio:
            body["image_config"] = {"aspect_ratio": request.aspect_ratio}
        return ImageHttpRequest(
            path="/chat/completions", body=json_bytes(body | (request.extra or {}))
        )

    def decode(self, body: Json) -> ImageHttpResponse:
        """Decode images in data URLs."""
        messages = [_object(choice.get("message")) for choice in _objects(body.get("choices"))]
        images = [
            image
            for message in messages
            for entry in _objects(message.get("images"))
            if (image := _from_data_url(_object(entry.get("image_url")).get("url"))) is not None
        ]
        text = "".join(
            message["content"] for message in messages if isinstance(message.get("content"), str)
        )
        counts = _object(body.get("usage"))
        usage = Usage(
            input=_read_count(counts, "prompt_tokens"),
            output=_read_count(counts, "completion_tokens"),
        )
        answer = _image_response(images, text, usage, body)
        return replace(answer, charged=billed_cost(counts))


SHAPES: Mapping[str, ImageFormat] = {
    "openai-images": OpenAIImages(),
    "google-images": GoogleImages(),
    "openrouter-images": OpenRouterImages(),
}


def _image_response(images: list[Image], text: str, usage: Usage, body: Json) -> ImageHttpResponse:
    if images:
        return ImageHttpResponse(images=tuple(images), text=text, usage=usage)
    blocked = _object(body.get("promptFeedback")).get("blockReason")
    if blocked:
        raise AnswerRefused(f"The request was blocked: {blocked}.")
    raise BadAnswer(f"The answer has no picture. {text[:500]}".rstrip())


def _from_data_url(url: Any) -> Image | None:
    if not isinstance(url, str) or not url.startswith("data:"):
        return None
    kind, _, data = url.removeprefix("data:").partition(";base64,")
    return Image(data=data, mime_type=kind) if data else None


def _object(value: Any) -> Json:
    return value if isinstance(value, dict) else {}


def _objects(value: Any) -> list[Json]:
    return [entry for entry in value if isinstance(entry, dict)] if isinstance(value, list) else []


def _read_count(counts: Json, name: str) -> int:
    value = counts.get(name)
    return value if isinstance(value, int) else 0


def _without_none(fields: Json) -> Json:
    return {name: value for name, value in fields.items() if value is not None}


def _boundary(images: Iterable[Image]) -> str:
    """Return a boundary that cannot occur in the pictures by accident; equal for equal input."""
    return "pi-" + sha256("".join(image.data for image in images).encode()).hexdigest()[:40]


def _decoded(image: Image) -> bytes:
    try:
        return b64decode(image.data)
    except ValueError as error:
        raise BadRequest(f"A picture to start from is not base64: {error}.") from error


def _form(boundary: str, fields: Json, images: tuple[Image, ...]) -> bytes:
    parts = [
        f'--{boundary}\r\nContent-Disposition: form-data; name="{name}"\r\n\r\n{value}\r\n'.encode()
        for name, value in fields.items()
    ]
    for index, image in enumerate(images):
        suffix = image.mime_type.partition("/")[2]
        parts.append(
            f'--{boundary}\r\nContent-Disposition: form-data; name="image[]"; '
            f'filename="image-{index}.{suffix}"\r\nContent-Type: {image.mime_type}\r\n\r\n'.encode()
            + _decoded(image)
            + b"\r\n"
        )
    return b"".join(parts) + f"--{boundary}--\r\n".encode()
