"""Adapters of published engines, one a module."""
