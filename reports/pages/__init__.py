"""The forms in which people read a report: terminal, HTML pages, figures. All of it is derived from the report."""
