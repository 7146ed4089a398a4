"""Renders an image in the terminal: each character is two pixels, one above the other.

Returns None for images that Pillow can't decode; they are sent nevertheless.
"""

import warnings
from io import BytesIO

from PIL import Image, ImageOps
from rich.color import Color
from rich.style import Style
from rich.text import Text

COLUMNS, LINES = 24, 12
MOST_PIXELS = 50_000_000  # a file of a few bytes may unpack to gigabytes
_UPPER_HALF = "▀"
_FORMATS = ("PNG", "JPEG", "GIF", "BMP", "WEBP", "TIFF")


def picture(content: bytes, columns: int = COLUMNS, lines: int = LINES) -> Text | None:
    pixels = _pixels(content, columns, 2 * lines)
    if pixels is None:
        return None
    text = Text()
    for upper in range(0, pixels.height, 2):
        for column in range(pixels.width):
            above = _colour(pixels, column, upper)
            below = _colour(pixels, column, upper + 1) if upper + 1 < pixels.height else None
            text.append(_UPPER_HALF, Style(color=above, bgcolor=below))
        text.append("\n")
    text.rstrip()
    return text


def _pixels(content: bytes, width: int, height: int) -> Image.Image | None:
    """Small, upright and opaque."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error", Image.DecompressionBombWarning)
            with Image.open(BytesIO(content), formats=_FORMATS) as opened:
                if opened.width * opened.height > MOST_PIXELS:
                    return None
                opened.draft("RGB", (4 * width, 4 * height))  # decodes a JPEG at a reduced size
                image = ImageOps.exif_transpose(opened).convert("RGBA")
    except Exception:  # noqa: BLE001 - Pillow raises almost anything for a broken file, and a missing picture is no failure
        return None
    image.thumbnail((width, height))
    black = Image.new("RGBA", image.size, (0, 0, 0, 255))
    return Image.alpha_composite(black, image).convert("RGB")


def _colour(pixels: Image.Image, column: int, line: int) -> Color:
    red, green, blue = pixels.getpixel((column, line))  # type: ignore[misc]
    return Color.from_rgb(red, green, blue)
