"""mlx-lm with a planted bug: the temperature reaches drafted tokens alone."""

from draftproof_engines.adapters import mlx_generation

words = mlx_generation._words


def _cold(settings, sample_utils):
    said, bare = words(settings, sample_utils), words({}, sample_utils)["sampler"]
    own = said["sampler"]
    return said | {"sampler": lambda rows: own(rows) if rows.ndim == 1 or len(rows) == 1 else bare(rows)}


def decode(*given, **settings):
    mlx_generation._words = _cold
    return mlx_generation.decode(*given, **settings)
