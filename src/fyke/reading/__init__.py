"""One way from bytes to a document: whatever reads a page, reads it here, and nobody else parses one.

The way of a body::

    bytes ─ formats: type, encoding, tokens ─┬─ sites ─▶ links, directives
                                             ├─ clean ─▶ blocks, weights, main text, type of page
                                             ├─ convert ─▶ title, language, metadata; tagged HTML when asked for
                                             └─ dedupe ─▶ digests, sketch when asked for
    other formats ─ convert, in a process that may be killed ─▶ the same value

``reading.Reader`` reads for a crawl, an import, a collection; ``content.extract`` for who wants a page's content alone;
``conversion.convert_here`` for who wants its document. ``text`` is the main text, ``whole`` all of it, everywhere.
"""
