"""The depot: whoever claims a tablet fences its former owner, whatever the network does, on every kind of storage."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fyke.errors import DepotError, FencedError, StorageError, UserError
from fyke.store.depot import Chain, Depot, Entry, File, Kind, Piece, decode, encode
from fyke.store.objects import Directory, Objects, Remote, open_objects
from tests.store.depots import Act, Faulty, Memory, s3_environment, s3_server

Make = Callable[[], Objects]
"""Opens the same storage once more, as another process would."""


@pytest.fixture(scope="module")
def s3() -> Iterator[str]:
    with s3_server() as address:
        yield address


@pytest.fixture(params=["memory", "directory", "s3"])
def make(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Make:
    if request.param == "memory":
        memory = Memory()
        return lambda: memory
    if request.param == "directory":
        return lambda: Directory(tmp_path / "depot")
    for name, value in s3_environment(request.getfixturevalue("s3")).items():
        monkeypatch.setenv(name, value)
    return lambda: Remote(f"s3://fyke/{tmp_path.name}")


def log(chain: Chain, payload: bytes) -> int:
    pieces = [Piece("000004.log", 0, len(payload))]
    return chain.append(chain.entry(Kind.LOG, chain.sequence + 1, [payload], pieces=pieces))


def payloads(chain: Chain) -> list[bytes]:
    found = [chain.read(number) for number in chain.numbers()]
    return [bytes(each[1]) for each in found if each is not None and each[0].kind is Kind.LOG]


# ---- storage


def test_an_object_is_made_once(make: Make) -> None:
    one, other = make(), make()
    assert one.create("a/b", b"first")
    assert not other.create("a/b", b"second")
    assert other.get("a/b") == b"first"
    assert other.get("a/b", 2) == b"fi"
    assert other.get("a/c") is None
    with ThreadPoolExecutor(8) as pool:
        made = list(pool.map(lambda number: make().create("race", b"%d" % number), range(8)))
    assert made.count(True) == 1
    assert one.get("race") == b"%d" % made.index(True)


def test_objects_are_put_listed_and_deleted(make: Make, tmp_path: Path) -> None:
    objects, large = make(), random.Random(1).randbytes(6_000_000)
    (tmp_path / "file").write_bytes(large)
    objects.put("t/files/one", tmp_path / "file")
    objects.put("t/files/two", b"2")
    objects.put("t/files/two", b"22")
    objects.put("tx/files/two", b"2")
    assert sorted(objects.list("t/files/")) == [("t/files/one", 6_000_000), ("t/files/two", 2)]
    assert sorted(name for name, _ in objects.list("")) == ["t/files/one", "t/files/two", "tx/files/two"]
    assert objects.download("t/files/one", tmp_path / "back")
    assert (tmp_path / "back").read_bytes() == large
    assert not objects.download("t/files/none", tmp_path / "none")
    objects.delete(["t/files/one", "t/files/never"])
    assert sorted(objects.list("t/")) == [("t/files/two", 2)]


def test_storage_that_cannot_be_had_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(UserError, match="no directory"):
        open_objects(str(tmp_path / "none"))
    with pytest.raises(DepotError, match="fails"):
        open_objects(str(tmp_path / "file" / "below"), make=True).put("a/b", b"")
    with pytest.raises(UserError, match="names no depot"):
        open_objects("ftp://host/x")
    with pytest.raises(UserError, match="no secrets"):
        open_objects("s3://key:secret@bucket/x")
    monkeypatch.setitem(sys.modules, "obstore", None)
    with pytest.raises(UserError, match=r"fyke\[depot\]"):
        open_objects("s3://bucket/x")


# ---- chains


def test_a_zombie_is_refused_100_of_100_times(make: Make) -> None:
    refused = 0
    for tablet in range(10):
        zombies = []
        for number in range(10):
            chain = Chain(make(), tablet)
            chain.claim(f"owner {number}")
            log(chain, b"%d" % number)
            zombies.append(chain)
        for zombie in zombies[:-1]:
            with pytest.raises(FencedError, match="taken over by owner"):
                log(zombie, b"from the grave")
            refused += 1
        last = Chain(make(), tablet)
        last.claim("the last")
        with pytest.raises(FencedError):
            log(zombies[-1], b"from the grave")
        refused += 1
        assert payloads(last) == [b"%d" % number for number in range(10)]
        assert last.numbers() == list(range(1, 22))
    assert refused == 100


def test_claims_that_race_are_all_distinct(make: Make) -> None:
    def claim(racer: int) -> list[int]:
        chain = Chain(make(), 3)
        return [chain.claim(f"racer {racer}") for _ in range(10)]

    with ThreadPoolExecutor(4) as pool:
        epochs = [epoch for some in pool.map(claim, range(4)) for epoch in some]
    assert len(set(epochs)) == 40
    numbers = Chain(make(), 3).numbers()
    assert numbers == list(range(1, len(numbers) + 1))


def test_an_answer_that_got_lost_is_found_again(make: Make) -> None:
    acts: list[Act] = []
    objects = Faulty(make(), lambda verb, name: acts.pop() if verb == "create" and acts else "")
    odd: tuple[Act, ...] = ("lost", "twice")
    for act in odd:
        chain = Chain(objects, 0)
        chain.claim("owner")
        acts.append(act)
        data = chain.entry(Kind.LOG, 1, [act.encode()], pieces=[Piece("000004.log", 0, len(act))])
        if act == "lost":
            with pytest.raises(DepotError, match="lost"):
                chain.append(data)
        chain.append(data)
        log(chain, b"next")
        assert payloads(chain)[-2:] == [act.encode(), b"next"]


@given(st.integers(0, 2**32))
def test_whatever_the_network_does_the_chain_is_what_was_acknowledged(seed: int) -> None:
    """Two owners in turn, each appending until it is fenced; failures, lost and doubled requests all the while."""
    chance, memory = random.Random(seed), Memory()

    def schedule(verb: str, name: str) -> Act:
        return chance.choices(["", "fails", "lost", "twice"], [6, 1, 1, 1])[0]  # type: ignore[return-value]

    chains = [Chain(Faulty(memory, schedule), 0) for _ in range(2)]
    acknowledged: tuple[list[bytes], list[bytes]] = ([], [])
    doubtful: dict[int, bytes] = {}  # what an owner has tried, and does not know of
    for step in range(60):
        which = chance.randrange(2)
        chain = chains[which]
        try:
            if not chain.epoch or chance.random() < 0.1:
                doubtful.pop(which, None)
                chain.epoch = 0
                chain.claim(f"owner {which}")
                continue
            data = doubtful.setdefault(
                which, chain.entry(Kind.LOG, step, [b"%d" % step], pieces=[Piece("000004.log", 0, len(b"%d" % step))])
            )
            chain.append(data)
            acknowledged[which].append(bytes(decode(data)[1]))
            del doubtful[which]
        except DepotError:
            continue
        except FencedError:
            doubtful.pop(which, None)
            chain.epoch = 0
    reader = Chain(memory, 0)
    found = payloads(reader)
    for own in acknowledged:
        assert [each for each in found if each in own] == own  # in order, each once
    assert len(found) == len(set(found))
    numbers = reader.numbers()
    assert numbers == list(range(1, len(numbers) + 1))
    for number in numbers:  # whoever wrote an entry had the newest claim
        entry = reader.header(number)
        assert entry is not None
        claims = [n for n in numbers if n <= number and (found_ := reader.header(n)) and found_.kind is Kind.CLAIM]
        assert entry.epoch == max(claims)


def base(chain: Chain) -> Entry:
    entry = chain.entry(Kind.BASE, chain.sequence, covers=chain.next - 1, files=[])
    chain.append(entry)
    return decode(entry)[0]


def test_what_a_base_covers_goes_but_claims_stay(make: Make) -> None:
    zombie = Chain(make(), 0)
    zombie.claim("zombie")  # 1
    log(zombie, b"one")  # 2
    owner = Chain(make(), 0)
    owner.claim("owner")  # 3
    log(owner, b"two")  # 4
    owner.put_file("000000000001-000009.sst", Path(__file__))
    owner.put_file("000000000009-000009.sst", Path(__file__))
    owner.sweep(base(owner))  # 5
    log(owner, b"three")  # 6
    assert owner.numbers() == [1, 3, 5, 6]
    assert list(owner.sizes()) == ["000000000009-000009.sst"]  # of an epoch that is still to come
    contents = Chain(make(), 0).contents()
    assert (contents.number, contents.logs) == (6, (6,))
    assert contents.base is not None
    with pytest.raises(FencedError):
        log(zombie, b"from the grave")
    heir = Chain(make(), 0)
    assert heir.claim("heir") == 7
    heir.sweep(base(heir))
    assert heir.numbers() == [1, 3, 7, 8]
    with pytest.raises(FencedError):
        log(owner, b"from the grave")
    with pytest.raises(FencedError):
        log(zombie, b"from the grave")


def test_a_claimer_that_slept_claims_again() -> None:
    """It saw the chain end at 2, slept, and finds the number 3 free again, since a base has covered it."""
    memory = Memory()
    slept: list[str] = []
    owner = Chain(memory, 0)
    owner.claim("owner")
    log(owner, b"one")

    def schedule(verb: str, name: str) -> Act:
        if verb == "create" and not slept:
            slept.append(name)
            log(owner, b"two")
            owner.sweep(base(owner))
        return ""

    sleeper = Chain(Faulty(memory, schedule), 0)
    assert sleeper.claim("sleeper") == 5
    assert slept == ["tablet-00/log/000000000003"]
    with pytest.raises(FencedError):
        log(owner, b"three")
    assert sleeper.contents().logs == (5,)


def test_a_chain_that_lacks_something_is_refused() -> None:
    memory = Memory()
    chain = Chain(memory, 0)
    chain.claim("owner")
    for payload in (b"one", b"two", b"three"):
        log(chain, payload)
    del memory.objects["tablet-00/log/000000000003"]
    with pytest.raises(StorageError, match="lacks entry 3"):
        chain.contents()
    memory.objects["tablet-00/log/000000000004"] = b"FYKD\x01\0\0\0\x02xx"
    with pytest.raises(StorageError, match="is damaged"):
        chain.contents()


entries = st.builds(
    Entry,
    st.sampled_from(Kind),
    st.integers(0, 10**12),
    st.text(max_size=40),
    st.integers(0, 2**56),
    st.integers(0, 10**12),
    st.integers(0, 10**12),
    files=st.lists(st.builds(File, st.text(), st.text(), st.integers(0, 2**40), st.integers(0, 2**64 - 1)), max_size=5),
)


@given(entries, st.lists(st.binary(max_size=50), max_size=4), st.data())
def test_an_entry_comes_back_or_is_known_to_be_damaged(entry: Entry, parts: list[bytes], data: st.DataObject) -> None:
    pieces = [Piece("000001.log", place, len(part)) for place, part in enumerate(parts)]
    written = encode(msgspec.structs.replace(entry, pieces=pieces), parts)
    read, payload = decode(written)
    assert (read.kind, read.epoch, read.owner, read.files, read.pieces) == (
        *(entry.kind, entry.epoch, entry.owner, entry.files, pieces),
    )
    assert bytes(payload) == b"".join(parts)
    cut = data.draw(st.integers(0, len(written) - 1))
    with pytest.raises((ValueError, IndexError)):
        decode(written[:cut])
    if payload:
        at = data.draw(st.integers(len(written) - len(payload), len(written) - 1))
        with pytest.raises(ValueError, match="checksum"):
            decode(written[:at] + bytes((written[at] ^ 1,)) + written[at + 1 :])


def test_a_depot_is_made_once_and_for_so_many_tablets(make: Make, tmp_path: Path) -> None:
    depot = Depot.create(make(), 4)
    assert Depot.create(make(), 4).about == depot.about
    with pytest.raises(StorageError, match="holds 4 tablets, and the store has 8"):
        Depot.create(make(), 8)
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "thesis.tex").touch()
    with pytest.raises(StorageError, match="holds other things"):
        Depot.create(str(tmp_path / "other"), 4)
    with pytest.raises(StorageError, match="holds no depot"):
        Depot.open(str(tmp_path / "other"))


# ---- processes

ZOMBIE = """
import sys
from fyke.errors import FencedError
from fyke.store.depot import Chain, Kind, Piece
from fyke.store.objects import Directory
from pathlib import Path
chains = {n: Chain(Directory(Path(sys.argv[1])), n) for n in range(50)}
for chain in chains.values():
    chain.claim("zombie")
print("ready", flush=True)
refused, n = 0, 0
while chains:
    for tablet, chain in list(chains.items()):
        n += 1
        try:
            chain.append(chain.entry(Kind.LOG, n, [b"%d" % n], pieces=[Piece("000004.log", 0, len(b"%d" % n))]))
        except FencedError:
            refused += 1
            del chains[tablet]
print(refused, flush=True)
"""


def test_processes_that_wake_after_a_takeover_are_refused(tmp_path: Path) -> None:
    """SIGSTOP wherever it is, between any two instructions; two processes of 50 tablets."""
    refused, chance = 0, random.Random(5)
    for turn in range(2):
        folder = str(tmp_path / str(turn))
        with subprocess.Popen([sys.executable, "-c", ZOMBIE, folder], stdout=subprocess.PIPE, text=True) as zombie:
            assert zombie.stdout is not None
            assert zombie.stdout.readline() == "ready\n"
            reader = Chain(Directory(Path(folder)), 49)
            goal = chance.randrange(2, 9)
            while max(reader.numbers()) < goal:
                pass
            os.kill(zombie.pid, signal.SIGSTOP)
            heirs = [Chain(Directory(Path(folder)), tablet) for tablet in range(50)]
            before = {}
            for heir in heirs:
                heir.claim("heir")
                before[heir.tablet] = payloads(heir)
                log(heir, b"heir's")
            os.kill(zombie.pid, signal.SIGCONT)
            refused += int(zombie.stdout.readline())
        for heir in heirs:
            assert payloads(heir) == [*before[heir.tablet], b"heir's"]
            assert heir.numbers() == list(range(1, heir.next))
    assert refused == 100
