"""Letters take effect once, whatever crashes between writing, applying and deleting them."""

from __future__ import annotations

from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from fyke.crawl.mail import Letter, Offer, Post
from fyke.store import Settings, Store

offers = st.lists(st.builds(Offer, st.text(max_size=20), st.integers(0, 9), st.floats(-1, 1)), min_size=1, max_size=4)


def opened(path: Path) -> Store:
    return Store.open(path, settings=Settings(tablets=4))


def write(post: Post, store: Store, source: int, destination: int, *hrefs: str) -> None:
    batch = store.tablet(source).batch()
    post.write(batch, source, destination, [Offer(href) for href in hrefs])
    store.tablet(source).write(batch)


def apply(post: Post, store: Store, letters: list[Letter]) -> list[str]:
    """Apply what is new; return the effects."""
    new = post.new(letters)
    batch = store.tablet(letters[0].destination).batch()
    post.applied(batch, new)
    store.tablet(letters[0].destination).write(batch)
    return [offer.href for letter in new for offer in letter.offers]


def test_letters_survive_until_they_are_cleared(tmp_path: Path) -> None:
    with opened(tmp_path / "s") as store:
        post = Post(store)
        write(post, store, 0, 1, "a", "b")
        write(post, store, 0, 2, "c")
        assert post.pending == 2
    with opened(tmp_path / "s") as store:
        post = Post(store)
        assert post.pending == 2
        taken = post.take([1, 2])
        assert [offer.href for offer in taken[1][0].offers] == ["a", "b"]
        assert post.pending == 2, "what travels is not applied yet"
        post.give_back(taken[2])
        post.delivered(taken[1])
        post.clear()
        assert post.pending == 1
    with opened(tmp_path / "s") as store:
        assert Post(store).pending == 1


def test_what_was_applied_is_not_applied_again(tmp_path: Path) -> None:
    with opened(tmp_path / "s") as store:
        post = Post(store)
        write(post, store, 0, 1, "a")
        write(post, store, 3, 1, "b")
        assert apply(post, store, post.take([1])[1]) == ["a", "b"]
        # the crash comes here: effects written, letters not deleted
    with opened(tmp_path / "s") as store:
        post = Post(store)
        write(post, store, 0, 1, "c")
        letters = post.take([1])[1]
        assert [letter.number for letter in letters if letter.source == 0] == [0, 1], "numbers go on"
        assert apply(post, store, letters) == ["c"]


@given(offers)
def test_offers_go_over_the_wire(letter: list[Offer]) -> None:
    import msgspec

    assert msgspec.msgpack.decode(msgspec.msgpack.encode(letter), type=list[Offer]) == letter
