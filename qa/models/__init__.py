"""The rows of a question: who asked what, each round of the run, and the answer that was released."""

from qa.models.answer import Answer, Citation, Claim
from qa.models.run import Question, Round, Run, RunPin, RunState, Verdict

__all__ = ["Answer", "Citation", "Claim", "Question", "Round", "Run", "RunPin", "RunState", "Verdict"]
