"""The declared order as `order_key` writes it."""

import pytest

from simrunner.history.order import place_of


def test_the_smaller_array_comes_first() -> None:
    assert place_of("[-5,100,3]") < place_of("[-5,101,1]") < place_of("[0,1,1]")


def test_numbers_are_compared_as_numbers_and_texts_as_texts() -> None:
    assert place_of("[9]") < place_of("[10]")
    assert place_of('["10"]') < place_of('["9"]')


def test_numbers_come_before_texts_and_null_last() -> None:
    assert place_of("[9]") < place_of('["1"]') < place_of("[null]")


def test_equal_keys_are_the_same_place() -> None:
    assert place_of("[1, 2]") == place_of("[1,2]")


@pytest.mark.parametrize("text", ["[[1]]", '[{"a":1}]', "no json"])
def test_anything_else_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"order key|Expecting"):
        place_of(text)
