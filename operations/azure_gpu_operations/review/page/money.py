"""Formats money; unknown amounts are printed as such and never as 0."""

from azure_gpu_operations.review.model import Amount

NOT_KNOWN = "not known"
NOTHING = "-"
_WHOLE_CENTS = 10  # from which on fractions are omitted


def usd(value: float) -> str:
    """`1,234.50`, and `0.0926`: small ones with up to four digits."""
    if abs(value) >= _WHOLE_CENTS:
        return f"{value:,.2f}"
    return f"{value:,.4f}".removesuffix("0").removesuffix("0")


def amount(one: Amount | None) -> str:
    """`1,234.50`, `at least 1,234.50`, `not known`; a dash where there is nothing to pay for."""
    if one is None:
        return NOTHING
    if not one.unknown:
        return usd(one.known)
    return f"at least {usd(one.known)}" if one.known else NOT_KNOWN


def change(before: Amount | None, after: Amount | None) -> str:
    """`+23.50`, `-23.50` or `0`, of what is known; `not known` where nothing is."""
    now, then = before or Amount(0, 0), after or Amount(0, 0)
    if (now.unknown or then.unknown) and not now.known and not then.known:
        return NOT_KNOWN
    difference = round(then.known - now.known, 4)
    return f"{'+' if difference > 0 else ''}{usd(difference)}" if difference else "0"


def hours(value: float | None) -> str:
    return NOT_KNOWN if value is None else f"{value:,.0f}"
