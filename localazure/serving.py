"""The server process: takes the folder's lock and a port, writes its address, and serves until it is asked to end."""

import logging
from datetime import date
from pathlib import Path

from localazure import endpoint, server, tls
from localazure.endpoint import Endpoint
from localazure.folder import LocalFolder
from localazure.lock import locked
from localazure.nothing_runs import choice
from localazure.process import this_process
from localazure.server import Start
from localazure.weather.state import Weather, kept


def serve(
    folder: LocalFolder, checkout: Path, as_of: date | None, weather: str | None = None, *, nothing_runs: bool = False
) -> None:
    """Serves in this process until it is asked to end. CommandError where a server runs for the folder, or it can't be so."""
    folder.create()
    with locked(folder.server_lock, wait=False):
        still = choice.settle(folder, weather, nothing_runs=nothing_runs)
        last = endpoint.read(folder)
        port, sockets = endpoint.bind(last.port if last else 0)
        tls.write_bundle(folder)
        endpoint.write(folder, Endpoint(port, this_process(), as_of.isoformat() if as_of else ""))
        logging.basicConfig(level=logging.INFO, format="%(asctime)s %(levelname)s %(name)s %(message)s")
        logging.getLogger("uvicorn.access").setLevel(logging.WARNING)
        kind = Weather(kept(folder.weather))
        start = Start(folder=folder, checkout=checkout, port=port, as_of=as_of, weather=kind, nothing_runs=still)
        server.serve(start, sockets)
