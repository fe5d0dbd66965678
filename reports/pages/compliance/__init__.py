"""The compliance document as people read it: one HTML page, and the PDF printed from it (page.py)."""
