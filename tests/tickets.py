"""Support tickets: long texts, a few of them with the wrong topic."""

import numpy as np

TOPICS = {
    "card": "card blocked chip terminal payment declined reader contactless".split(),
    "refund": "refund return money parcel damaged order broken shop".split(),
    "login": "login password account locked email reset code phone".split(),
}


def make_tickets(n=240, seed=0):
    """Return tickets of about 500 characters, topic words after the first 300, and their topics."""
    rng, names = np.random.default_rng(seed), sorted(TOPICS)
    common = "hello please could you help me with this since yesterday it does not work thank you".split()
    rows = []
    for i in range(n):
        topic = names[i % 3]
        start = " ".join(rng.choice(common, 70))
        end = " ".join(rng.choice(TOPICS[topic] + common[:4], 30))
        given = names[(i + 1) % 3] if rng.random() < 0.15 else topic
        rows.append(
            {"ticket": f"T{i:04d}", "text": f"{start}. \U0001f642 {end}", "size": i % 7, "topic": given}
        )
    return rows, [names[i % 3] for i in range(n)]
