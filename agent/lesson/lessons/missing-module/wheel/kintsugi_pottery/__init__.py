"""A bowl made of text. Drop it, and mend it with gold.

    >>> from kintsugi_pottery import Bowl
    >>> bowl = Bowl(width=28)
    >>> bowl.drop()
    >>> bowl.mend()
    >>> print(bowl)
"""

import os
import random

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

    def __str__(self):
        return "\n".join("  " + self.picture(n) for n in range(self.height))
