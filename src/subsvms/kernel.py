"""The kernel of the SVMs: k(x, z) is x'z, (gamma x'z + coef0)^degree, exp(-gamma |x - z|^2), or given."""

from typing import NamedTuple

LINEAR, POLY, RBF, PRECOMPUTED = 0, 1, 2, 3
KINDS = {"linear": LINEAR, "poly": POLY, "rbf": RBF, "precomputed": PRECOMPUTED}


class Kernel(NamedTuple):
    """A kernel and its parameters, in the form the compiled loops take."""

    kind: int
    gamma: float
    coef0: float
    degree: int

    @classmethod
    def named(cls, name: str, gamma: float = 1.0, coef0: float = 0.0, degree: int = 3) -> "Kernel":
        """Return the kernel with this name.

        Examples
        --------
        >>> Kernel.named("rbf", gamma=0.5)
        Kernel(kind=2, gamma=0.5, coef0=0.0, degree=3)
        """
        return cls(KINDS[name], float(gamma), float(coef0), int(degree))

    @property
    def needs_rows(self) -> bool:
        """Whether a decision value is a sum over training rows, and not one over features."""
        return self.kind in (RBF, POLY)
