"""The settings of a simulated crawl, as fields and flags."""

from __future__ import annotations

from dataclasses import dataclass, field

from fyke.errors import UserError


@dataclass(frozen=True, slots=True)
class Settings:
    """What a run is made of besides collection, topic and policies."""

    budget: int = field(default=0, metadata={"help": "Pages to try; 0 for all that can be reached."})
    in_flight: int = field(default=1, metadata={"help": "Pages fetched at once; what they link to is known after."})
    delay: float = field(default=0.0, metadata={"help": "Seconds between two contacts of a host, in virtual time."})
    latency: float = field(default=0.0, metadata={"help": "Seconds of a fetch besides its transfer."})
    bandwidth: float = field(default=0.0, metadata={"help": "Bytes a second of the crawler's line; 0 for no limit."})
    failure_rate: float = field(default=0.0, metadata={"help": "Share of pages that cannot be fetched."})
    frontier: str = field(
        default="exact",
        metadata={"help": "exact: the best waiting page at every step. mercator: the live crawler's own queues."},
    )
    seed: int = field(default=0, metadata={"help": "Of all that is random: the same seed gives the same run."})

    def __post_init__(self) -> None:
        if self.budget < 0 or self.in_flight < 1 or not 0 <= self.failure_rate < 1:
            raise UserError("a run has budget ≥ 0, in_flight ≥ 1 and 0 ≤ failure_rate < 1")
        if not (self.delay >= 0 and self.latency >= 0 and self.bandwidth >= 0):
            raise UserError("time goes forwards: delay, latency and bandwidth are 0 or more")
        if self.frontier not in {"exact", "mercator"}:
            raise UserError(f"no frontier is called {self.frontier!r}; choose exact or mercator")
