"""Headless Chromium, for the tests that look at a page."""

import shutil
import subprocess

import pytest

needs_chromium = pytest.mark.skipif(
    shutil.which("chromium") is None, reason="needs Debian's chromium: apt-get install chromium"
)


def chromium(file, *options) -> str:
    """What Chromium prints of a page; its profile is kept beside the file."""
    words = ["chromium", "--headless", "--no-sandbox", "--disable-gpu", f"--user-data-dir={file.parent / 'profile'}"]
    done = subprocess.run([*words, *options, file.as_uri()], capture_output=True, text=True, timeout=3600, check=True)
    return done.stdout
