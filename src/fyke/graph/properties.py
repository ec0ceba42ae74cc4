"""The .properties of a BV graph: its size, its parameters, and the code of each stream.

Java's format of ``key=value`` lines. Compression flags are written ``STREAM_CODE | STREAM_CODE``; what is not
named has WebGraph's default: γ for outdegrees, blocks and block counts, unary for references, ζ_k for residuals,
γ for offsets. Intervals are always γ.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from fyke.bits.coding import Code
from fyke.errors import StorageError, UserError

GRAPH_CLASS = "it.unimi.dsi.webgraph.BVGraph"
_STREAMS = ("outdegrees", "references", "block_count", "blocks", "residuals", "offsets")
_DEFAULTS = {"references": "unary", "residuals": "zeta"}
_MOST = 1 << 31
"""Parameters are Java's ints: a greater one is none."""


@dataclass(frozen=True, slots=True)
class Parameters:
    """How a graph is compressed; WebGraph's defaults."""

    window: int = 7
    """How many nodes back a reference may lie: 0 for none."""
    max_chain: int = 3
    """Longest chain of references, each a list more to read at random; −1 for no limit."""
    min_interval: int = 4
    """Shortest run of consecutive successors written as an interval: 0 for none."""
    zeta_k: int = 3
    flags: str = ""

    def __post_init__(self) -> None:
        fits = 0 <= self.window < _MOST and 0 <= self.min_interval < _MOST and self.max_chain < _MOST
        if not fits or not 1 <= self.zeta_k <= 16:
            raise UserError(
                f"a graph cannot have window {self.window}, chain {self.max_chain}, interval {self.min_interval}, "
                f"ζ_{self.zeta_k}"
            )

    def codes(self) -> dict[str, Code]:
        """Return the code of each stream, offsets included. Raises ``StorageError`` for an unknown flag."""
        chosen = {stream: _DEFAULTS.get(stream, "gamma") for stream in _STREAMS}
        for flag in (f.strip() for f in self.flags.split("|")):
            stream, _, code = flag.rpartition("_")
            if flag and (stream.lower() not in chosen or code not in {"UNARY", "GAMMA", "DELTA", "ZETA"}):
                raise StorageError(f"the graph has compression flag {flag!r}, which fyke cannot read; recompress it")
            if flag:
                chosen[stream.lower()] = code.lower()
        codes = {s: Code(c, self.zeta_k if c == "zeta" else 0) for s, c in chosen.items()}
        return codes | {"intervals": Code("gamma")}


@dataclass(frozen=True, slots=True)
class Properties:
    """What a .properties file says that fyke uses."""

    nodes: int
    arcs: int
    parameters: Parameters


def file_of(basename: Path, ending: str) -> Path:
    """Return the file of a graph that ends so: ``.graph``, ``.offsets``, ``.properties`` or ``.urls``."""
    return basename.with_name(basename.name + ending)


def read_properties(file: Path) -> Properties:
    """Return the properties of a graph. Raises ``StorageError``."""
    try:
        text = file.read_text(encoding="latin-1")
    except OSError:
        raise StorageError(f"{file} is absent; name a graph by its files' common beginning, without .graph") from None
    lines = (line.partition("=") for line in text.splitlines() if not line.startswith("#"))
    said = {key.strip(): value.strip() for key, _, value in lines}
    if "BVGraph" not in said.get("graphclass", "") or said.get("version", "0") != "0":
        raise StorageError(f"{file} is not of a BVGraph of version 0; convert the graph with WebGraph first")
    if said.get("endianness", "big") != "big":
        raise StorageError(f"{file}: fyke reads big-endian graphs only; convert the graph with WebGraph first")
    try:
        parameters = Parameters(
            int(said["windowsize"]),
            int(said["maxrefcount"]),
            int(said["minintervallength"]),
            int(said.get("zetak", "3")),
            said.get("compressionflags", ""),
        )
        found = Properties(int(said["nodes"]), int(said["arcs"]), parameters)
    except (KeyError, ValueError, UserError) as error:
        raise StorageError(f"{file} lacks a number or has a wrong one ({error}); copy it again") from None
    if found.nodes < 0 or found.arcs < 0:
        raise StorageError(f"{file} has a negative size; copy it again")
    return found


def write_properties(file: Path, properties: Properties, bits: dict[str, int], references: int, distance: int) -> None:
    """Write the properties of a graph, with statistics as WebGraph names them."""
    nodes, arcs, parameters = max(1, properties.nodes), max(1, properties.arcs), properties.parameters
    total = sum(bits.values())
    said: dict[str, object] = {
        "graphclass": GRAPH_CLASS,
        "version": 0,
        "endianness": "big",
        "nodes": properties.nodes,
        "arcs": properties.arcs,
        "windowsize": parameters.window,
        "maxrefcount": parameters.max_chain,
        "minintervallength": parameters.min_interval,
        "zetak": parameters.zeta_k,
        "compressionflags": parameters.flags,
        "bitsperlink": f"{total / arcs:.3f}",
        "bitspernode": f"{total / nodes:.3f}",
        "avgref": f"{references / nodes:.3f}",
        "avgdist": f"{distance / nodes:.3f}",
        "bitsforoutdegrees": bits["outdegrees"],
        "bitsforreferences": bits["references"],
        "bitsforblocks": bits["blocks"] + bits["block_count"],
        "bitsforintervals": bits["intervals"],
        "bitsforresiduals": bits["residuals"],
    }
    lines = ["#BVGraph properties", *(f"{key}={value}" for key, value in said.items())]
    file.write_text("\n".join(lines) + "\n", encoding="latin-1")
