"""The build backend: setuptools, with a wheel deflated by libdeflate, which zip's own level 9 does not reach."""

import zipfile

from setuptools.build_meta import *  # noqa: F403
from setuptools.build_meta import build_wheel as build_plain_wheel
from setuptools.build_meta import get_requires_for_build_wheel as setuptools_requires

TIGHTEST = 12


class Deflated:
    """What zipfile asks of a compressor, for the whole file at once."""

    def __init__(self):
        self.parts = []

    def compress(self, data):
        self.parts.append(data)
        return b""

    def flush(self):
        from deflate import deflate_compress

        return deflate_compress(b"".join(self.parts), TIGHTEST)


def get_requires_for_build_wheel(config_settings=None):
    return [*setuptools_requires(config_settings), "deflate>=0.7"]


def build_wheel(wheel_directory, config_settings=None, metadata_directory=None):
    plain = zipfile._get_compressor
    zipfile._get_compressor = lambda kind, level=None: (
        Deflated() if kind == zipfile.ZIP_DEFLATED else plain(kind, level)
    )
    try:
        return build_plain_wheel(wheel_directory, config_settings, metadata_directory)
    finally:
        zipfile._get_compressor = plain
