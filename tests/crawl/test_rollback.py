"""Mail under roll-backs: whatever is lost with a machine, every link of a durable page arrives, and no cash is lost.

The outbox's own code (fyke.crawl.mail.outbox) over tablets in memory that can be rolled back to their last commit, each
to its own. A small crawl runs on them: pages are fetched, their links are offered by mail with the page's cash, and
bundles arrive late, twice or never.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fyke.crawl.mail.carrier import decoded, encoded
from fyke.crawl.mail.outbox import Letter, Offer, Outbox

TABLETS, AGENTS, PAGES = 4, 2, 24
Key = tuple[str, bytes]


class Batch:
    """What the outbox wants of a batch."""

    def __init__(self) -> None:
        self.changes: dict[Key, bytes | None] = {}
        self.late: dict[object, Callable[[Any], None]] = {}

    def put(self, family: str, key: bytes, value: bytes) -> None:
        self.changes[family, key] = value

    def delete(self, family: str, key: bytes) -> None:
        self.changes[family, key] = None

    def at_write(self, name: object, make: Callable[[Any], None]) -> None:
        self.late[name] = make


class Tablet:
    """A tablet in memory. ``durable`` is what its depot has."""

    def __init__(self) -> None:
        self.now: dict[Key, bytes] = {}
        self.durable: dict[Key, bytes] = {}

    def batch(self) -> Batch:
        return Batch()

    def write(self, batch: Batch) -> None:
        for make in batch.late.values():
            make(batch.put)
        for key, value in batch.changes.items():
            if value is None:
                self.now.pop(key, None)
            else:
                self.now[key] = value

    write_first = write

    def get(self, family: str, key: bytes) -> bytes | None:
        return self.now.get((family, key))

    def items(self, family: str, start: bytes, end: bytes) -> Iterator[tuple[bytes, bytes]]:
        yield from sorted((k, v) for (f, k), v in self.now.items() if f == family and start <= k < end)

    def sync(self) -> None:
        pass  # of the disk: that is lost

    def number(self, family: str, page: int) -> int:
        return int(self.get(family, b"%d" % page) or 0)


class Store:
    """What the outbox wants of a store."""

    def __init__(self, tablets: dict[int, Tablet]) -> None:
        self._tablets = tablets
        self.owned = tuple(tablets)

    def tablet(self, number: int) -> Tablet:
        return self._tablets[number]


class Agent:
    """Owns some tablets; what it knows is lost with it."""

    def __init__(self, world: World, number: int) -> None:
        self.world, self.number = world, number
        self.store = Store({n: world.tablets[n] for n in range(TABLETS) if n % AGENTS == number})
        self.outbox = Outbox(self.store)  # type: ignore[arg-type]
        self.outbox.strict = True
        self.lost = False
        self.under_way: dict[int, list[Letter]] = {}
        """By tablet, what was sent and is not acknowledged: over a connection, so what came before it is not meant."""
        self.settling: tuple[set[int], Callable[[], None]] | None = None

    def fetch(self, chance: random.Random) -> bool:
        """Fetch a page that is queued; return whether there was one."""
        queued = [(n, int(k)) for n in self.store.owned for k, _ in self.store.tablet(n).items("queue", b"", b"~")]
        if not queued:
            return False
        number, page = chance.choice(queued)
        tablet = self.store.tablet(number)
        batch = tablet.batch()
        batch.put("row", b"%d" % page, b"1")
        batch.delete("queue", b"%d" % page)
        links = self.world.links[page]
        cash = tablet.number("cash", page)
        share = cash // len(links) if links else 0
        batch.put("cash", b"%d" % page, b"%d" % (cash - share * len(links)))
        for target in links:
            if target % TABLETS == number:
                self._take_in(tablet, batch, target, share)
            else:
                self.outbox.write(batch, number, target % TABLETS, [Offer(f"{target}", cash=share)])  # type: ignore[arg-type]
        tablet.write(batch)
        return True

    def _take_in(self, tablet: Tablet, batch: Batch, page: int, cash: int) -> None:
        def now(family: str) -> bytes | None:
            key = (family, b"%d" % page)
            return batch.changes[key] if key in batch.changes else tablet.now.get(key)

        batch.put("cash", b"%d" % page, b"%d" % (int(now("cash") or 0) + cash))
        if now("row") is None and now("queue") is None:
            batch.put("queue", b"%d" % page, b"")
            batch.put("times", b"%d" % page, b"%d" % (int(now("times") or 0) + 1))

    def apply(self, letters: list[Letter]) -> None:
        """Let letters to one of our tablets take effect, once (``Queues.apply``)."""
        tablet = self.store.tablet(letters[0].destination)
        batch = tablet.batch()
        letters = self.outbox.new(letters)
        for letter in letters:
            for offer in letter.offers:
                self._take_in(tablet, batch, int(offer.href), int(offer.cash))
        self.outbox.applied(batch, letters)  # type: ignore[arg-type]
        tablet.write(batch)

    def deliver(self, chance: random.Random) -> bool:
        """To our own tablets at once, to others over the network; return whether anything left."""
        own = self.outbox.take(self.store.owned, ours=True)
        for letters in own.values():
            self.apply(letters)
            self.outbox.delivered(letters)
        remote = [n for n in range(TABLETS) if n not in self.store.owned and n not in self.under_way]
        taken = self.outbox.take(remote)
        for number, letters in taken.items():
            self.under_way[number] = letters
            self.world.network.append((self, number, letters))
        return bool(own or taken)

    def settle(self) -> None:
        """Begin to wait until everything is durable; the world tells when it is."""
        if self.settling is None:
            self.settling = set(range(TABLETS)), self.outbox.syncing()


class World:
    """Agents, their tablets, a network and a depot. With ``apart`` agents are lost one by one, as machines are."""

    def __init__(self, chance: random.Random, apart: bool) -> None:
        self.chance, self.apart = chance, apart
        self.cash = chance.choice([0, 3, 1000])  # offers without any may take effect twice, and leave at once
        self.links = [chance.sample(range(PAGES), chance.randrange(4)) for _ in range(PAGES)]
        self.links[0] = chance.sample(range(1, PAGES), 4)
        self.tablets = [Tablet() for _ in range(TABLETS)]
        seeded = self.tablets[0].batch()
        for family, value in (("queue", b""), ("times", b"1"), ("cash", b"%d" % self.cash)):
            seeded.put(family, b"0", value)
        self.tablets[0].write(seeded)
        self.tablets[0].durable = dict(self.tablets[0].now)
        self.network: list[tuple[Agent, int, list[Letter]]] = []
        self.waiting: list[tuple[Agent, int, list[Letter]]] = []  # applied, and acknowledged once durable
        self.agents = [Agent(self, number) for number in range(AGENTS)]

    def commit(self, number: int) -> None:
        """One tablet becomes durable, by itself."""
        self.tablets[number].durable = dict(self.tablets[number].now)
        for agent in self.agents:
            if agent.settling is not None:
                needed, synced = agent.settling
                needed.discard(number)
                # Between machines an acknowledgement says that the receiver's side is durable; then ours is enough.
                if not (needed.intersection(agent.store.owned) if self.apart else needed):
                    agent.settling = None
                    synced()
        self.waiting, waiting = [], self.waiting
        for sender, destination, letters in waiting:
            if destination == number:
                self._acknowledge(sender, destination, letters)
            else:
                self.waiting.append((sender, destination, letters))

    def arrive(self) -> bool:
        """A bundle arrives; sometimes it stays in the network too, and comes again."""
        if not self.network:
            return False
        place = self.chance.randrange(len(self.network))
        sender, number, letters = self.network[place] if self.chance.random() < 0.2 else self.network.pop(place)
        receiver = self.agents[number % AGENTS]
        receiver.apply(decoded(encoded(letters)))
        if self.apart:
            self.waiting.append((sender, number, letters))
        else:
            self._acknowledge(sender, number, letters)
        return True

    def _acknowledge(self, sender: Agent, number: int, letters: list[Letter]) -> None:
        if not sender.lost and sender.under_way.get(number) is letters:
            sender.outbox.delivered(sender.under_way.pop(number))

    def hang_up(self, whom: Agent | None = None) -> None:
        """Connections break: what is not acknowledged goes back to its sender; the bundles may arrive all the same."""
        for sender in self.agents:
            for number in list(sender.under_way):
                if whom is None or number in whom.store.owned:
                    sender.outbox.give_back(sender.under_way.pop(number))
        self.waiting = [w for w in self.waiting if whom is not None and w[1] not in whom.store.owned]

    def lose(self, agents: list[Agent]) -> None:
        """Machines are lost; what the depot has of their tablets is taken up."""
        for agent in agents:
            self.hang_up(agent)
            agent.lost = True
            for number in agent.store.owned:
                self.tablets[number] = fresh = Tablet()
                fresh.now, fresh.durable = dict(self.depot(number)), dict(self.depot(number))
        for agent in agents:
            self.agents[agent.number] = Agent(self, agent.number)

    def depot(self, number: int) -> dict[Key, bytes]:
        return next(a.store.tablet(number) for a in self.agents if number in a.store.owned).durable

    def step(self) -> None:
        agent = self.chance.choice(self.agents)
        act = self.chance.choices(
            ["fetch", "deliver", "settle", "commit", "arrive", "hang up", "lose"], [4, 4, 3, 8, 6, 1, 0.7]
        )[0]
        if act == "fetch":
            agent.fetch(self.chance)
        elif act == "deliver":
            agent.deliver(self.chance)
        elif act == "settle":
            agent.settle()
        elif act == "commit":
            self.commit(self.chance.randrange(TABLETS))
        elif act == "arrive":
            self.arrive()
        elif act == "hang up":
            self.hang_up()
        else:
            self.lose([agent] if self.apart else list(self.agents))

    def finish(self) -> None:
        """Nothing goes wrong any more."""
        self.network.clear()
        self.hang_up()
        self.lose(list(self.agents))  # the outboxes are read again, as at a resume
        quiet = 0
        while quiet < 3:  # acknowledged in one round, deleted in the next
            busy = False
            for agent in self.agents:
                busy |= agent.fetch(self.chance)
                agent.settle()
            for number in range(TABLETS):
                self.commit(number)
            for agent in self.agents:
                busy |= agent.deliver(self.chance)
            while self.network:
                busy |= self.arrive()
            quiet = 0 if busy else quiet + 1


def reachable(links: list[list[int]]) -> set[int]:
    found, new = {0}, [0]
    while new:
        new = [target for page in new for target in links[page] if target not in found]
        found.update(new)
    return found


@pytest.mark.parametrize("apart", [False, True], ids=["one machine", "machines"])
@settings(max_examples=150, deadline=None)
@given(seed=st.integers(0, 2**48))
def test_nothing_is_lost_and_nothing_is_doubled(apart: bool, seed: int) -> None:
    chance = random.Random(seed)
    world = World(chance, apart)
    for _ in range(chance.randrange(300)):
        world.step()
    world.finish()
    pages = [(page, world.tablets[page % TABLETS]) for page in range(PAGES)]
    assert {page for page, tablet in pages if tablet.get("row", b"%d" % page)} == reachable(world.links)
    assert all(tablet.number("times", page) <= 1 for page, tablet in pages), "a URL is queued once"
    assert sum(tablet.number("cash", page) for page, tablet in pages) == world.cash
    letters = sum(1 for tablet in world.tablets for _ in tablet.items("outbox", b"o", b"p"))
    assert not letters, "what has taken effect is deleted"
