"""Tests of what was examined: `make corpus` runs them."""
