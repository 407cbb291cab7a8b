"""The cells of the tables that notebooks show: values as HTML, images in thumbnails."""

from __future__ import annotations

import base64
import struct
import zlib
from typing import Any

import numpy as np
import numpy.typing as npt

from recordpipe.ragged import Ragged

__all__ = ["STYLE", "Cells", "cut", "encode_png", "escaped", "quiet"]

_IMAGE_BYTES = 256 << 10  # of one image file that a page carries
_PAGE_BYTES = 2 << 20  # of all of them
_THUMBNAIL = 96  # pixels, of the longer side
_TEXT = 60  # characters of a cell
_BINARY = 32  # of bytes that are no text
_VALUES = 6  # of a list

# Selectors of two classes, because those of JupyterLab for all tables have as many.
STYLE = """<style>
.recordpipe { font-size: 12px; max-width: 100%; }
.recordpipe .scroll { overflow-x: auto; }
.recordpipe .rows { border-collapse: collapse; border: none; margin: 4px 0; color: inherit;
  table-layout: auto; }
.recordpipe .rows tr:nth-child(odd), .recordpipe .rows tr:nth-child(even) { background: none; }
.recordpipe .rows th, .recordpipe .rows td { border: none;
  border-bottom: 1px solid rgba(128, 128, 128, .35); padding: 4px 10px 4px 0; text-align: left;
  vertical-align: top; max-width: 22em; overflow-wrap: anywhere; white-space: normal;
  font-variant-numeric: tabular-nums; }
.recordpipe .rows th { font-weight: 600; border-bottom-color: rgba(128, 128, 128, .8);
  overflow-wrap: normal; }
.recordpipe .quiet { opacity: .65; font-weight: normal; font-size: 11px; white-space: nowrap; }
.recordpipe .rows img { max-width: 96px; max-height: 96px; min-height: 32px; vertical-align: top;
  display: inline-block; margin: 0 4px 0 0; }
.recordpipe .rows .pixels { image-rendering: pixelated; min-width: 64px; }
.recordpipe pre { font-size: 11px; line-height: 1.4; margin: 6px 0 0; padding: 0;
  background: none; color: inherit; overflow-x: auto; white-space: pre; }
.recordpipe .failed { color: #d33; }
</style>
"""


class Cells:
    """Makes the HTML of values, up to a number of bytes of images."""

    def __init__(self) -> None:
        self._left = _PAGE_BYTES

    def of(self, value: Any) -> str:
        if isinstance(value, bytes):
            return self._bytes(value)
        if isinstance(value, Ragged):
            rows = [self.of(row) for row in value[:_VALUES]]
            return "<br>".join(rows) + _more(len(value), len(rows), "steps")
        array = np.asarray(value)
        if array.dtype == np.uint8 and array.ndim == 3 and array.shape[2] in (1, 3) and array.size:
            return self._pixels(array)
        if array.ndim == 0:
            item = array.item()
            return self._bytes(item) if isinstance(item, bytes) else escaped(_number(array[()]))
        if array.dtype == object:
            items = [self.of(item) for item in array.ravel()[:_VALUES].tolist()]
            return ", ".join(items) + _more(array.size, len(items), "values")
        text = ", ".join(_number(item, 4) for item in array.ravel()[:_VALUES])
        if array.ndim == 1:
            return escaped(text) + _more(array.size, _VALUES, "values")
        more = ", ..." if array.size > _VALUES else ""
        return escaped(text + more) + " " + quiet(_dimensions(array))

    def _bytes(self, value: bytes) -> str:
        for magic, name in ((b"\xff\xd8\xff", "jpeg"), (b"\x89PNG\r\n\x1a\n", "png")):
            if value.startswith(magic):
                if len(value) <= min(_IMAGE_BYTES, self._left):
                    return self._image(value, name)
                return quiet(f"{name.upper()} of {len(value):,} bytes")
        if len(value) <= 4 * _TEXT:
            try:
                return escaped(cut(value.decode()))
            except UnicodeDecodeError:
                pass
        start = cut(repr(value[:_TEXT])[2:-1], _BINARY)
        return f"{escaped(start)} {quiet(f'{len(value):,} bytes')}"

    def _pixels(self, array: npt.NDArray[np.uint8]) -> str:
        step = -(-max(array.shape[:2]) // _THUMBNAIL)
        image = encode_png(array[::step, ::step])
        if len(image) > self._left:
            return quiet(_dimensions(array))
        return self._image(image, "png", "pixels")

    def _image(self, image: bytes, name: str, of_class: str = "") -> str:
        self._left -= len(image)
        data = base64.b64encode(image).decode()
        return f'<img class="{of_class}" alt="{name}" src="data:image/{name};base64,{data}">'


def encode_png(pixels: npt.NDArray[np.uint8]) -> bytes:
    """Returns a PNG of pixels [height, width, 1 or 3]."""
    height, width, channels = pixels.shape

    def chunk(kind: bytes, data: bytes) -> bytes:
        checked = kind + data
        return struct.pack(">I", len(data)) + checked + struct.pack(">I", zlib.crc32(checked))

    header = struct.pack(">IIBBBBB", width, height, 8, 2 if channels == 3 else 0, 0, 0, 0)
    rows = pixels.reshape(height, width * channels)
    filtered = np.concatenate([np.zeros((height, 1), np.uint8), rows], axis=1)  # filter 0: none
    return (
        b"\x89PNG\r\n\x1a\n"
        + chunk(b"IHDR", header)
        + chunk(b"IDAT", zlib.compress(filtered.tobytes(), 1))
        + chunk(b"IEND", b"")
    )


def _number(item: Any, digits: int = 6) -> str:
    return f"{item:.{digits}g}" if isinstance(item, np.floating) else cut(str(item))


def _dimensions(array: npt.NDArray[Any]) -> str:
    return " x ".join(map(str, array.shape))


def quiet(text: str, tag: str = "span") -> str:
    return f'<{tag} class="quiet">{escaped(text)}</{tag}>'


def _more(count: int, shown: int, what: str) -> str:
    return " " + quiet(f"... {count:,} {what}") if count > shown else ""


def cut(text: str, length: int = _TEXT) -> str:
    return text if len(text) <= length else text[: length - 3] + "..."


def escaped(text: str, lines: bool = False) -> str:
    """Returns HTML of any text: no markup, and no control or direction characters."""
    visible = "".join(
        char
        if char.isprintable() or (lines and char == "\n")
        else char.encode("unicode_escape").decode()
        for char in text
    )
    import html

    return html.escape(visible)
