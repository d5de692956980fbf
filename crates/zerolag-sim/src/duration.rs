// SPDX-License-Identifier: GPL-2.0-only
//! Durations as people write them: a number and its unit, as in `3ms`, `100us`, `1.5s`.
//!
//! A number without a unit is refused: whether 5000 means micro- or nanoseconds is the kind of thing that
//! nobody finds out.

use zerolag_core::units::Nanos;

/// Why a text is no duration.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum DurationError {
    /// There is no unit.
    #[error("the unit is missing")]
    NoUnit,
    /// It is something else.
    #[error("not a duration")]
    NotOne,
    /// It is more than 584 years.
    #[error("too long")]
    TooLong,
}

/// What is accepted, for messages.
pub const ACCEPTED: &str = "a duration with its unit (ns, us, ms, s, min, h), as in 3ms or 1.5s";

const UNITS: [(&str, u64); 7] = [
    ("ns", 1),
    ("us", 1_000),
    ("µs", 1_000),
    ("ms", 1_000_000),
    ("min", 60_000_000_000),
    ("s", 1_000_000_000),
    ("h", 3_600_000_000_000),
];

/// Reads a duration. Digits beyond the nanosecond are cut off.
///
/// # Errors
/// If it is none.
pub fn parse(text: &str) -> Result<Nanos, DurationError> {
    let text = text.trim();
    let end = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
    let (number, unit) = text.split_at(end);
    let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
    if whole.is_empty() || fraction.contains('.') || number.ends_with('.') {
        return Err(DurationError::NotOne);
    }
    let unit = unit.trim_start();
    if unit.is_empty() {
        return Err(DurationError::NoUnit);
    }
    let &(_, unit) = UNITS.iter().find(|(name, _)| *name == unit).ok_or(DurationError::NotOne)?;
    let whole: u64 = whole.parse().map_err(|_| DurationError::TooLong)?;
    let mut total = whole.checked_mul(unit).ok_or(DurationError::TooLong)?;
    let mut place = unit;
    for digit in fraction.bytes() {
        // 3600 s is not a power of ten: keep the remainder by scaling up instead of dividing down.
        place = if place.is_multiple_of(10) { place / 10 } else { break };
        total = total.checked_add(u64::from(digit - b'0') * place).ok_or(DurationError::TooLong)?;
    }
    Ok(Nanos(total))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn numbers_with_units_are_durations() {
        for (text, ns) in [
            ("3ms", 3_000_000),
            ("100us", 100_000),
            ("100 µs", 100_000),
            ("1.5s", 1_500_000_000),
            ("0.0000000019s", 1),
            ("2min", 120_000_000_000),
            ("1.5h", 5_400_000_000_000),
            ("0ns", 0),
            ("0.25us", 250),
        ] {
            assert_eq!(parse(text), Ok(Nanos(ns)), "{text}");
        }
    }

    #[test]
    fn anything_else_is_not() {
        assert_eq!(parse("5000"), Err(DurationError::NoUnit));
        for text in ["", "ms", "-1ms", "1.ms", ".5ms", "1..5ms", "1,5ms", "3 m s", "3d", "1e3ms"] {
            assert_eq!(parse(text), Err(DurationError::NotOne), "{text}");
        }
        assert_eq!(parse("99999999999999999999s"), Err(DurationError::TooLong));
        assert_eq!(parse("18446744073s"), Ok(Nanos(18_446_744_073_000_000_000)));
        assert_eq!(parse("18446744074s"), Err(DurationError::TooLong));
    }

    proptest! {
        #[test]
        fn no_text_panics(text in any::<String>()) {
            _ = parse(&text);
        }

        #[test]
        fn nanoseconds_survive(ns in any::<u64>()) {
            prop_assert_eq!(parse(&format!("{ns}ns")), Ok(Nanos(ns)));
        }
    }
}
