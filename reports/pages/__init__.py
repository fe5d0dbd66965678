"""What people read of a report: terminal, HTML pages, figures. Everything shown is derived from the report."""
