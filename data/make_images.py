"""Makes data/images: small JPEG, PNG, GIF, BMP and WebP files of all kinds, and
data/image/decoded.json, what is in them.

    python3 -B data/make_images.py data/images

The PNG and BMP files are put together here, part by part, from the pixels that decoded.json lists. The
others are written by Pillow (Debian's python3-pil), and their pixels are what Pillow reads.
"""

import io
import json
import pathlib
import random
import struct
import sys
import zlib

from PIL import Image

HEIGHT, WIDTH = 11, 13
GREY, RGB, PALETTE, GREY_ALPHA, RGBA = 0, 2, 3, 4, 6
SAMPLES = {GREY: 1, RGB: 3, PALETTE: 1, GREY_ALPHA: 2, RGBA: 4}
ADAM7 = [(0, 0, 8, 8), (0, 4, 8, 8), (4, 0, 8, 4), (0, 2, 4, 4), (2, 0, 4, 2), (0, 1, 2, 2),
         (1, 0, 2, 1)]


def chunk(name, data):
    return struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data))


def packed(rows, depth):
    """Unfiltered scan lines of rows of samples."""
    out = b""
    for row in rows:
        if not row:
            continue
        bits = "".join(format(sample, f"0{depth}b") for sample in row)
        bits += "0" * (-len(bits) % 8)
        out += b"\0" + int(bits, 2).to_bytes(len(bits) // 8, "big")
    return out


def png(color, depth, pixels, chunks=(), interlaced=False):
    """`pixels` is [y][x][sample]."""
    passes = ADAM7 if interlaced else [(0, 0, 1, 1)]
    data = b""
    for top, left, down, right in passes:
        part = [row[left::right] for row in pixels[top::down]]
        data += packed([[s for pixel in row for s in pixel] for row in part], depth)
    header = struct.pack(">IIBBBBB", WIDTH, HEIGHT, depth, color, 0, 0, int(interlaced))
    body = [chunk(b"IHDR", header), *chunks, chunk(b"IDAT", zlib.compress(data, 9))]
    return b"\x89PNG\r\n\x1a\n" + b"".join(body) + chunk(b"IEND", b"")


def png_files(rng):
    def pixels(samples, depth):
        return [[[rng.randrange(1 << depth) for _ in range(samples)] for _ in range(WIDTH)]
                for _ in range(HEIGHT)]

    def case(name, color, depth, meaning, channels, chunks=(), interlaced=False):
        stored = pixels(SAMPLES[color], depth)
        values = [v for row in stored for pixel in row for v in meaning(pixel)]
        return name, png(color, depth, stored, chunks, interlaced), channels, depth, values

    def same(pixel):
        return pixel

    def upper_byte(pixel):
        return [sample >> 8 for sample in pixel]

    for depth in (1, 2, 4):
        yield case(f"grey{depth}.png", GREY, depth,
                   lambda pixel, top=(1 << depth) - 1: [pixel[0] * 255 // top], 1)
    yield case("grey8.png", GREY, 8, same, 1)
    yield case("grey16.png", GREY, 16, upper_byte, 1)
    yield case("grey_alpha8.png", GREY_ALPHA, 8, same, 2)
    yield case("rgb8.png", RGB, 8, same, 3)
    yield case("rgb8_interlaced.png", RGB, 8, same, 3, interlaced=True)
    yield case("rgb16_interlaced.png", RGB, 16, upper_byte, 3, interlaced=True)
    yield case("rgba8.png", RGBA, 8, same, 4)
    yield case("rgba16.png", RGBA, 16, upper_byte, 4)
    gamma = chunk(b"gAMA", struct.pack(">I", 45455))
    text = chunk(b"zTXt", b"Comment\0\0" + zlib.compress(b"x" * 10000))
    yield case("rgb8_gamma_text.png", RGB, 8, same, 3, (gamma, text))
    for depth in (2, 8):
        colors = [[rng.randrange(256) for _ in range(3)] for _ in range(1 << depth)]
        alphas = [rng.randrange(256) for _ in range(3)]
        palette = chunk(b"PLTE", bytes(v for color in colors for v in color))
        yield case(f"palette{depth}.png", PALETTE, depth, lambda pixel, c=colors: c[pixel[0]], 3,
                   (palette,))
        opaque = alphas + [255] * (len(colors) - len(alphas))
        yield case(f"palette{depth}_alpha.png", PALETTE, depth,
                   lambda pixel, c=colors, a=opaque: c[pixel[0]] + [a[pixel[0]]], 4,
                   (palette, chunk(b"tRNS", bytes(alphas))))


def with_black(image):
    """A CMYK image of the same colours with black in it. (That of convert("CMYK") has none.)"""
    inks = image.point(lambda value: 255 - value)
    return Image.merge("CMYK", (*inks.split(), inks.convert("L").point(lambda value: value // 3)))


def ycck(image):
    """The JPEG file of a CMYK image in Adobe's colour space YCCK, which Pillow reads, but doesn't
    write: Pillow writes the components, inverted, as CMYK, and the Adobe segment then says YCCK (2).
    """
    cyan, magenta, yellow, black = image.split()
    planes = Image.merge("RGB", (cyan, magenta, yellow)).convert("YCbCr").split()
    inverted = [plane.point(lambda value: 255 - value) for plane in planes]
    file = io.BytesIO()
    Image.merge("CMYK", (*inverted, black)).save(file, "JPEG", quality=95)
    written = bytearray(file.getvalue())
    transform = written.index(b"Adobe") + 11
    assert written[transform] == 0
    written[transform] = 2
    return bytes(written)


def jpeg_files(folder, rng):
    smooth = bytes((x * 15 + c * 50 + y * (c + 3) * 5 + rng.randrange(8)) % 256
                   for y in range(HEIGHT) for x in range(WIDTH) for c in range(3))
    image = Image.frombytes("RGB", (WIDTH, HEIGHT), smooth)
    for name, source, options in [
            ("grey.jpg", image.convert("L"), {}),
            ("rgb444.jpg", image, {"subsampling": 0, "quality": 95}),
            ("rgb420.jpg", image, {"subsampling": 2, "quality": 85}),
            ("rgb420_progressive.jpg", image, {"subsampling": 2, "progressive": True}),
            ("cmyk.jpg", image.convert("CMYK"), {"quality": 95}),
            ("ycck.jpg", with_black(image), None)]:
        path = folder / name
        if options is None:
            path.write_bytes(ycck(source))
        else:
            source.save(path, **options)
        decoded = Image.open(path)
        channels = 1 if decoded.mode == "L" else 3
        values = list((decoded if channels == 1 else decoded.convert("RGB")).tobytes())
        yield name, path.read_bytes(), channels, 8, values


def bmp(bits, rows, palette=b"", masks=b"", header=40, top_down=False):
    """`rows` is [y][x], numbers of colours or pixels, from the top."""
    data = b""
    for row in rows if top_down else reversed(rows):
        if bits < 8:
            text = "".join(format(pixel, f"0{bits}b") for pixel in row)
            line = int(text + "0" * (-len(text) % 8), 2).to_bytes((len(text) + 7) // 8, "big")
        else:
            line = b"".join(pixel.to_bytes(bits // 8, "little") for pixel in row)
        data += line + b"\0" * (-len(line) % 4)
    height = -HEIGHT if top_down else HEIGHT
    if header == 12:
        info = struct.pack("<IHHHH", 12, WIDTH, HEIGHT, 1, bits)
    else:
        info = struct.pack("<IiiHHIIiiII", header, WIDTH, height, 1, bits, 3 if masks else 0,
                           len(data), 0, 0, 0, 0)
        info = (info + masks).ljust(header, b"\0")
    start = 14 + len(info) + len(palette)
    return struct.pack("<2sIII", b"BM", start + len(data), 0, start) + info + palette + data


def bmp_files(rng):
    def pixels(bits):
        return [[rng.randrange(1 << bits) for _ in range(WIDTH)] for _ in range(HEIGHT)]

    def values(rows, meaning):
        return [value for row in rows for pixel in row for value in meaning(pixel)]

    def rgb(pixel):
        return [pixel >> 16 & 255, pixel >> 8 & 255, pixel & 255]

    def part(pixel, shift, bits):
        return (pixel >> shift & (1 << bits) - 1) * 255 // ((1 << bits) - 1)

    for bits, header in ((1, 40), (4, 40), (8, 40), (8, 12)):
        colours = [[rng.randrange(256) for _ in range(3)] for _ in range(1 << bits)]
        end = [] if header == 12 else [0]
        palette = bytes(v for colour in colours for v in [*reversed(colour), *end])
        rows = pixels(bits)
        yield (f"palette{bits}{'_core' if header == 12 else ''}.bmp",
               bmp(bits, rows, palette, header=header), 3, 8, values(rows, lambda p, c=colours: c[p]))
    rows = pixels(24)
    yield "rgb24.bmp", bmp(24, rows), 3, 8, values(rows, rgb)
    yield "rgb24_top_down.bmp", bmp(24, rows, top_down=True), 3, 8, values(rows, rgb)
    rows = pixels(32)
    yield "rgb32.bmp", bmp(32, rows), 3, 8, values(rows, rgb)
    masks = struct.pack("<IIII", 0xFF, 0xFF00, 0xFF0000, 0xFF000000)
    yield ("rgba32.bmp", bmp(32, rows, masks=masks, header=108), 4, 8,
           values(rows, lambda p: [*reversed(rgb(p)), p >> 24]))
    rows = pixels(16)
    yield ("rgb15.bmp", bmp(16, rows), 3, 8,
           values(rows, lambda p: [part(p, shift, 5) for shift in (10, 5, 0)]))
    masks = struct.pack("<III", 0xF800, 0x07E0, 0x001F)
    yield ("rgb16.bmp", bmp(16, rows, masks=masks), 3, 8,
           values(rows, lambda p: [part(p, 11, 5), part(p, 5, 6), part(p, 0, 5)]))


def gif_and_webp_files(folder, rng):
    def noise(mode, samples):
        size = WIDTH * HEIGHT * samples
        return Image.frombytes(mode, (WIDTH, HEIGHT), bytes(rng.randrange(256) for _ in range(size)))

    def paletted(colours):
        image = Image.frombytes("P", (WIDTH, HEIGHT),
                                bytes(rng.randrange(colours) for _ in range(WIDTH * HEIGHT)))
        image.putpalette([rng.randrange(256) for _ in range(3 * colours)])
        return image

    smooth = Image.frombytes("RGBA", (WIDTH, HEIGHT), bytes(
        (x * 15 + c * 50 + y * (c + 3) * 5) % 256
        for y in range(HEIGHT) for x in range(WIDTH) for c in range(4)))
    rgb = smooth.convert("RGB")
    for name, image, options in [
            ("plain.gif", paletted(40), {"interlace": 0}),
            ("interlaced.gif", paletted(256), {"interlace": 1}),
            ("alpha.gif", paletted(5), {"transparency": 3}),
            ("animated.gif", paletted(16), {"save_all": True, "append_images": [paletted(16)]}),
            ("lossless.webp", noise("RGB", 3), {"lossless": True}),
            ("lossless_alpha.webp", noise("RGBA", 4), {"lossless": True, "exact": True}),
            ("lossy.webp", rgb, {"quality": 80}),
            ("lossy_alpha.webp", smooth, {"quality": 80}),
            ("animated.webp", rgb, {"save_all": True, "append_images": [noise("RGB", 3)],
                                    "lossless": True})]:
        path = folder / name
        image.save(path, **options)
        decoded = Image.open(path)
        has_alpha = decoded.mode == "RGBA" or "transparency" in decoded.info
        decoded = decoded.convert("RGBA" if has_alpha else "RGB")
        yield name, path.read_bytes(), len(decoded.mode), 8, list(decoded.tobytes())


def main():
    folder = pathlib.Path(sys.argv[1])
    rng = random.Random(7)
    expected = []
    for name, file, channels, bits, values in [*png_files(rng), *jpeg_files(folder, rng),
                                               *bmp_files(rng), *gif_and_webp_files(folder, rng)]:
        (folder / name).write_bytes(file)
        expected.append(json.dumps({"name": name, "channels": channels, "bits": bits,
                                    "pixels": bytes(values).hex()}))
    text = "[\n" + ",\n".join(expected) + "\n]\n"
    (folder.parent / "image/decoded.json").write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
