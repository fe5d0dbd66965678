"""A small drafter of a packaged model, distilled from it; of a clone alone, no part of the wheel. Needs torch."""
