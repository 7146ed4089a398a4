"""Learning curves, accuracy and loss over the steps: a picture at the end, TensorBoard events during the training. In TensorBoard
the file of a resumed run supersedes the later steps of an earlier one."""

import importlib.util
import logging
import os
import time
from collections.abc import Iterable, Sequence
from pathlib import Path

import tensorflow as tf

from . import storage
from .refusal import RefusedError

PICTURE, EVENTS = "curves.png", "tensorboard"
ACCURACY, LOSS = "accuracy", "loss"
_SIZE, _DOTS = (8, 4.5), 120  # inches, dots an inch


class Curves:
    """`points`: step, and accuracy and mean loss on the held-out digits after it."""

    def __init__(self, points: Iterable[tuple[int, float, float]], first: int, folder: Path | None) -> None:
        """`first`: the step that a resumed run continues from. `folder`: of the files; None if another process writes them."""
        self.points = list(points)
        self._folder = folder
        self._events = None
        if folder is None:
            return
        storage.make_folder(folder / EVENTS)
        self._events = tf.io.TFRecordWriter(str(folder / EVENTS / f"events.out.tfevents.{time.time():.6f}.{os.getpid()}"))
        self._write(tf.compat.v1.Event(file_version="brain.Event:2"))
        if first:
            begin = tf.compat.v1.SessionLog(status=tf.compat.v1.SessionLog.START)
            self._write(tf.compat.v1.Event(step=first, session_log=begin))

    def add(self, step: int, accuracy: float, loss: float) -> None:
        self.points.append((step, accuracy, loss))
        values = [tf.compat.v1.Summary.Value(tag=tag, simple_value=value) for tag, value in ((ACCURACY, accuracy), (LOSS, loss))]
        self._write(tf.compat.v1.Event(step=step, summary=tf.compat.v1.Summary(value=values)))

    def finish(self, title: str) -> Path | None:
        """Writes the picture and returns its path; None without Matplotlib, as in the image of digits."""
        if self._folder is None or importlib.util.find_spec("matplotlib") is None:
            return None
        path = self._folder / PICTURE
        storage.write_whole(path, lambda temporary: _draw(self.points, title, temporary))
        return path

    def _write(self, event: tf.compat.v1.Event) -> None:
        if self._events is None:
            return
        event.wall_time = time.time()
        try:
            self._events.write(event.SerializeToString())
            self._events.flush()
        except tf.errors.OpError as error:
            raise RefusedError([f"{self._folder}/{EVENTS}: can't be written: {error.message}; free some space"]) from error


def _draw(points: Sequence[tuple[int, float, float]], title: str, path: Path) -> None:
    """Accuracy on the left axis, loss on the right one."""
    logging.getLogger("matplotlib").setLevel(logging.ERROR)  # suppresses its warning about a home that isn't writable
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    steps, *columns = zip(*points, strict=True)
    figure = Figure(figsize=_SIZE, dpi=_DOTS, layout="constrained")
    FigureCanvasAgg(figure)
    left = figure.subplots()
    right = left.twinx()
    for axes, name, column, colour in zip((left, right), (ACCURACY, LOSS), columns, ("tab:blue", "tab:orange"), strict=True):
        axes.plot(steps, column, color=colour, linewidth=1.2, marker="." if len(points) < 3 else None)
        axes.set_ylabel(name, color=colour)
        axes.tick_params(axis="y", labelcolor=colour)
    left.set_ylim(0, 1.02)
    right.set_ylim(bottom=0)
    left.set_xlabel("step")
    left.set_title(title)
    left.grid(alpha=0.3)
    figure.savefig(path, format="png")
