"""Private training under shuffling. Needs the extra 'train'."""

from shuffledp.errors import MissingExtraError

try:
    import torch as _torch  # noqa: F401
except ImportError as error:
    raise MissingExtraError("train", "Training") from error

from shuffledp.training.adult import adult
from shuffledp.training.check_in import CheckInTrainer
from shuffledp.training.data import Dataset, from_idx, from_npz, mnist
from shuffledp.training.gradients import ClippedGradients
from shuffledp.training.ledger_book import LedgerBook
from shuffledp.training.run import Book, FileBook, History, Row, run, run_name
from shuffledp.training.shuffled_sgd import ShuffledSGD
from shuffledp.training.trainer import Trainer, accuracy, use_threads

__all__ = [
    "Book",
    "CheckInTrainer",
    "ClippedGradients",
    "Dataset",
    "FileBook",
    "History",
    "LedgerBook",
    "Row",
    "ShuffledSGD",
    "Trainer",
    "accuracy",
    "adult",
    "from_idx",
    "from_npz",
    "mnist",
    "run",
    "run_name",
    "use_threads",
]
