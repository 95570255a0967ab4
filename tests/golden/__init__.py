"""Today's behaviour, pinned: what the command answers and what the estimators compute.

`commands.py` is a table of command lines: of each, the exit status, the standard output, the
standard error, the tables and summaries it leaves, and the answers of the models it leaves.
`estimators.py` is a grid of settings of the estimators and of the functions beside them: supports,
objectives, bounds, gains, weights, probabilities. `inputs.py` makes the small data both need, from
fixed seeds. What they gave is in `stored/`, as text, and `tests/test_golden*.py` compare: words
exactly, whole numbers exactly, other numbers to a relative 1e-9.

What has no fixed result (versions, sizes of packed files, the memory of the machine) is masked in
one place, `running.py`.

To renew what is stored, all of it or the entries whose names hold one of some words:

    python -m tests.golden [WORD...]        (make golden)

Renewing twice gives no difference. A change that moves a stored value says why in its commit.

Everything here goes through public doors: the command, and names imported from `naively`.
"""
