"""Letters take effect once, whatever crashes between writing, applying and deleting them."""

from __future__ import annotations

import shutil
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from fyke.crawl.mail.outbox import BUNDLE_BYTES, LETTER, Letter, Offer, Outbox
from fyke.store import Settings, Store

offers = st.lists(st.builds(Offer, st.text(max_size=20), st.integers(0, 9), st.floats(-1, 1)), min_size=1, max_size=4)


def opened(path: Path) -> Store:
    return Store.open(path, settings=Settings(tablets=4))


def write(outbox: Outbox, store: Store, source: int, destination: int, *hrefs: str) -> None:
    batch = store.tablet(source).batch()
    outbox.write(batch, source, destination, [Offer(href) for href in hrefs])
    store.tablet(source).write(batch)


def apply(outbox: Outbox, store: Store, letters: list[Letter]) -> list[str]:
    """Apply what is new; return the effects."""
    new = outbox.new(letters)
    batch = store.tablet(letters[0].destination).batch()
    outbox.applied(batch, new)
    store.tablet(letters[0].destination).write(batch)
    return [offer.href for letter in new for offer in letter.offers]


def test_letters_survive_until_they_are_cleared(tmp_path: Path) -> None:
    with opened(tmp_path / "s") as store:
        outbox = Outbox(store)
        write(outbox, store, 0, 1, "a", "b")
        write(outbox, store, 0, 2, "c")
        assert outbox.pending == 2
    with opened(tmp_path / "s") as store:
        outbox = Outbox(store)
        assert outbox.pending == 2
        taken = outbox.take([1, 2])
        assert [offer.href for offer in taken[1][0].offers] == ["a", "b"]
        assert outbox.pending == 2, "what travels is not applied yet"
        outbox.give_back(taken[2])
        outbox.delivered(taken[1])
        outbox.syncing()()
        assert outbox.pending == 1
    with opened(tmp_path / "s") as store:
        assert Outbox(store).pending == 1


def test_what_was_applied_is_not_applied_again(tmp_path: Path) -> None:
    with opened(tmp_path / "s") as store:
        outbox = Outbox(store)
        write(outbox, store, 0, 1, "a")
        write(outbox, store, 3, 1, "b")
        assert apply(outbox, store, outbox.take([1])[1]) == ["a", "b"]
        # the crash comes here: effects written, letters not deleted
    with opened(tmp_path / "s") as store:
        outbox = Outbox(store)
        write(outbox, store, 0, 1, "c")
        letters = outbox.take([1])[1]
        numbers = [letter.number for letter in letters if letter.source == 0]
        assert numbers == sorted(set(numbers)), "numbers go on"
        assert apply(outbox, store, letters) == ["c"]


def test_a_source_that_was_rolled_back_uses_no_number_again(tmp_path: Path) -> None:
    """A power cut takes the source's last batch, but not the effects of its letter at the receiver."""
    with opened(tmp_path / "s") as store:
        store.sync()
    shutil.copytree(tmp_path / "s" / "tablet-00", tmp_path / "synced")
    with opened(tmp_path / "s") as store:
        outbox = Outbox(store)
        write(outbox, store, 0, 1, "a")
        assert apply(outbox, store, outbox.take([1])[1]) == ["a"]
    shutil.rmtree(tmp_path / "s" / "tablet-00")
    shutil.copytree(tmp_path / "synced", tmp_path / "s" / "tablet-00")
    with opened(tmp_path / "s") as store:  # the epoch is synced at a start, so it was in what the disk kept
        tablet = store.tablet(0)
        batch = tablet.batch()
        batch.put("outbox", b"e", (1).to_bytes(8, "big"))
        tablet.write(batch)
    with opened(tmp_path / "s") as store:
        outbox = Outbox(store)
        write(outbox, store, 0, 1, "another page, fetched instead")
        assert apply(outbox, store, outbox.take([1])[1]) == ["another page, fetched instead"]


def test_bundles_are_bounded_and_in_order(tmp_path: Path) -> None:
    with opened(tmp_path / "s") as store:
        outbox = Outbox(store)
        for i in range(3):
            write(outbox, store, 0, 1, *(f"http://h/{i}/{j}/" + "x" * 1000 for j in range(6_000)))
        seen, offers = [], 0
        while bundle := outbox.take([1], urgent=True).get(1):
            assert sum(letter.size for letter in bundle) <= BUNDLE_BYTES
            assert all(len(letter.offers) <= LETTER for letter in bundle)
            seen += [letter.number for letter in bundle]
            offers += sum(len(letter.offers) for letter in bundle)
            outbox.delivered(bundle)
        assert seen == sorted(seen)
        assert offers == 18_000


def test_what_is_written_together_is_one_letter(tmp_path: Path) -> None:
    with opened(tmp_path / "s") as store:
        outbox, tablet = Outbox(store), store.tablet(0)
        batches = [tablet.batch() for _ in range(3)]
        for i, batch in enumerate(batches):
            outbox.write(batch, 0, 1, [Offer(f"http://h/{i}")])
        assert outbox.take([1]) == {}, "nothing leaves before it is written"
        tablet.write_all(batches)
        (letter,) = outbox.take([1])[1]
        assert [offer.href for offer in letter.offers] == ["http://h/0", "http://h/1", "http://h/2"]


def test_what_may_not_happen_twice_leaves_once_it_is_durable(tmp_path: Path) -> None:
    with opened(tmp_path / "s") as store:
        outbox = Outbox(store)
        write(outbox, store, 0, 1, "a")
        batch = store.tablet(0).batch()
        outbox.write(batch, 0, 1, [Offer("b", cash=0.5)])
        store.tablet(0).write(batch)
        write(outbox, store, 0, 1, "c")
        assert [offer.href for letter in outbox.take([1])[1] for offer in letter.offers] == ["a"]
        assert outbox.take([1]) == {}
        synced = outbox.syncing()
        store.sync()
        synced()
        assert [offer.href for letter in outbox.take([1])[1] for offer in letter.offers] == ["b", "c"]


def test_a_letter_is_deleted_once_its_effect_is_synced(tmp_path: Path) -> None:
    def letters(store: Store) -> int:
        return sum(key[:1] == b"o" for key, _ in store.tablet(0).items("outbox"))

    with opened(tmp_path / "s") as store:
        outbox = Outbox(store)
        write(outbox, store, 0, 1, "a")
        synced = outbox.syncing()
        taken = outbox.take([1])[1]
        apply(outbox, store, taken)
        outbox.delivered(taken)
        synced()
        assert letters(store) == 1, "that sync had begun before"
        outbox.syncing()()
        assert letters(store) == 0


@given(offers)
def test_offers_go_over_the_wire(letter: list[Offer]) -> None:
    import msgspec

    assert msgspec.msgpack.decode(msgspec.msgpack.encode(letter), type=list[Offer]) == letter


def test_with_a_depot_nothing_leaves_before_its_epoch_is_durable(tmp_path: Path) -> None:
    """Else a source that is fetched from a depot could use its numbers again, and its letters be taken for old ones."""
    with opened(tmp_path / "s") as store:
        outbox = Outbox(store)
        outbox.strict = True
        write(outbox, store, 0, 1, "a")
        batch = store.tablet(0).batch()
        outbox.write(batch, 0, 1, [Offer("b", cash=0.5)])
        store.tablet(0).write(batch)
        assert outbox.take(store.owned, ours=True) == {}
        assert outbox.waits_for_sync
        synced = outbox.syncing()
        write(outbox, store, 0, 2, "c")
        batch = store.tablet(0).batch()
        outbox.write(batch, 0, 2, [Offer("d", cash=0.5)])
        store.tablet(0).write(batch)
        synced()
        taken = outbox.take(store.owned, ours=True)
        assert {n: [o.href for letter in some for o in letter.offers] for n, some in taken.items()} == {
            1: ["a", "b"],
            2: ["c"],  # what may happen twice; the other waits, though the tablet is ours
        }
