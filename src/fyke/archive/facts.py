"""What ``fyke archive show`` tells: sizes, and the bits of every stream, pointer and term."""

from __future__ import annotations

from fyke.archive.archive import Archive
from fyke.archive.files import Manifest
from fyke.bits.eliasfano import sizes


def facts(archive: Archive) -> dict[str, object]:
    """Return an archive's statistics, in the order in which they are shown."""
    m: Manifest = archive.manifest
    summaries = max(1, m.documents - m.missing)
    postings, terms = max(1, m.postings), max(1, m.terms)
    pointers = sum(sizes(m.documents - m.missing + 1, m.stream_bits + 1))
    own = (m.sections["permutation.bits"].bytes + m.sections["frequencies.bits"].bytes) * 8
    stopwords, most = m.preprocessing.stopwords, m.preprocessing.max_documents
    strings = m.sections["terms.bytes"].bytes + m.sections["terms.starts"].bytes
    return {
        "folder": str(archive.folder),
        "mode": m.mode,
        "documents": len(archive),
        "missing": m.missing,
        "postings": m.postings,
        "postings_per_summary": round(m.postings / summaries, 1),
        "terms": m.terms,
        "bytes_per_summary": round(m.stream_bits / 8 / summaries, 2),
        "bits_per_posting": round(m.stream_bits / postings, 3),
        "streams": {name: f"{m.codes[name]}, {m.bits[name] / postings:.3f} bits per posting" for name in m.codes},
        "pointer_bits_per_summary": round(pointers / summaries, 2),
        "pointer_index_bits_per_summary": round(archive.pointer_index_bits / summaries, 2),
        "missing_bytes": m.sections["missing.ef"].bytes,
        "permutation_and_frequency_bits_per_term": round(own / terms, 2),
        "dictionary_bytes_per_term": round(strings / terms, 2),
        "total_bytes": sum(section.bytes for section in m.sections.values()),
        "window": m.window,
        "max_chain": m.max_chain,
        "tokeniser": m.tokeniser,
        "stemmer": m.preprocessing.stemmer,
        "stopwords": stopwords if isinstance(stopwords, str) else f"{len(stopwords)} of a file",
        "min_documents": m.preprocessing.min_documents,
    } | ({} if most is None else {"max_documents": most})
