"""Adapters of engines that have to be fetched, driven decoders, and the histories of their releases."""
