"""Reduces the inference server's log to one line per request, `POST /score 200 2.113ms 104`."""

import logging

_PER_REQUEST = "run() output is HTTP Response"  # logged if the script returns a response object


def one_per_request() -> None:
    logging.getLogger("azmlinfsrv").addFilter(lambda record: record.msg != _PER_REQUEST)
    logging.getLogger("gunicorn.access").setLevel(logging.WARNING)
