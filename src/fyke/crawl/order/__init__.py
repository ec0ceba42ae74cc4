"""Which page first, over all hosts: a reserve of levels, filled by quality or by topic."""
