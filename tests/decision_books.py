"""A store of answers with what its tests do most."""

from subsvms.app.runs import history_file
from subsvms.app.runs.answer_store import Act, AnswerStore


class Book(AnswerStore):
    def decide(self, decided, *, who):
        (number,) = self.decide_many([Act(decided, who)])
        return number

    @property
    def history(self):
        return history_file.read_acts(self.file.connection, 0)
