"""Third-party text that is shown has no character that a terminal obeys."""

import pytest

from draftproof.models.errors import printable, printable_data

pytestmark = pytest.mark.exact


def test_control_and_reordering_characters_are_replaced_and_nothing_else():
    assert printable("\x1b[2Jmet\r\x9b\u202e\ud800 é 😀\nnext") == "?[2Jmet????  é 😀\nnext".replace("  ", " ")
    data = {"a\x1b": ["\x07", 1, None, {"b": (True, "c")}]}
    assert printable_data(data) == {"a?": ["?", 1, None, {"b": [True, "c"]}]}
