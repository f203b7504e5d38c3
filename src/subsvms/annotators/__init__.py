"""Several people, several answers a row: which label is right, who errs, and which row to ask about again."""

from subsvms.annotators._consensus import Consensus
from subsvms.annotators._find import find_consensus
from subsvms.annotators._people import Person, measure_agreement

__all__ = ["Consensus", "Person", "find_consensus", "measure_agreement"]
