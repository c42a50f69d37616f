"""Records: one length, opened by one party each, bound to their task."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shuffledp.service.sealing import CannotOpen
from shuffledp.service.wire import Problem, Refused, parse_id
from tests.service.made import key, make_task


def test_a_record_is_opened_layer_by_layer() -> None:
    task = make_task()
    form = task.format
    report, name = bytes(range(16)), bytes(16)
    record = form.seal(report, name, key("shuffler").public)
    assert len(record) == form.record == 8 + 48 + 16 + 48 + 16
    found, inner = form.unwrap(record, key("shuffler"))
    assert (found, len(inner)) == (name, form.inner)
    assert key("analyst").open(inner, form.inner_info) == report
    for wrong in (key("shuffler"), key("other")):
        with pytest.raises(CannotOpen):
            wrong.open(inner, form.inner_info)


def test_a_record_is_of_one_task_and_key() -> None:
    one, other = make_task(title="one"), make_task(title="other")
    record = one.format.seal(bytes(16), bytes(16), key("shuffler").public)
    with pytest.raises(CannotOpen):
        other.format.unwrap(record, key("shuffler"))
    with pytest.raises(CannotOpen):
        one.format.unwrap(record, key("other"))
    with pytest.raises(CannotOpen):  # another key's name in front
        one.format.unwrap(key("other").public.id + record[8:], key("other"))
    for wrong in (record[:-1], record + b"\0", b""):
        with pytest.raises(CannotOpen):
            one.format.unwrap(wrong, key("shuffler"))


@given(st.integers(0, 600))
def test_uploads_are_whole_records(size: int) -> None:
    form = make_task().format
    if size and size % form.record == 0:
        assert [len(each) for each in form.records(bytes(size))] == [form.record] * (
            size // form.record
        )
    else:
        with pytest.raises(Refused) as error:
            form.records(bytes(size))
        assert error.value.problem is Problem.MALFORMED


@given(st.text(max_size=40))
def test_names_are_lower_case_digits(text: str) -> None:
    found = parse_id(text, 8)
    assert found is None or (found.hex() == text and len(found) == 8)


def test_problems_have_names_of_their_own() -> None:
    assert len({each.code for each in Problem}) == len(Problem)
    assert parse_id("00" * 8, 8) == bytes(8)
    assert parse_id("0 " * 8, 8) is None
    assert parse_id("AA" * 8, 8) is None
