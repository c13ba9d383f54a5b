"""Open nbgrader's gradebook once for a whole class, with one transaction for each submission."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from typing import Any

from nbgrader.api import Gradebook
from sqlalchemy import Connection, create_engine
from sqlalchemy.orm import scoped_session, sessionmaker
from sqlalchemy.pool import NullPool

STEPS_COURSE = "default_course"  # the one that nbgrader's steps open, whatever the course is called


class OpenGradebook:
    """A gradebook that nbgrader's own code uses unchanged, in one transaction for each submission.

    By itself it opens the gradebook a dozen times for each submission, and each time it looks for every table, compiles
    every query again, and waits for the disk at every commit.
    """

    def __init__(self, url: str, course_id: str):
        """Open a gradebook, and make what nbgrader expects in it."""
        for course in (course_id, STEPS_COURSE):
            with Gradebook(url, course):
                pass
        self._url = url
        self._engine = create_engine(url, poolclass=NullPool)  # nothing stays open between two transactions

    @contextlib.contextmanager
    def transaction(self) -> Iterator[None]:
        """Let all that nbgrader reads and writes inside be one transaction: written as a whole, or not at all."""
        with self._engine.connect() as connection, connection.begin():
            original = Gradebook.__init__, Gradebook.close
            Gradebook.__init__, Gradebook.close = self._opening(connection, original[0]), self._closing(original[1])
            try:
                yield
            finally:
                Gradebook.__init__, Gradebook.close = original

    def _opening(self, connection: Connection, original: Callable[..., None]) -> Callable[..., None]:
        # A commit of the session, or its end, leaves the transaction open, which belongs to the connection.
        make_session = sessionmaker(bind=connection, join_transaction_mode="rollback_only")

        def open_gradebook(book: Any, db_url: str, course_id: str = STEPS_COURSE, authenticator: Any = None) -> None:
            if db_url != self._url:
                original(book, db_url, course_id, authenticator)
                return
            book.engine, book.db = self._engine, scoped_session(make_session)
            book.course_id, book.authenticator = course_id, authenticator

        return open_gradebook

    def _closing(self, original: Callable[[Any], None]) -> Callable[[Any], None]:
        def close_gradebook(book: Any) -> None:
            if book.engine is self._engine:
                book.db.remove()
            else:
                original(book)

        return close_gradebook
