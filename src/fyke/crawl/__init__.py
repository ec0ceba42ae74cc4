"""The crawl: where the rooms are joined into the loop of the textbook, one agent per core.

Read ``engine`` first, then ``keeping``; the others by what you look for::

    a visit         engine ─▶ permissions, gate ─▶ process (fyke.reading) ─▶ keeping; rules says which URLs are wanted
    the queues      queues (frontier and tablets as one), seenruns; mail and delivery from tablet to tablet; anchors
    copies          examination ─▶ duplicates (exact), lookalikes (near); similar answers `fyke similar`
    listed pages    discovery, lister (sitemaps, feeds); websub, subscriptions (push)
    best first      order ─▶ reserve; quality (cash, ranking), topic; focusing chooses
    kept fresh      revisits, retaking, hostmemory; budget; freshness measures
    processes       surroundings; apart ─▶ supervisor, board, exchange
    told            settings, plan; status, reporting, trace
"""
