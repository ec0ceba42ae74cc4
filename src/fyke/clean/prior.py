"""What is thought of a block before anything is learnt: rules of thumb, each with its log-odds.

Training adds trees to these rules, and few pages move it little: so what is learnt from one collection of pages holds
on others. The rules are those of the literature (long text, few links, the plateau, the richest container, HTML 5's
nav, footer and aside), their weights rounded to tenths.
"""

from __future__ import annotations

import numpy as np

from fyke.clean.features import ROW

UNIT = 4096
"""Log-odds are whole numbers of 1/4096: sums of them are exact, so every machine gives the same answer."""
START = -2.5
RULES = (
    # feature, greater than, log-odds
    ("words", 2, 0.5), ("words", 19, 0.3), ("linked", 12, -0.5), ("linked", 32, -0.2), ("linked", 50, -0.5),
    ("ends", 1, 0.3), ("heading", 0, 0.3), ("is_p", 0, 0.5), ("is_item", 0, 0.2), ("is_cell", 0, 0.5),
    ("in_main", 0, 0.5), ("in_nav", 0, -0.6), ("in_footer", 0, -1.0), ("in_header", 0, -0.6), ("in_aside", 0, -1.0),
    ("in_form", 0, -0.4), ("in_button", 0, -0.4), ("in_hidden", 0, -0.4),
    ("plateau_words", 0, 0.6), ("in_top", 0, 0.7), ("from_top", 1, -0.3), ("share_1", 40, 0.4), ("from_title", 3, -0.4),
    ("linked±8", 20, -0.6), ("linked_1", 20, -0.5), ("heading_linked", 32, -0.2),
    ("siblings_path", 4, 0.4), ("siblings_words", 16, 0.3),
    ("class_near", 28, 0.4), ("class_near", 36, 0.2), ("class_path", 28, 0.4), ("class_path", 36, 0.2),
    ("class_path_min", 24, 0.2), ("said", 6, -0.5), ("said", 16, -0.3), ("said_above", 10, -0.4),
    ("again", 0, -0.7), ("digits", 16, -0.2), ("position", 50, -0.5), ("position", 58, -0.4), ("bodied", 32, 0.2),
)  # fmt: skip
RULE_ROWS = np.array([ROW[name] for name, _, _ in RULES])
RULE_BOUNDS = np.array([bound for _, bound, _ in RULES], np.uint8)
RULE_ODDS = np.array([round(UNIT * odds) for _, _, odds in RULES], np.int32)
SURE = 0.4
"""The chance that a page is an article, not its likeliest other type, from which on the first trees alone are heard."""
START_ODDS = round(UNIT * START)
