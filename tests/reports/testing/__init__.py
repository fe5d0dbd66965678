"""Tests of what runs in other projects' test suites and pipelines."""
