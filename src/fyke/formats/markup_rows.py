"""The rows that the tokeniser of markup writes: their columns, and the kinds of tokens.

A *token* is a row (KIND, ELEMENT, START, END, FIRST): START .. END is the source of a tag, or of a text without
anything around it; the attributes of a start tag are the rows from its FIRST to the next token's. An *attribute* is a
row (NAME, VALUE, VALUE_END): the source of its value, entities and all, without quotes; empty where it has none.
Only attributes of ``markup_names.ATTRIBUTES`` are noted; of equal ones the first counts.
"""

from __future__ import annotations

KIND, ELEMENT_, START, END, FIRST, TOKEN_COLUMNS = range(6)
NAME, VALUE, VALUE_END, ATTRIBUTE_COLUMNS = range(4)
TEXT, OPEN, CLOSE, RAW, COMMENT, CDATA = range(6)
"""Kinds of tokens: text with entities; start tag; end tag; the content of a raw element (ELEMENT says of which);
comment, declaration or instruction with its marks; text without entities."""
SELF_CLOSING = 1 << 8
"""Added to ELEMENT of a start tag that ends with ``/>``: it means something in foreign content only."""
