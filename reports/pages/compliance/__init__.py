"""The compliance document as people read it: one HTML page (page.py), the PDF printed from it (pdf.py), both read back (said.py)."""
