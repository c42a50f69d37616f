"""Privacy curves: one object answers delta(eps), epsilon(delta), Rényi and trade-off questions."""

from shuffledp.accounting.curves.base import Curve
from shuffledp.accounting.curves.closed_form import ClosedFormCurve
from shuffledp.accounting.curves.ends import NEVER, PureEnd, SearchLimit
from shuffledp.accounting.curves.gdp import GDPCurve
from shuffledp.accounting.curves.order_table import OrderTable
from shuffledp.accounting.curves.profile import ProfileCurve
from shuffledp.accounting.curves.renyi import RenyiCurve
from shuffledp.accounting.curves.tradeoff import TradeoffFunction

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
