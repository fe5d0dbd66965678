"""The pages that this project publishes: engines, histories, bugs, vectors, rounding. In the clone and the source
distribution, and no part of the wheel."""
