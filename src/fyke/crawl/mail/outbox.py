"""Mail from tablet to tablet: offers, anchor texts and notes on duplicates, in order, with effects that happen once.

A letter is written into the outbox of its source tablet in the batch of the page that it follows from, so it is
there if and only if the page is. Its number is that of its source, counting up: the epoch, a new one at each start,
before a count, so that a source which a power cut has rolled back uses no number twice. The receiver writes the last
number that it applied of each source in the batch of the effects. The source deletes a letter once its effects are
synced, in groups.

Offers and anchors may take effect twice, so they leave at once. Cash and copies whose bodies are dropped may not: to
another agent they leave once the source is synced. Anchors are written only where a run ends before they are delivered:
a crash loses none, as they are made anew from the links.

::

    outbox    "o" ‖ destination (2) ‖ number (8)   → letter: [offers, notes]
              "e"                                  → epoch (8): that of the last start
              "a" ‖ source (2)                     → number (8): the last letter applied here
              "s", "w"                             bodies that are to go, and a watermark (duplicates, anchors)

Numbers are big-endian: three bytes of epoch, five of count. Version 3; version 2 had no epochs, and kept the next
number at "n". A letter to ``INDEX`` is for no tablet but for the machine's index of near copies.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from itertools import takewhile

import msgspec

from fyke.store import Batch, Store, Tablet
from fyke.store.steps import Put
from fyke.values import Meta

INDEX = 0xFFFF
"""The destination of questions to the index of near copies: no store has so many tablets."""

MAX_WAITING = 50_000
"""Letters in the outboxes from which on no new visit is begun: some 50 MB."""

LETTER = 1_000
"""Offers in a letter at most: some 100 KB."""
BUNDLE = 2_000
"""Letters that travel together at most."""
BUNDLE_BYTES = 8 << 20
"""Bytes of a bundle, of which one letter may be beyond: the receiver takes eight times as much."""

_LETTER, _EPOCH, _APPLIED = b"o", b"e", b"a"
_COUNT_BITS = 40


class Offer(msgspec.Struct, frozen=True, array_like=True, omit_defaults=True, gc=False):
    """A URL that somebody found."""

    href: str
    depth: int = 0
    worth: float = -1.0
    """What a sitemap says of its priority; negative where none does."""
    kind: str = ""
    tries: int = 0
    from_feed: Meta | None = None
    """What a feed said of it."""
    score: float = -1.0
    """What a crawl for a topic thinks that it is worth; negative where nobody judged it."""
    clue: bytes = b""
    """How the link looked (fyke.topic.links)."""
    cash: float = 0.0
    """OPIC's, on its way to the URL."""
    off: int = 0
    """Links since the last page within the scope, where it is outside (``--hops-off``)."""


class Sighting(msgspec.Struct, frozen=True, array_like=True, tag=1, gc=False):
    """To the owner of a digest: this document has it."""

    href: str
    stamp: int
    """Of the document's version, in µs since 1970."""
    raw: bytes
    """SHA-256 of the body; empty where it was cut off."""
    text: bytes
    """SHA-256 of the words of the main text; empty where it has none."""
    elsewhere: bool = False
    """It says that its true address is another (rel=canonical)."""


class Mark(msgspec.Struct, frozen=True, array_like=True, tag=2, gc=False):
    """To a document's own tablet: it is a duplicate."""

    href: str
    stamp: int
    original: str
    similarity: float
    method: str
    """``RowMeta.duplicate_by``."""


class Question(msgspec.Struct, frozen=True, array_like=True, tag=3, gc=False):
    """To the index of near copies, which says what this document is like."""

    href: str
    stamp: int


class AnchorCells(msgspec.Struct, frozen=True, array_like=True, tag=4, gc=False):
    """To the tablet of the targets: packed anchor texts of one group, by row."""

    group: int
    cells: list[tuple[bytes, bytes]]


Note = Sighting | Mark | Question | AnchorCells


class Letter(msgspec.Struct, frozen=True, gc=False):
    """Offers and notes on their way."""

    source: int
    destination: int
    number: int
    offers: list[Offer]
    judged: bool
    """This very run found that the offers are unseen."""
    notes: list[Note] = []
    size: int = 0
    """Bytes, as it stands in the outbox."""

    @property
    def is_idempotent(self) -> bool:
        """Whether it may take effect twice."""
        return all(not offer.cash for offer in self.offers) and all(isinstance(n, AnchorCells) for n in self.notes)

    @property
    def key(self) -> bytes:
        """Where it stands in the outbox."""
        return _LETTER + self.destination.to_bytes(2, "big") + self.number.to_bytes(8, "big")


_encode = msgspec.msgpack.Encoder().encode
_decode = msgspec.msgpack.Decoder(tuple[list[Offer], list[Note]]).decode


class Outbox:
    """The outboxes of the tablets that ``store`` owns, and what of them is on its way."""

    def __init__(self, store: Store) -> None:
        self.strict = False
        """Whether tablets become durable each by itself, as in a depot: then nothing leaves before its epoch is
        durable, and letters to our own tablets are as those to others."""
        self.ask_late = False
        """Whether questions to the index leave once their pages are durable: the index may outlive them."""
        self._store = store
        self._begun = False  # the epochs are durable
        self._numbers: dict[int, int] = {}
        self._durable: dict[int, int] = {}  # the number from which on letters of a tablet are not synced yet
        self._waiting: defaultdict[int, list[Letter]] = defaultdict(list)
        self._posted: dict[tuple[int, int], Letter] = {}  # letters that are not written, by source and number
        self._drafts: defaultdict[int, dict[int, tuple[list[Offer], list[Note]]]] = defaultdict(dict)
        self._urgent: set[int] = set()  # tablets that offers wait for
        self._applied: list[tuple[int, bytes]] = []  # source and key of letters, since the last sync began
        self.pending = 0
        """Letters that are not applied yet, those under way included."""
        for source in store.owned:
            tablet = store.tablet(source)
            self._numbers[source] = self._durable[source] = _new_epoch(tablet)
            for key, value in tablet.items("outbox", _LETTER, bytes((_LETTER[0] + 1,))):
                offers, notes = _decode(value)
                letter = Letter(source, *_parse(key), offers, False, notes, len(value))
                self._waiting[letter.destination].append(letter)
                self._urgent.add(letter.destination)
                self.pending += 1

    @property
    def waits_for_sync(self) -> bool:
        """Whether letters to others wait that may have to wait for a sync."""
        return self._numbers != self._durable and any(
            waiting and (self.ask_late if number == INDEX else self.strict or number not in self._numbers)
            for number, waiting in self._waiting.items()
        )

    @property
    def is_full(self) -> bool:
        """Whether so much waits that nothing should be begun that writes more."""
        return self.pending > MAX_WAITING

    def write(
        self, batch: Batch, source: int, destination: int, offers: list[Offer], notes: list[Note] | None = None
    ) -> None:
        """Put offers and notes into the outbox, with ``batch``; what is written together is one letter.

        REQUIRES: ``batch`` is of tablet ``source``.
        """
        drafts = self._drafts[source]
        draft = drafts.get(destination)
        if draft is None:
            drafts[destination] = (offers, notes or [])
        else:
            drafts[destination] = (draft[0] + offers, draft[1] + (notes or []))
        batch.at_write("mail", lambda put: self._seal(source, put))

    def _seal(self, source: int, put: Put) -> None:
        """Make letters of what was put into an outbox."""
        for destination, (offers, notes) in self._drafts.pop(source, {}).items():
            for first in range(0, max(len(offers), 1), LETTER):
                some, rest = offers[first : first + LETTER], notes if not first else []
                data = _encode((some, rest))
                put("outbox", self._add(source, destination, some, rest, len(data)).key, data)
            if offers:
                self._urgent.add(destination)

    def _add(self, source: int, destination: int, offers: list[Offer], notes: list[Note], size: int) -> Letter:
        number = self._numbers[source]
        self._numbers[source] = number + 1
        letter = Letter(source, destination, number, offers, True, notes, size)
        self._waiting[destination].append(letter)
        self.pending += 1
        return letter

    @property
    def posted(self) -> bool:
        """Whether letters are on their way that are not written."""
        return bool(self._posted)

    def post(self, source: int, destination: int, cells: AnchorCells) -> None:
        """Send anchors, and do not write them: a crash loses them, ``keep`` writes them."""
        size = sum(len(row) + len(value) for row, value in cells.cells)
        letter = self._add(source, destination, [], [cells], size)
        self._posted[source, letter.number] = letter

    def keep(self) -> None:
        """Write the letters that were posted and are not delivered yet."""
        for (source, _), letter in self._posted.items():
            tablet = self._store.tablet(source)
            batch = tablet.batch()
            batch.put("outbox", letter.key, _encode((letter.offers, letter.notes)))
            tablet.write(batch)
        self._posted.clear()

    def waiting(self, destination: int) -> int:
        """Letters that wait for a tablet."""
        return len(self._waiting.get(destination, ()))

    def may_ask(self, least: int) -> bool:
        """Whether so many questions to the index of near copies may leave."""
        for letter in takewhile(self._may_ask, self._waiting.get(INDEX, ())):
            least -= len(letter.notes)
            if least <= 0:
                return True
        return False

    def _may_ask(self, letter: Letter) -> bool:
        return not self.ask_late or letter.number < self._durable[letter.source]

    def take_questions(self, most: int) -> list[Letter]:
        """Hand over the first letters to the index, until they hold ``most`` questions (``take``)."""
        waiting, count, taken = self._waiting.get(INDEX, []), 0, 0
        while taken < len(waiting) and count < most and self._may_ask(waiting[taken]):
            count += len(waiting[taken].notes)
            taken += 1
        self._waiting[INDEX], found = waiting[taken:], waiting[:taken]
        return found

    def take(self, destinations: Iterable[int], urgent: bool = False, *, ours: bool = False) -> dict[int, list[Letter]]:
        """Hand over the letters that wait for these tablets, in order; ``delivered`` or ``give_back`` ends that.

        A bundle is bounded, and ends before a letter that must not leave yet; to tablets that are ``ours`` all may
        leave, unless ``strict``: they are synced together. ``urgent`` leaves notes waiting where no offer is among
        them: they cost a third if they come by the dozen.
        """
        if urgent:
            destinations = self._urgent.intersection(destinations)
        taken: dict[int, list[Letter]] = {}
        for number in list(destinations):
            waiting = self._waiting.get(number)
            bundle = self._bundle(waiting, ours) if waiting else 0
            if not waiting or bundle == len(waiting):
                self._urgent.discard(number)
            if waiting and bundle:
                taken[number] = waiting[:bundle]
                self._waiting[number] = waiting[bundle:]
        return taken

    def _bundle(self, waiting: Sequence[Letter], ours: bool) -> int:
        """Return how many of the letters that wait for a tablet may leave together."""
        if self.strict and not self._begun:
            return 0
        size, ours = 0, ours and not self.strict
        for count, letter in enumerate(waiting):
            size += letter.size
            if count == BUNDLE or (count and size > BUNDLE_BYTES):
                return count
            if not ours and letter.number >= self._durable[letter.source] and not letter.is_idempotent:
                return count
        return len(waiting)

    def give_back(self, letters: Sequence[Letter]) -> None:
        """Take letters back that could not be delivered, before those that were written meanwhile."""
        for destination in {letter.destination for letter in letters}:
            mine = [letter for letter in letters if letter.destination == destination]
            self._waiting[destination] = mine + self._waiting[destination]
            self._urgent.add(destination)

    def new(self, letters: Sequence[Letter]) -> list[Letter]:
        """Those letters that were not applied yet. REQUIRES: their destination is a tablet of this agent."""
        return [letter for letter in letters if letter.judged or self._is_new(letter)]

    def applied(self, batch: Batch, letters: Sequence[Letter]) -> None:
        """Write that these letters take effect with ``batch``, which is of their destination."""
        last = {letter.source: letter.number for letter in letters}
        for source, number in last.items():
            batch.put("outbox", _APPLIED + source.to_bytes(2, "big"), number.to_bytes(8, "big"))

    def delivered(self, letters: Sequence[Letter]) -> None:
        """Note that letters have been applied; they are deleted once that is synced."""
        self.pending -= len(letters)
        for letter in letters:
            if self._posted.pop((letter.source, letter.number), None) is None:
                self._applied.append((letter.source, letter.key))

    def syncing(self) -> Callable[[], None]:
        """Say that all tablets are about to be synced; return what to call once they are: it clears the outboxes."""
        applied, self._applied = self._applied, []
        numbers = dict(self._numbers)

        def synced() -> None:
            self._begun = True
            self._durable.update(numbers)
            self._delete(applied)

        return synced

    def _delete(self, letters: Sequence[tuple[int, bytes]]) -> None:
        by_source: defaultdict[int, list[bytes]] = defaultdict(list)
        for source, key in letters:
            by_source[source].append(key)
        for source, keys in by_source.items():
            tablet = self._store.tablet(source)
            batch = tablet.batch()
            for key in keys:
                batch.delete("outbox", key)
            tablet.write(batch)

    def _is_new(self, letter: Letter) -> bool:
        last = self._store.tablet(letter.destination).get("outbox", _APPLIED + letter.source.to_bytes(2, "big"))
        return last is None or letter.number > int.from_bytes(last, "big")


def _new_epoch(tablet: Tablet) -> int:
    """Begin an epoch, durably before any letter; return its first number, greater than any that was used before."""
    stored = tablet.get("outbox", _EPOCH)
    epoch = int.from_bytes(stored, "big") + 1 if stored else 1  # numbers of version 2 are those of epoch 0
    batch = tablet.batch()
    batch.put("outbox", _EPOCH, epoch.to_bytes(8, "big"))
    tablet.write_first(batch)
    tablet.sync()
    return epoch << _COUNT_BITS


def _parse(key: bytes) -> tuple[int, int]:
    return int.from_bytes(key[1:3], "big"), int.from_bytes(key[3:11], "big")
