"""Privacy curves: one object answers delta(eps), epsilon(delta), Rényi and trade-off questions."""

from shuffledp.curves.base import Curve
from shuffledp.curves.closed_form import ClosedFormCurve
from shuffledp.curves.ends import NEVER, PureEnd, SearchLimit
from shuffledp.curves.gdp import GDPCurve
from shuffledp.curves.order_table import OrderTable
from shuffledp.curves.profile import ProfileCurve
from shuffledp.curves.renyi import RenyiCurve
from shuffledp.curves.tradeoff import TradeoffFunction

__all__ = [
    "NEVER",
    "ClosedFormCurve",
    "Curve",
    "GDPCurve",
    "OrderTable",
    "ProfileCurve",
    "PureEnd",
    "RenyiCurve",
    "SearchLimit",
    "TradeoffFunction",
]
