"""Tables for narrow windows: each row a block of lines, each line with the heading of its column."""

import re
from html import escape, unescape

TABLE = re.compile(r"<table\b((?:(?!</table>).)*?</thead>)", re.DOTALL)
HEADING = re.compile(r"<th\b[^>]*>(.*?)</th>", re.DOTALL)
TAG = re.compile(r"<[^>]+>")


def labelled(html: str) -> str:
    """The page whose tables of more than two columns hold their headings, for the rules of ``td::before`` in CSS.

    The heading of column k is the variable --ck of the table, once for all rows.
    """
    return TABLE.sub(_with_headings, html)


def _with_headings(match: re.Match[str]) -> str:
    names = [" ".join(unescape(TAG.sub("", heading)).split()) for heading in HEADING.findall(match[1])]
    if len(names) < 3:
        return match[0]
    quoted = ("".join(c if c not in '"\\' else f"\\{c}" for c in f"{name}: " if name) for name in names)
    style = ";".join(f'--c{k}:"{name}"' for k, name in enumerate(quoted, start=1))
    return f'<table style="{escape(style)}"{match[1]}'
