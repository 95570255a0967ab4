"""The published algorithm in plain NumPy, written from the paper: the baseline of the benchmarks.

Askari, d'Aspremont, El Ghaoui, "Naive Feature Selection", algorithm 1: class sums by splitting the
rows, bisection on the dual variable with one selection of the k largest entries per step, then the
primal point. Two classes, real arithmetic, no grouping of equal columns.
"""

import numpy as np
from scipy.special import xlogy

STEPS = 34  # halvings of [0, 1] down to 1e-10


def select(X, y, k, alpha=1.0):
    """Support of the published multinomial algorithm: mask (m,), and the dual variable."""
    positive = np.asarray(y) == np.max(y)
    f_plus = np.asarray(X[positive].sum(axis=0), dtype=np.float64).ravel() + alpha
    f_minus = np.asarray(X[~positive].sum(axis=0), dtype=np.float64).ravel() + alpha
    v = xlogy(f_plus, f_plus) + xlogy(f_minus, f_minus)
    v -= xlogy(f_plus + f_minus, f_plus + f_minus)
    low, high = 0.0, 1.0
    for _ in range(STEPS):
        a = 0.5 * (low + high)
        top = _largest(v - f_plus * np.log(a) - f_minus * np.log(1 - a), k)
        # Derivative of the dual function, NFS section 3.4: its sign halves the interval.
        slope = -f_plus[top].sum() / a + f_minus[top].sum() / (1 - a)
        low, high = (a, high) if slope < 0 else (low, a)
    support = np.zeros(len(v), dtype=bool)
    support[_largest(v - f_plus * np.log(a) - f_minus * np.log(1 - a), k)] = True
    _primal(f_plus, f_minus, support)
    return support, a


def objective(f_plus, f_minus, support):
    """Gain of a support over no feature, in nats: what the primal point reaches."""
    a, b = f_plus[support], f_minus[support]
    total = a.sum(), b.sum(), a.sum() + b.sum()
    inside = (xlogy(a, a) + xlogy(b, b) - xlogy(a + b, a + b)).sum()
    return (
        inside + xlogy(total[2], total[2]) - xlogy(total[0], total[0]) - xlogy(total[1], total[1])
    )


def _largest(h, k):
    return np.argpartition(h, len(h) - k)[len(h) - k :]


def _primal(f_plus, f_minus, support):
    """The two probability vectors, equation (13)."""
    pooled = (f_plus + f_minus) / (f_plus.sum() + f_minus.sum())
    inside = pooled[support].sum()
    theta_plus, theta_minus = pooled.copy(), pooled.copy()
    theta_plus[support] = inside * f_plus[support] / f_plus[support].sum()
    theta_minus[support] = inside * f_minus[support] / f_minus[support].sum()
    return theta_plus, theta_minus
