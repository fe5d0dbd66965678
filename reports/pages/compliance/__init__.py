"""The compliance document for people: one HTML page, and the PDF printed from it (page.py)."""
