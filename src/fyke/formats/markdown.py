"""Markdown (CommonMark with GFM's tables) from tagged text: of a whole document, or of the blocks that were kept.

The dialect: ``#`` headings, ``-`` bullets, fenced code, ``**strong**``, ``*em*``, ``~~del~~``, a backslash before a
line break, formulas as GitHub writes them ($`x`$, and a fence called math). Written, rendered by a CommonMark parser
and written again it is the same.
docs/formats.md tells what has no form in Markdown and what becomes of it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable

from fyke.formats import blocks
from fyke.formats.block_tree import Block, Kind, Run
from fyke.formats.inline_markdown import lines, one_line

MAX_COLUMNS = 256
"""Columns of a table; what stands in further ones is put into the last."""
_MARKUP_PER_CELL = 4
"""Characters of markup for each empty cell that may be made up where one spans others; a short row means the same."""
_RULERS = {"left": ":--", "center": ":-:", "right": "--:"}
_FENCE = re.compile(r"`{3,}")
_ENDING_SIGNS = re.compile(r"#+$")


def markdown(markup: str) -> str:
    """Return canonical markup as Markdown. Linear; never raises. Ends with a newline unless it is empty."""
    writer = _Writer(len(markup) // _MARKUP_PER_CELL)
    writer.write(blocks.stream(markup))
    if writer.out:
        writer.out.append("")
    return "\n".join(writer.out)


class _Writer:
    """Lines of Markdown; what each line begins with is what blocks are open."""

    def __init__(self, allowance: int) -> None:
        self.out: list[str] = []
        self._prefix = ""
        self._first: str | None = None  # what the next line begins with, where a list's item begins
        self._allowance = allowance  # cells that may be made up

    def write(self, inner: Iterable[Block], is_tight: bool = False) -> None:
        """Write blocks one below the other, with empty lines between them unless ``is_tight``."""
        written = False
        last: Block | None = None
        turn = False
        for block in inner:
            before = len(self.out)
            if written and not is_tight:
                self.out.append(self._prefix.rstrip())
            turn = last is not None and last.kind is block.kind and not turn
            mark = len(self.out)
            self._write_one(block, turn)
            if len(self.out) == mark:
                del self.out[before:]
            else:
                written, last = True, block

    def _write_one(self, block: Block, turn: bool) -> None:
        """Write a block; a list takes its second sign if it is its neighbour's ``turn``."""
        match block.kind:
            case Kind.PARAGRAPH:
                for line in lines(block.runs):
                    self._line(line)
            case Kind.HEADING:
                self._heading(block)
            case Kind.CODE:
                self._code(block)
            case Kind.RULE:
                self._line("* * *" if self._first is None else "___")
            case Kind.UL:
                self._list(block, lambda _: "* " if turn else "- ")
            case Kind.OL:
                self._list(block, lambda number: f"{number}{')' if turn else '.'} ")
            case Kind.QUOTE:
                self._within("> ", "> ", block.blocks)
            case Kind.TABLE if not block.is_special and not _is_frame(block):
                self._table(block)
            case _:  # a table of blocks, or what stands where it should not
                self.write(_flat(block.blocks))

    def _line(self, text: str) -> None:
        begin = self._prefix if self._first is None else self._first
        self._first = None
        self.out.append(begin + text if text else begin.rstrip())

    def _within(self, first: str, rest: str, inner: list[Block], is_tight: bool = False) -> None:
        """Write blocks whose lines begin with ``rest``, the first one with ``first``."""
        prefix, pending = self._prefix, self._first
        self._first = (prefix if pending is None else pending) + first
        self._prefix = prefix + rest
        before = len(self.out)
        self.write(inner, is_tight)
        self._prefix = prefix
        self._first = pending if len(self.out) == before else None

    def _list(self, block: Block, sign: Callable[[int], str]) -> None:
        number = block.number
        written = False
        for item in block.blocks:
            before = len(self.out)
            if written and block.is_special:
                self.out.append(self._prefix.rstrip())
            mark = len(self.out)
            begin = sign(number)
            inner = item.blocks if item.kind is Kind.ITEM else [item]
            self._within(begin, " " * len(begin), inner, is_tight=not block.is_special)
            if len(self.out) == mark:
                del self.out[before:]
            else:
                written = True
                number = min(number + 1, 999_999_999)

    def _heading(self, block: Block) -> None:
        text = one_line(block.runs, " ")
        if text:
            end = _ENDING_SIGNS.search(text)
            if end and (end.start() == 0 or text[end.start() - 1] in " \t"):
                text = f"{text[: end.start()]}\\{text[end.start() :]}"
            self._line("#" * block.number + " " + text)

    def _code(self, block: Block) -> None:
        text = "".join(run.content for run in block.runs if isinstance(run.content, str))
        text = text.replace("\r\n", "\n").replace("\r", "\n").removesuffix("\n")
        if not text.strip():
            return
        fence = "`" * max(3, 1 + max(map(len, _FENCE.findall(text)), default=0))
        self._line(fence + block.language)
        for line in text.split("\n"):
            self._line(line)
        self._line(fence)

    def _table(self, table: Block) -> None:
        captions = [inner for inner in table.blocks if inner.kind is not Kind.ROW]
        rows = [row for row in table.blocks if row.kind is Kind.ROW]
        self.write(captions)
        cells, has_head = self._cells(rows)
        if not cells:
            return
        if captions and self.out:
            self.out.append(self._prefix.rstrip())
        columns = max(map(len, cells))
        if not has_head:
            cells.insert(0, [""] * columns)
        self._row(cells[0] + [""] * (columns - len(cells[0])))
        aligned = [_RULERS.get(cell.language.lower(), "---") for cell in rows[0].blocks for _ in range(cell.number)]
        self._row((aligned + ["---"] * columns)[:columns])
        for row in cells[1:]:
            missing = min(columns - len(row), max(self._allowance, 0))
            self._allowance -= missing
            self._row(row + [""] * missing)

    def _cells(self, rows: list[Block]) -> tuple[list[list[str]], bool]:
        """Return the texts of the cells, empty ones for what a cell spans, and whether the first row is a head.

        Rows without any text are left out.
        """
        out: list[list[str]] = []
        has_head = False
        held: dict[int, int] = {}  # column → rows that a cell above still reaches into
        for row in rows:
            texts: list[str] = []
            cells = iter(row.blocks)
            while True:
                at = len(texts)
                if at in held:
                    texts.append("")
                    held[at] -= 1
                    if not held[at]:
                        del held[at]
                    continue
                cell = next(cells, None)
                if cell is None:
                    break
                text = one_line(_runs(cell), "<br>").replace("|", "\\|")
                if at >= MAX_COLUMNS:
                    texts[-1] = f"{texts[-1]} {text}".strip()
                    continue
                wide = min(max(cell.number, 1), max(self._allowance, 1), MAX_COLUMNS - at)
                self._allowance -= wide * cell.rows - 1
                texts += [text] + [""] * (wide - 1)
                if cell.rows > 1 and self._allowance > 0:
                    held.update(dict.fromkeys(range(at, at + wide), cell.rows - 1))
            if any(texts):
                has_head = all(cell.is_special for cell in row.blocks) if not out else has_head
                out.append(texts)
        return out, has_head

    def _row(self, cells: list[str]) -> None:
        self._line("| " + " | ".join(cells) + " |")


def _is_frame(table: Block) -> bool:
    """Whether a table is one cell around something."""
    rows = [row for row in table.blocks if row.kind is Kind.ROW]
    return len(rows) == 1 and len(rows[0].blocks) == 1


def _runs(block: Block) -> list[Run]:
    """Return the runs of a cell, a break between its blocks."""
    if not block.blocks:
        return block.runs
    out: list[Run] = []
    pending = [block]
    while pending:
        inner = pending.pop()
        pending.extend(reversed(inner.blocks))
        if inner.runs:
            out += [Run(None), *inner.runs] if out else inner.runs
    return out


def _flat(inner: list[Block]) -> list[Block]:
    """Return the blocks of a table's cells, one after the other."""
    out: list[Block] = []
    for block in inner:
        if block.kind in (Kind.ROW, Kind.CELL, Kind.ITEM):
            out += _flat(block.blocks)
        else:
            out.append(block)
    return out
