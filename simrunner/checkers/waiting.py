"""The stays that are going on at one moment of a walk over the claims, in claim order and in order of entry."""

from __future__ import annotations

from bisect import bisect_left, insort
from collections.abc import Iterator, Sequence
from heapq import heappop, heappush
from itertools import takewhile

from simrunner.checkers.stays import Pass, Stay

_FEW = 16
"""So many numbers are put in or taken out one by one; more of them in one go over the whole list."""


class Waiting:
    """The stays that are going on and available. Inside, a stay is a number: its place among all stays in claim order."""

    def __init__(self, stays: Sequence[Stay]) -> None:
        """Take all stays of a history, in order of entry."""
        self._stays = stays
        self._leaving = sorted((stay for stay in stays if stay.leaves_seq is not None), key=lambda stay: stay.leaves_seq or 0)
        self._entered = self._left = 0
        self._scheduled: list[tuple[int, int]] = []
        self._ordered = sorted(stays, key=lambda stay: (stay.place, stay.entry.seq))
        self._number = {stay.entry.seq: number for number, stay in enumerate(self._ordered)}
        self._by_seq = {stay.entry.seq: stay for stay in stays}
        self._by_place: list[int] = []
        self._by_entry: list[int] = []

    def until(self, one: Pass) -> None:
        """Go on to a claim: let enter what is available to it, and leave what has been taken before or by it."""
        while self._entered < len(self._stays) and self._stays[self._entered].entry.seq < one.window[0]:
            entry = self._stays[self._entered].entry
            heappush(self._scheduled, (entry.available_at or 0, entry.seq))
            self._entered += 1
        available: list[Stay] = []
        while self._scheduled and self._scheduled[0][0] <= one.txn_time:
            available.append(self._by_seq[heappop(self._scheduled)[1]])
        self._add([stay for stay in available if not stay.has_left(one.window)])
        first = self._left
        while self._left < len(self._leaving) and self._leaving[self._left].has_left(one.window):
            self._left += 1
        self.remove(self._leaving[first : self._left])

    def passed_by(self, taken: Stay) -> Iterator[Stay]:
        """Yield the stays that a claim of `taken` passes: those ahead in the order, then those that only came earlier."""
        end = bisect_left(self._by_place, self._number[taken.entry.seq])
        ahead = (self._ordered[number] for number in self._by_place[:end])
        yield from takewhile(lambda stay: stay.place < taken.place, ahead)
        end = bisect_left(self._by_entry, taken.entry.seq)
        earlier = (self._by_seq[seq] for seq in self._by_entry[:end])
        yield from (stay for stay in earlier if stay.place > taken.place)

    def _add(self, stays: Sequence[Stay]) -> None:
        _put(self._by_place, [self._number[stay.entry.seq] for stay in stays])
        _put(self._by_entry, [stay.entry.seq for stay in stays if stay.in_cohort])

    def remove(self, stays: Sequence[Stay]) -> None:
        """Take stays out; those that are not in are left alone."""
        _take(self._by_place, [self._number[stay.entry.seq] for stay in stays])
        _take(self._by_entry, [stay.entry.seq for stay in stays])


def _put(numbers: list[int], new: Sequence[int]) -> None:
    if len(new) > _FEW:
        numbers.extend(new)
        numbers.sort()
        return
    for number in new:
        insort(numbers, number)


def _take(numbers: list[int], gone: Sequence[int]) -> None:
    if len(gone) > _FEW:
        old = frozenset(gone)
        numbers[:] = [number for number in numbers if number not in old]
        return
    for number in gone:
        place = bisect_left(numbers, number)
        if place < len(numbers) and numbers[place] == number:
            del numbers[place]
