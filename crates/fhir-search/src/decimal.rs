//! Numbers as the range their digits may mean.

/// A number of a query.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Decimal {
    /// The number itself.
    pub(crate) value: f64,
    /// The least number that is written so.
    pub(crate) low: f64,
    /// The greatest one: the last double before the next one is.
    pub(crate) high: f64,
}

/// Most digits; what FHIR calls a decimal has 18.
const MAX_DIGITS: usize = 30;

impl Decimal {
    /// Reads `-12.50` or `1.2e3`; `None` for what is no number or beyond a double.
    ///
    /// The range is half a unit of the last digit to each side: `100` is 99.5 up to 100.5, without the end.
    /// Behind an exponent it is a tenth of that, as R4's example `1e2` has it (95 up to 105).
    ///
    /// # Source
    /// FHIR R4, Search, number.
    pub(crate) fn read(text: &str) -> Option<Self> {
        let (mantissa, exponent) = match text.split_once(['e', 'E']) {
            Some((mantissa, exponent)) => (mantissa, Some(exponent.parse::<i16>().ok()?)),
            None => (text, None),
        };
        let (digits, behind) = digits(mantissa)?;
        let value: f64 = text.parse().ok().filter(|value: &f64| value.is_finite())?;
        let finer: u32 = if exponent.is_some() { 2 } else { 1 };
        let scale = i32::from(exponent.unwrap_or(0)) - behind - i32::try_from(finer).ok()?;
        let middle = digits * 10_i128.pow(finer);
        let at = |number: i128| format!("{number}e{scale}").parse().ok().filter(|edge: &f64| edge.is_finite());
        Some(Self { value, low: at(middle - 5)?, high: at(middle + 5)?.next_down() })
    }
}

/// Returns the digits without the point, and how many stood behind it.
fn digits(mantissa: &str) -> Option<(i128, i32)> {
    let unsigned = mantissa.strip_prefix(['-', '+']).unwrap_or(mantissa);
    let (whole, behind) = unsigned.split_once('.').unwrap_or((unsigned, ""));
    let is_number = |digits: &str| digits.bytes().all(|byte| byte.is_ascii_digit());
    let complete = !whole.is_empty() && (!behind.is_empty() || !unsigned.contains('.'));
    if !complete || !is_number(whole) || !is_number(behind) || unsigned.len() > MAX_DIGITS {
        return None;
    }
    let digits: i128 = format!("{whole}{behind}").parse().ok()?;
    Some((if mantissa.starts_with('-') { -digits } else { digits }, i32::try_from(behind.len()).ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn range(text: &str) -> (f64, f64) {
        let decimal = Decimal::read(text).unwrap();
        (decimal.low, decimal.high.next_up())
    }

    #[test]
    fn the_digits_say_how_exact_a_number_is() {
        // R4, Search, number, has these.
        assert_eq!(range("100"), (99.5, 100.5));
        assert_eq!(range("100.00"), (99.995, 100.005));
        assert_eq!(range("1e2"), (95.0, 105.0));
        // R4, Search, quantity, has these.
        assert_eq!(range("5.4"), (5.35, 5.45));
        assert_eq!(range("5.40e-3"), (0.005_399_5, 0.005_400_5));
        assert_eq!(range("-3"), (-3.5, -2.5));
        assert_eq!(range("0"), (-0.5, 0.5));
    }

    #[test]
    fn what_is_no_number_is_refused() {
        for text in ["", "-", ".", "1.", ".5", "1e", "e1", "1e999", "1e99999", "0x1", "inf", "NaN", "1 ", "--1", "1,0"]
        {
            assert_eq!(Decimal::read(text), None, "{text}");
        }
        assert_eq!(Decimal::read(&"1".repeat(MAX_DIGITS + 1)), None);
    }
}
