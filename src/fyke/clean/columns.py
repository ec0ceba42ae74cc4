"""A block is a row of counts: the columns of the row.

Its words stand in tokens FIRST .. LAST; CONTAINER is the element around it; TAGS and INNER count the tags before it and
the inline tags in it; HASH is of its words; TEXT .. TEXT_END is its text among the texts of all blocks.
"""

(
    FIRST, LAST, CONTAINER, TAGS, INNER, BREAKS, WORDS, LINKED, CHARS, POINTS, ENDS, LOWERS, UPPERS, DIGITS,
    CAPITALS, TITLED, BODIED, IDEOGRAPHS, HASH, TEXT, TEXT_END, COLUMNS,
) = range(22)  # fmt: skip
