"""Rows of long runs, each kept as soon as it is made."""

from collections.abc import Callable, Iterable, Iterator
from typing import Any

from draftproof.models.store import Key, Store
from draftproof_engines.releases_audit import in_processes


def made_rows(
    store: Store, keys: Iterable[Key], make: Callable[..., Any], workers: int = 1
) -> Iterator[tuple[Key, Any]]:
    """The rows for those keys that the store lacks, by ``make(*key)``; each is in the store before it is given out."""
    for key, row in in_processes(make, [key for key in keys if key not in store.rows], workers):
        store.put(key, row)
        yield key, row
