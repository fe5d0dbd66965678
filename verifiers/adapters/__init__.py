"""Functions of engines by the calling conventions of audits (adapters), and engines as decoders that emit text."""
