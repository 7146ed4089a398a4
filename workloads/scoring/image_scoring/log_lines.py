"""Which lines of the inference server's log are kept: one a request, `POST /score 200 2.113ms 104`.

In: nothing. Out: its loggers say no more of each request than that.
"""

import logging

_SAID_OF_EACH = "run() output is HTTP Response"  # by a server whose script answers by itself


def one_a_request() -> None:
    logging.getLogger("azmlinfsrv").addFilter(lambda record: record.msg != _SAID_OF_EACH)
    logging.getLogger("gunicorn.access").setLevel(logging.WARNING)
