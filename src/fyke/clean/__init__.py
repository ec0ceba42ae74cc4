"""The main content of a page: its blocks, what each of them is, and how much it matters.

The way of a page::

    bytes ─ token_kernels ─▶ tags and words ─ block_kernels ─▶ blocks in containers            (page: both)
                 │            (elements)       (word_, attribute_kernels; columns)
                 ▼                                   │
      slope: plateau, slices       dom, layout ◀─────┤ textbooks' methods: a weight for each block
                                                     ▼
      auto: feature_, container_kernels ─▶ rows of features (features)
            model_kernels ─▶ rules (prior) and trees (model) ─▶ first chances
            context_kernels ─▶ neighbours, page type ─▶ second chances; furniture and evidence correct them
            choice_kernels ─▶ which blocks to keep
                                                     │
                                                     ▼
      render: text, HTML and blocks as values

``extract`` goes it by any method, ``main`` by ``auto`` and only as far as a crawl needs; ``curve`` draws it.
"""
