"""Planted defects: each is one changed text of the code, and a test must fail with it.

``make mutants`` plants them one after the other in copies of the last commit, runs the tests of the
area, and writes docs/evidence/mutants.md: what each defect was and which test found it.
"""
