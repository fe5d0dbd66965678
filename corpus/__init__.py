"""What was examined, apart from what examines; no part of the wheel."""
