"""A block is a row of counts: the columns of the row.

Its words stand in tokens FIRST .. LAST; CONTAINER is the element around it; TAGS and INNER count the tags before it and
the inline tags in it; HASH is of its words; TEXT .. TEXT_END is its text among the texts of all blocks; SAID_END is
where its words end among those of all blocks, known by 16 bits of their hashes.
"""

(
    FIRST, LAST, CONTAINER, TAGS, INNER, BREAKS, WORDS, LINKED, CHARS, POINTS, ENDS, LOWERS, UPPERS, DIGITS,
    CAPITALS, TITLED, BODIED, IDEOGRAPHS, HASH, TEXT, TEXT_END, SAID_END, COLUMNS,
) = range(23)  # fmt: skip
