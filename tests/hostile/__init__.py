"""Valid files of every format, ways to damage them, and what reads them.

`python -m tests.hostile SECONDS [NAME ...]` damages and reads on until the time is over. What
hangs, crashes or says more than a sentence is kept in the folder `hostile-found`.
"""
