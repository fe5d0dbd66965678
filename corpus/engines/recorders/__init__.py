"""Recorders: published engines made to record their verification steps as they run."""
