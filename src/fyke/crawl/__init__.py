"""The crawl: where the rooms are joined into the loop of the textbook.

Read ``agent`` first (the loop), then ``visit`` (one contact, from the lease to its answer) and ``commit`` (what follows
from it, in one batch). The folders, by what you look for::

    politeness/   who may be contacted when: robots.txt, the gate of hosts and addresses, our own network, the rules
    queue/        what is to be visited, on disk: the queues of the tablets, the seen-set
    mail/         letters from tablet to tablet, their delivery; anchor texts on their way to their targets
    duplicates/   copies: exact ones by the owners of their digests, near ones by the machine's index
    discovery/    pages that are listed or pushed: sitemaps, feeds, WebSub
    order/        which page first, over all hosts: by quality or by topic
    revisit/      when again, and how fresh the collection is
    run/          settings, processes, supervisor, growth, signs of life, why it ended, traces
"""
