import msgspec

from pi.ai.images.formats import ImageResult
from pi.ai.messages import Image


def test_a_result_can_be_encoded_and_decoded_as_json() -> None:
    result = ImageResult(images=(Image(data="AA==", mime_type="image/png"),), text="here")

    assert msgspec.json.decode(msgspec.json.encode(result), type=ImageResult) == result
    assert b"errorMessage" not in msgspec.json.encode(result)
