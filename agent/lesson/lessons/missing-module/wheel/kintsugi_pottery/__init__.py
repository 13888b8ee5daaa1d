"""A bowl made of text. Drop it, and mend it with gold.

    >>> from kintsugi_pottery import Bowl
    >>> bowl = Bowl(width=28)
    >>> bowl.drop()
    >>> bowl.mend()
    >>> print(bowl)
"""

import math
import os
import random
import struct
import zlib

__all__ = ["Bowl"]
__version__ = "1.0.0"

COLOURS = {"clay": "36", "gold": "1;33"}


def paint(text, colour):
    """Colour text, unless NO_COLOR asks for none."""
    if os.environ.get("NO_COLOR") or colour not in COLOURS:
        return text
    return "\x1b[{}m{}\x1b[0m".format(COLOURS[colour], text)


def join(cells):
    """Make one text of (character, colour) pairs, painting runs at once."""
    text, run, now = "", "", None
    for character, colour in cells + [("", "end")]:
        if colour != now:
            text += paint(run, now)
            run, now = "", colour
        run += character
    return text


def fade(colour, alpha):
    """A colour at the edge of something."""
    return [min(255, max(0, round(part))) for part in colour] + [min(255, max(0, round(255 * alpha)))]


def png(width, height, rows):
    """The bytes of a PNG file."""

    def chunk(kind, data):
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    head = struct.pack(">IIBBBBB", width, height, 8, 6, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head) + chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b"")


class Bowl:
    """A round bowl, some characters wide and some lines high."""

    def __init__(self, width=28, height=7):
        self.width = max(12, int(width))
        self.height = max(4, int(height))
        self.cracks = []  # each crack is a list: its column in every line
        self.mended = False

    def drop(self, pieces=4, seed=7):
        """Let the bowl fall: cracks run from the rim to the foot."""
        chance = random.Random(seed)
        self.cracks, self.mended = [], False
        for n in range(1, pieces):
            column = round(n * self.width / pieces) + chance.randint(-1, 1)
            crack = []
            for _ in range(self.height):
                crack.append(column)
                column += chance.choice([-1, 0, 1]) + self.pull(column)
            self.cracks.append(crack)
        return self

    def pull(self, column):
        """The wall leans inwards, and so do its cracks."""
        return round((self.width / 2 - column) / self.width)

    def mend(self):
        """Fill every crack with gold. It stays visible: that is the point."""
        self.mended = True
        return self

    def edges(self, line):
        """The first and the last column of the bowl in a line."""
        half = self.width / 2 * (1 - (line / self.height) ** 2.6) ** 0.5
        return round(self.width / 2 - half), round(self.width / 2 + half) - 1

    def clay(self, line, light):
        """What a place looks like: rim, foot, or wall in some light."""
        if line == 0:
            return "▄"
        if line == self.height - 1:
            return "▀"
        return "░" if light < 0.3 else "▒" if light < 0.7 else "▓"

    def seam(self, line, column):
        """The stroke of a crack in a place, or nothing."""
        for crack in self.cracks:
            if crack[line] == column:
                turn = column - crack[max(0, line - 1)]
                return "/" if turn < 0 else "\\" if turn > 0 else "|"
        return ""

    def picture(self, line):
        """One line of the bowl."""
        left, right = self.edges(line)
        cells = [(" ", "air")] * left
        for column in range(left, right + 1):
            seam = self.seam(line, column) if left < column < right else ""
            if seam and self.mended:
                cells.append((seam, "gold"))
            elif seam:
                cells.append(("  ", "air"))  # the pieces lie apart
            else:
                light = (column - left) / max(1, right - left)
                cells.append((self.clay(line, light), "clay"))
        return join(cells)

    def save(self, name, width=320):
        """Write a picture of the bowl to a PNG file."""
        height = width * 11 // 20
        rows = b"".join(
            b"\0" + b"".join(bytes(self.pixel((x + 0.5) / width, (y + 0.5) / height, width)) for x in range(width))
            for y in range(height)
        )
        with open(name, "wb") as file:
            file.write(png(width, height, rows))
        return self

    def pixel(self, x, y, width):
        """The colour of a point of the picture, both from 0 to 1."""
        across, down = (x - 0.5) / 0.42, (y - 0.2) / 0.72
        soft = 1 / (0.42 * width)
        rim = math.hypot(across, down / 0.17)
        if down < 0 and rim > 1:
            return fade((30, 70, 80), (1 - rim) / soft / 2 + 1)
        if rim < 0.94:
            return (24, 52, 62, 255) if rim > 0.9 else (18, 40, 50, 255)
        if down > 1 or rim < 1:
            return (126, 170, 182, 255) if rim < 1 else (0, 0, 0, 0)
        half = (1 - down**2.6) ** 0.5
        shine = math.sqrt(max(0, 1 - (across / half) ** 2)) if half > abs(across) else 0
        light = 0.45 + 0.45 * shine + 0.25 * max(0, 1 - math.hypot(across + 0.4, down - 0.3) * 2)
        gold = self.gold(across, down, width)
        colour = [(1 - gold) * clay * light + gold * metal for clay, metal in zip((74, 128, 144), (236, 182, 72))]
        if not self.mended and gold > 0.5:
            return (0, 0, 0, 0)
        return fade(colour, (half - abs(across)) / soft)

    def gold(self, across, down, width):
        """How near a point is to a crack, from 0 to 1."""
        near = 0
        for crack in self.cracks:
            line = down * (self.height - 1)
            low, part = min(int(line), self.height - 2), line - min(int(line), self.height - 2)
            column = crack[low] * (1 - part) + crack[low + 1] * part
            away = abs(across - (2 * column / self.width - 1)) * 0.42 * width
            near = max(near, min(1, 3.2 - away))
        return max(0, near)

    def __str__(self):
        return "\n".join("  " + self.picture(n) for n in range(self.height))
