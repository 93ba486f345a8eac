"""A tensor in a notebook: a small table, and where its entries are."""

import base64
import itertools
import struct
import zlib

import numpy as np

from weft import notebook_page

_CELLS = 120  # of a picture, on its longer side, at most
_FEWEST_CELLS = 24  # on the shorter side, where there are as many places
_PIXELS = 168
_LOOKED_AT = 1 << 18  # entries; of larger tensors as many, drawn with a seed
_PICTURES = 3
_MOST_EXPANDED = 1 << 24  # entries of a tensor whose levels are not read where they lie

_STYLE = """
.tensor { display: flex; flex-wrap: wrap; gap: 10px 24px; align-items: flex-start; color: var(--ink);
  font: 13px/1.45 system-ui, sans-serif; padding: 4px 0; }
table { border-collapse: collapse; } td, th { padding: 1px 12px 1px 0; text-align: left; }
th { color: var(--soft); font-weight: 500; } td { font-variant-numeric: tabular-nums; }
code { font-family: ui-monospace, Menlo, Consolas, "DejaVu Sans Mono", monospace; }
figure { margin: 0; } figcaption { color: var(--soft); font-size: 12px; }
img { display: block; border: 1px solid var(--line); image-rendering: pixelated; }
"""


def html(tensor):
    """Shape, type, format, entries and bytes of a `weft.Tensor`, and a picture of its pattern."""
    rows = [("shape", " × ".join(f"{extent:,}" for extent in tensor.shape) or "a number"), ("type", str(tensor.dtype)),
            ("format", f"<code>{tensor.format}</code>" if tensor.ndim else "scalar"), ("stored", f"{tensor.nnz:,}")]
    if tensor.size:
        rows.append(("places stored", share(tensor.nnz / tensor.size)))
    rows.append(("memory", _bytes(tensor.nbytes)))
    table = "".join(f"<tr><th>{name}</th><td>{value}</td></tr>" for name, value in rows)
    figures = "".join(f'<figure>{_image(cells, caption)}<figcaption>{caption}</figcaption></figure>'
                      for caption, cells in pictures(tensor))
    light, dark = ("--ink: %s; --soft: %s; --line: %s;" % each for each in (notebook_page.LIGHT, notebook_page.DARK))
    return notebook_page.shut_in(f'<div class="tensor"><table>{table}</table>{figures}</div>', _STYLE, light, dark,
                                 repr(tensor))


def share(fraction):
    """A part of a whole, with two digits.

    >>> share(0.5), share(0.000123), share(1.0), share(0.0)
    ('50 %', '0.012 %', '100 %', '0 %')
    """
    return f"{float(f'{100 * fraction:.2g}'):g} %" if fraction < 1 else "100 %"


def _bytes(count):
    for unit in ("bytes", "kB", "MB", "GB"):
        if count < 1000:
            return f"{count:.3g} {unit}"
        count /= 1000
    return f"{count:.3g} TB"


def pictures(tensor):
    """``(caption, cells)`` of each picture: how much of each cell's places have entries other than 0, from 0 up to 1.

    A matrix has one picture, a vector a strip, a tensor of more modes one of each pair of modes that are neighbours,
    three at most, with all others summed over; there a cell is compared with the fullest.
    """
    if not tensor.ndim or not tensor.size:
        return []
    entries = _entries(tensor)
    if entries is None:
        return []
    coordinates, each_stands_for = entries
    if tensor.ndim == 1:
        coordinates, pairs, shape = [np.zeros_like(coordinates[0]), coordinates[0]], [(0, 1)], (1, tensor.shape[0])
    else:
        pairs = list(itertools.combinations(range(tensor.ndim), 2)) if tensor.ndim == 3 else [
            (mode, mode + 1) for mode in range(tensor.ndim - 1)]
        shape = tensor.shape
    made = []
    for down, across in pairs[:_PICTURES]:
        cells = _counted(coordinates[down], coordinates[across], shape[down], shape[across])
        if tensor.ndim <= 2:
            places = np.outer(*(_widths(shape[mode], sides) for mode, sides in zip((down, across), cells.shape)))
            cells = np.minimum(cells * each_stands_for / places, 1)
            caption = "pattern"
        else:
            cells = cells / max(cells.max(), 1)
            caption = f"modes {down} (down) and {across} (across)"
        made.append((caption, cells))
    return made


def _sides(rows, columns):
    """Cells down and across: as the extents are to each other, where that leaves enough on the shorter side."""
    longest = max(rows, columns)
    return [min(extent, max(_FEWEST_CELLS, _CELLS * extent // longest)) for extent in (rows, columns)]


def _widths(extent, sides):
    """Coordinates that fall on each cell."""
    return np.diff(np.array([-(-place * extent // sides) for place in range(sides + 1)], float))


def _counted(down, across, rows, columns):
    height, width = _sides(rows, columns)
    place = _cell(down, rows, height) * width + _cell(across, columns, width)
    return np.bincount(place, minlength=height * width).reshape(height, width)


def _cell(coordinates, extent, sides):
    if extent * sides < 1 << 63:
        return coordinates * sides // extent
    return np.minimum(coordinates / (extent / sides), sides - 1).astype(np.int64)


def _entries(tensor):
    """Coordinates of entries that are not 0, one array per mode, and how many entries of the tensor each stands for.

    None where that would take long: levels that are neither dense nor compressed, of a large tensor.
    """
    dense = tensor._dense()
    if dense is not None:
        array = np.asarray(dense)
        places, each = _looked_at(array.size)
        coordinates = np.unravel_index(places, array.shape)
        there = array[coordinates] != 0
        return [each_mode[there] for each_mode in coordinates], each
    kinds = tensor.format.partition(":")[0]  # levels of a layout, "(i,j) -> ...", are of no mode
    levels = [] if set(kinds) - set("ds") else [tensor._level(number) for number in range(tensor.ndim)]
    if not levels or any(stride for _, _, _, _, stride in levels):
        return (list(tensor.to_coo(drop_zeros=True)[0]), 1) if tensor.nnz <= _MOST_EXPANDED else None
    places, each = _looked_at(tensor.nnz)
    places = places[np.asarray(tensor._values(False))[places] != 0]
    coordinates = [None] * tensor.ndim
    for kind, mode, starts, stored, _ in reversed(levels):  # from positions of the values up to the root
        if kind == "d":
            places, coordinates[mode] = np.divmod(places, tensor.shape[mode])
            continue
        coordinates[mode] = _unsigned(stored)[places].astype(np.int64) if len(places) else places
        places = np.searchsorted(_unsigned(starts), places, side="right") - 1
    return coordinates, each


def _looked_at(count):
    """Positions of all entries, or of some, and how many each stands for."""
    if count <= _LOOKED_AT:
        return np.arange(count), 1
    return np.sort(np.random.default_rng(0).integers(count, size=_LOOKED_AT)), count / _LOOKED_AT


def _unsigned(memory):
    array = np.asarray(memory)
    return array.view(f"u{array.itemsize}")


def _image(cells, caption):
    """Cells as an image: blue, the more the fuller; thinly filled cells are still seen."""
    shown = np.where(cells > 0, 0.45 + 0.55 * np.sqrt(cells), 0)
    height, width = cells.shape
    scale = _PIXELS / max(height, width)
    size = f'width="{max(width * scale, 8):.0f}" height="{max(height * scale, 8):.0f}"'
    return (f'<img alt="{caption}" {size} src="data:image/png;base64,'
            f'{base64.b64encode(png(np.round(255 * shown).astype(np.uint8))).decode()}">')


def png(opacity):
    """A PNG of one colour, opaque as the bytes say.

    >>> png(np.array([[0, 255]], np.uint8))[:4]
    b'\\x89PNG'
    """
    height, width = opacity.shape
    colours = np.array([0x4A, 0x86, 0xCF] * 256, np.uint8)
    rows = np.zeros((height, width + 1), np.uint8)
    rows[:, 1:] = opacity
    parts = ((b"IHDR", struct.pack(">IIBBBBB", width, height, 8, 3, 0, 0, 0)), (b"PLTE", colours.tobytes()),
             (b"tRNS", bytes(range(256))), (b"IDAT", zlib.compress(rows.tobytes(), 9)), (b"IEND", b""))
    return b"\x89PNG\r\n\x1a\n" + b"".join(
        struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data)) for name, data in parts)
