"""Deflate the files of wheels anew by zopfli, which zip's own level 9 does not reach: a fortieth less.

    python .ci/tighten_wheel.py WHEEL ...

What the files hold, and so what RECORD says of them, stays.
"""

import os
import sys
import zipfile
from pathlib import Path

import zopfli.zlib

AROUND = slice(2, -4)
"""A stream of zlib without its header and its checksum is deflated data alone."""


class Deflated:
    """What zipfile asks of a compressor, for the whole file at once."""

    def __init__(self):
        self.parts = []

    def compress(self, data):
        self.parts.append(data)
        return b""

    def flush(self):
        return zopfli.zlib.compress(b"".join(self.parts), numiterations=150)[AROUND]


def tighten(wheel):
    zipfile._get_compressor = lambda kind, level=None: Deflated()  # zipfile lets nobody choose another one
    tight = wheel.with_suffix(".tight")
    with zipfile.ZipFile(wheel) as old, zipfile.ZipFile(tight, "w", zipfile.ZIP_DEFLATED) as new:
        for entry in old.infolist():
            new.writestr(entry, old.read(entry), zipfile.ZIP_DEFLATED)
    with zipfile.ZipFile(tight) as made:
        assert made.testzip() is None
    os.replace(tight, wheel)


if __name__ == "__main__":
    for name in sys.argv[1:]:
        tighten(Path(name))
