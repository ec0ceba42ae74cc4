"""A synthetic web with ground truth for everything, from one seed; for demos, tests and benches."""

from fyke.world.config import WorldConfig
from fyke.world.truth import Expected, Host, RobotsKind, Trap, Truth, Validity
from fyke.world.world import World

__all__ = ["Expected", "Host", "RobotsKind", "Trap", "Truth", "Validity", "World", "WorldConfig"]
