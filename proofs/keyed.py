"""The claim ``lossless-over-keys``: what a watermarked verifier emits, averaged over the keys of its noise."""

from .law import Departure, Law

NO_KEY = "it has no parameter key: its noise is not decided by one"


def lossless_over_keys(law: Law) -> Departure:
    """The completed law of a keyed function, averaged over its keys, against the target's.

    A keyed function is run with a key drawn anew in each call (``calling_convention.over_keys``), so that the law that
    is measured is the average over keys; what one label decides twice, within a block, is in it.
    """
    return law.lossless if "key" in law.findings else Departure(not_claimed=NO_KEY)
