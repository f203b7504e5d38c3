"""Support tickets to review: texts of about 490 characters in five classes, some with a wrong label.

No real text is needed to try a page: each ticket is put together from sentences that people write about its
class, and from sentences that say nothing about it.
"""

import csv
from pathlib import Path

import numpy as np

LENGTH = 490  # characters of a text, roughly
N_TELLING = 3  # sentences that speak for the class
SENTENCES = {
    "billing": (
        "The invoice of {month} lists {amount} twice.",
        "My card was charged {amount} although the plan costs less.",
        "Please send the invoice again, the tax number on it is wrong.",
        "Why did the monthly price rise without a word?",
        "The payment of {amount} is booked, but the bill still shows as open.",
    ),
    "refund": (
        "I returned the parcel in {month} and wait for my money.",
        "Please give me back the {amount}, the trial had ended.",
        "The refund of {amount} was promised and never came.",
        "I cancelled within two weeks and want the full sum back.",
        "Your shop accepted the return, so where is my refund?",
    ),
    "shipping": (
        "The parcel left your store in {month} and has not arrived.",
        "The tracking number shows nothing since last week.",
        "The courier left the box with a neighbour who moved away.",
        "Can the delivery go to my office instead?",
        "Two of three boxes came, and one of them was open.",
    ),
    "account": (
        "I cannot log in since the password was changed.",
        "The code for the second step never reaches my phone.",
        "Please change the address of my account, the old mail is gone.",
        "My profile shows the name of somebody else.",
        "The account was locked after one wrong password.",
    ),
    "defect": (
        "The screen stays black after the update of {month}.",
        "The device turns itself off after ten minutes.",
        "One button is stuck, and the battery gets hot.",
        "There is a crack in the case that was not there before.",
        "Since the last version the program stops with an error.",
    ),
}
OTHERS = (
    "I have been a customer for years and was always content.",
    "I wrote to you before and got no answer.",
    "Please reply by mail, I can rarely be reached by phone.",
    "My colleague told me that you could help.",
    "This takes far too long.",
    "I would be glad to hear from you soon.",
    "You may call me in the afternoon.",
    "I attach a picture.",
    "It is not urgent, but it should be solved this month.",
    "Thank you for your work, and sorry for the long message.",
)
MONTHS = ("January", "March", "May", "July", "October")


def write_tickets(path: Path, n_tickets: int, wrong: float = 0.2, seed: int = 0) -> list[str]:
    """Write tickets to a CSV file, some with a wrong label, and return the right labels."""
    rng = np.random.default_rng(seed)
    classes = list(SENTENCES)
    clean = [classes[k] for k in rng.integers(len(classes), size=n_tickets)]
    is_wrong = rng.random(n_tickets) < wrong
    with open(path, "w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["ticket", "text", "channel", "minutes", "topic"])
        for i, topic in enumerate(clean):
            others = [name for name in classes if name != topic]
            given = others[rng.integers(len(others))] if is_wrong[i] else topic
            channel = ("mail", "chat", "phone")[rng.integers(3)]
            writer.writerow(
                [f"T{i + 1:06}", make_text(topic, rng), channel, int(rng.integers(1, 240)), given]
            )
    return clean


def make_text(topic: str, rng: np.random.Generator) -> str:
    """Return a ticket: sentences that speak for its topic among others that do not."""
    telling = rng.permutation(SENTENCES[topic])[:N_TELLING].tolist()
    sentences, length = telling, sum(map(len, telling))
    for other in rng.permutation(OTHERS).tolist():
        if length > LENGTH - 40:
            break
        sentences, length = [*sentences, other], length + len(other) + 1
    words = {"month": MONTHS[rng.integers(len(MONTHS))], "amount": f"{rng.integers(5, 400)}.90 EUR"}
    text = " ".join(rng.permutation(sentences).tolist()).format(**words)
    middle = text.find(". ", len(text) // 2) + 2
    return f"{text[:middle].rstrip()}\n\n{text[middle:]}"
