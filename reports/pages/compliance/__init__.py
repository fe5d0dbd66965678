"""The compliance document as people read it: one HTML page (page.py), and the PDF printed from it (pdf.py)."""
