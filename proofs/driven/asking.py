"""Procedures that ask: generators that yield lists of questions and are sent the answers, joined into common
batches."""

from collections.abc import Callable, Generator, Sequence
from typing import Any, TypeVar

Result = TypeVar("Result")
Asking = Generator[list[Any], list[Any], Result]
"""Yields questions, is sent their answers in the same order, and returns a result."""


def joint(procedures: Sequence[Asking[Result]]) -> Asking[list[Result]]:
    """Procedures side by side: each batch holds the next questions of all that still go on."""
    results: dict[int, Result] = {}
    waiting: dict[int, list[Any]] = {}

    def go_on(k: int, answers: list[Any] | None) -> None:
        try:
            waiting[k] = next(procedures[k]) if answers is None else procedures[k].send(answers)
        except StopIteration as done:
            waiting.pop(k, None)
            results[k] = done.value

    for k in range(len(procedures)):
        go_on(k, None)
    while waiting:
        asked = dict(waiting)
        answers = yield [question for questions in asked.values() for question in questions]
        start = 0
        for k, questions in asked.items():
            go_on(k, answers[start : start + len(questions)])
            start += len(questions)
    return [results[k] for k in range(len(procedures))]


def about(subject: Any, procedure: Asking[Result]) -> Asking[Result]:
    """A procedure with what its questions are about beside each of them."""
    try:
        questions = next(procedure)
        while True:
            questions = procedure.send((yield [(subject, question) for question in questions]))
    except StopIteration as done:
        return done.value


def answered(procedure: Asking[Result], ask: Callable[[list[Any]], list[Any]]) -> Result:
    """The result of a procedure whose questions ``ask`` answers."""
    try:
        questions = next(procedure)
        while True:
            questions = procedure.send(ask(questions))
    except StopIteration as done:
        return done.value
