"""Adapters of engines that ``make engines`` or ``make decoders`` fetches: in a clone, no part of the wheel."""
