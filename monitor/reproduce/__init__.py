"""The papers' tables and figures, made again: ours beside the printed ones.

`martin`, `pernot` and `navratil` hold a paper each: its printed numbers, as constants, and the
results of the package's own functions. `paper_page` is what they return (sections of text, tables
and figures) and its two forms, for the terminal and as Markdown with SVG files. `data_folder` reads
recorded data; `crossings`, `calibrated_sets` and `generated_bands` generate what can be generated.
`written_pages` writes docs/figures.md, docs/images and Table 2 of docs/papers.md.

Invariants: the same data give the same bytes. Every number comes from the functions that score in
the daemon, none from a formula repeated here. A missing file is a sentence that says what it would
have shown; an unreadable file is an error. The papers' printed numbers are in the constants of
their file and nowhere else.

Considered and rejected: shipping the recorded data (it belongs to others, under other licences);
downloading it (addresses die, and a command that scores should not open connections).

What breaks first: a last digit, if another version of numpy draws or sums differently.
"""
