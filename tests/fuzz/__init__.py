"""A mutation fuzzer of everything that reads what strangers send or people type.

Rules of this folder: a target is a name, valid inputs of it, and what is to hold of every input
whatsoever (:mod:`.targets`, :mod:`.invariants`); an input is a valid one changed by chance from a
seed (:mod:`.mutations`, :mod:`.values`, :mod:`.fields`); what breaks something is made small,
shown and kept (:mod:`.campaign`); inputs that once broke something, and a few made by hand, are in
``tests/small/fuzz`` and are read again by ``tests/decode/test_fuzz.py``.
"""
