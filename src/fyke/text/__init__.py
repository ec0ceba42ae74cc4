"""One idea of text: words of all scripts, folding, n-grams, stems, the language; and what is a placeholder."""
