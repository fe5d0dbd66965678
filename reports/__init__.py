"""What a person or a CI reads: running an audit, the report, the command line."""
