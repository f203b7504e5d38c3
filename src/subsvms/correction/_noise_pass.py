"""One pass over the rows of three or more classes: what a step of `_noise_softmax.explain` adds up."""

import numpy as np

from subsvms.correction._noise_kinds import IMPOSSIBLE
from subsvms.ensemble._compiled.loops import compiled


@compiled
def pass_rows(behind, powers, given, verified, own, slopes, weights, floor, allowed, blurred, slip):
    """Return the log likelihood, rise and curvature by log slopes and weights, counts, and sharp labels."""
    # `behind` (n_rows, n_classes) is u_c - u_w, `powers` exp(a_c (u_c - u_w)); given and verified are -1 if
    # they are not known. P(given | true c) is allowed[given, c] + blurred * own; the last row of `allowed` is
    # for rows without a label. Counts are of (given, true).
    n_rows, n_classes = behind.shape
    fit, sharp, counts = 0.0, 0.0, np.zeros((n_classes, n_classes))
    rise, curvature = np.zeros((2, n_classes)), np.zeros((2, n_classes))
    q, r, by_slope = np.empty(n_classes), np.empty(n_classes), np.empty(n_classes)
    for i in range(n_rows):
        label, answer, total, joint = given[i], verified[i], 0.0, 0.0
        known, look = allowed[label], blurred * own[i]
        for c in range(n_classes):
            steep = (1.0 - floor) * powers[i, c]
            by_slope[c] = slopes[c] * behind[i, c] * steep / (floor + steep)
            q[c] = weights[c] * (floor + steep)
            r[c] = q[c] * (known[c] + look)
        if answer >= 0:
            for c in range(n_classes):
                r[c] *= slip / n_classes + (1.0 - slip if c == answer else 0.0)
        for c in range(n_classes):
            total += q[c]
            joint += r[c]
        joint = max(joint, IMPOSSIBLE * IMPOSSIBLE * total)
        fit += np.log(joint / total)
        for c in range(n_classes):
            q[c] /= total
            r[c] /= joint
            doubt, above = q[c] * (1.0 - q[c]), r[c] - q[c]
            rise[0, c] += above * by_slope[c]
            rise[1, c] += above
            curvature[0, c] += doubt * by_slope[c] * by_slope[c]
            curvature[1, c] += doubt
        if label >= 0:
            counts[label] += r
            sharp += r[label] * known[label] / (known[label] + look)
    return fit, rise, curvature, counts, sharp
