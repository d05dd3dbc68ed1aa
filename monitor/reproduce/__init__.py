"""The papers' tables and figures, made again: ours beside what they print.

`martin`, `pernot` and `navratil` hold a paper each: what it prints, as constants, and what the
package's own functions give. `document` is what they return (sections of text, tables and
figures) and its two forms, for the terminal and as Markdown with SVG files. `data_folder` reads
recorded data; `crossings`, `calibrated_sets` and `generated_bands` generate what can be generated.
`pages` writes docs/figures.md, docs/images and Table 2 of docs/papers.md.

Invariants: the same data give the same bytes. Every number comes from the functions that score in
the daemon, none from a formula written here a second time. A file that is not there is a sentence
that says what it would have shown; a file that cannot be read is an error. The papers' printed
numbers stand in the constants of their file and nowhere else.

Considered and rejected: shipping the recorded data (other people's, under other licences);
downloading it (addresses die, and a command that scores should not open connections).

What breaks first: a last digit, where another version of numpy draws or sums otherwise.
"""
