"""Reads PNG files without a library, for comparisons in tests."""
import struct
import zlib


def png_pixels(data):
    """Returns width, height, channels and unfiltered rows of an 8-bit PNG without interlacing."""
    assert data.startswith(b"\x89PNG\r\n\x1a\n")
    at, idat, head = 8, b"", None
    while at < len(data):
        length, kind = struct.unpack(">I4s", data[at:at + 8])
        body = data[at + 8:at + 8 + length]
        if kind == b"IHDR":
            head = struct.unpack(">IIBBBBB", body)
        idat += body if kind == b"IDAT" else b""
        at += 12 + length
    width, height, channels = head[0], head[1], {0: 1, 2: 3, 4: 2, 6: 4}[head[3]]
    raw, rows, above = zlib.decompress(idat), [], bytes(width * channels)
    stride = width * channels
    for y in range(height):
        kind, row = raw[y * (stride + 1)], bytearray(raw[y * (stride + 1) + 1:(y + 1) * (stride + 1)])
        for x in range(stride):
            left = row[x - channels] if x >= channels else 0
            corner = above[x - channels] if x >= channels else 0
            guess = left + above[x] - corner
            paeth = min((left, above[x], corner), key=lambda value: abs(guess - value))
            row[x] = (row[x] + [0, left, above[x], (left + above[x]) // 2, paeth][kind]) % 256
        rows.append(bytes(row))
        above = bytes(row)
    return width, height, channels, b"".join(rows)
