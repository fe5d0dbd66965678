"""JSON read into types, and the one line that is said where it is bad."""

from fractions import Fraction
from typing import Literal

import msgspec
import pytest

from draftproof.models.errors import InputError
from draftproof.models.json_files import parse, plain, read, read_file
from draftproof.tests.refusals import one_line


class Row(msgspec.Struct, forbid_unknown_fields=True):
    p: Fraction
    tokens: list[int] = []
    how: Literal["iid", "top"] | None = None
    shape: list[Literal["V", "gamma"] | int] = []


class Rows(msgspec.Struct):
    rows: dict[str, Row]
    first: Row


GOOD = '{"rows": {"0,1": {"p": "1/3", "tokens": [2]}}, "first": {"p": "1e-7"}}'


def test_what_is_written_is_what_was_read():
    rows = read(Rows, GOOD, "rows")
    assert rows.first.p == Fraction(1, 10**7) and rows.rows["0,1"] == Row(Fraction(1, 3), [2])
    assert plain(rows) == {
        "rows": {"0,1": {"p": "1/3", "tokens": [2], "how": None, "shape": []}},
        "first": {"p": "1/10000000", "tokens": [], "how": None, "shape": []},
    }


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("[1", "rows: not JSON (Expecting ',' delimiter: line 1 column 3 (char 2))"),
        ("[" * 100_000, "rows: not JSON (nested too deeply)"),
        ("[1]", "rows: expected object, got array"),
        ('{"rows": {}}', "rows: the field 'first' is missing"),
        ('{"rows": {}, "first": {"p": "1/3", "q": 1}}', "rows: first: unknown field 'q'"),
        (
            '{"rows": {}, "first": {"p": "a third"}}',
            'a third\' is not a probability; expected a rational such as "1/3"',
        ),
        ('{"rows": {}, "first": {"p": 1, "tokens": ["2"]}}', "rows: first.tokens[0]: expected int, got str"),
        (
            '{"rows": {"0": {"p": "1", "how": "beam"}}, "first": {"p": 1}}',
            "rows: rows[...].how: invalid enum value 'beam'; expected one of iid, top",
        ),
        (
            '{"rows": {}, "first": {"p": "1", "shape": [3, "v"]}}',
            "rows: first.shape[1]: invalid enum value 'v'; expected one of V, gamma, integer",
        ),
        ('{"rows": {}, "rows": {}}', 'rows: the key "rows" is given twice'),
    ],
)
def test_bad_json_is_refused_in_one_line_that_names_the_place(text, said):
    assert said in one_line(read, Rows, text, "rows")


def test_decimal_numbers_are_exact_where_that_is_asked_for():
    assert parse("[0.1, 1e-7, 2]", "row", exact=True) == [Fraction(1, 10), Fraction(1, 10**7), 2]
    with pytest.raises(InputError, match="row: NaN is not a probability"):
        parse("[NaN]", "row", exact=True)


def test_a_file_that_cannot_be_read_is_named(tmp_path):
    (tmp_path / "bytes").write_bytes(b"\xff\xfe\xfa")
    with pytest.raises(InputError, match="nowhere: cannot be read"):
        read_file(Rows, tmp_path / "nowhere")
    with pytest.raises(InputError, match="bytes: not a text file"):
        read_file(Rows, tmp_path / "bytes")
