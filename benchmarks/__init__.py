"""Times and memory, side by side with what else does the job; the README has what was found."""
