//! Comparing ranges: what the prefixes of dates, numbers and quantities mean.

/// The comparison prefix of a date, number or quantity.
///
/// # Source
/// FHIR R4, Search, Prefixes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ComparisonPrefix {
    /// `eq`, or no prefix: the range of the resource lies inside the requested one.
    Equal,
    /// `ne`: the range of the resource does not lie inside the requested one.
    NotEqual,
    /// `gt`: a part of the resource's range lies above the requested one.
    Greater,
    /// `lt`: a part of the resource's range lies below the requested one.
    Less,
    /// `ge`: `gt` or `eq`.
    GreaterOrEqual,
    /// `le`: `lt` or `eq`.
    LessOrEqual,
    /// `sa`: the whole range of the resource lies above the requested one.
    StartsAfter,
    /// `eb`: the whole range of the resource lies below the requested one.
    EndsBefore,
    /// `ap`: the ranges overlap; the requested one is widened when the query is parsed.
    Approximate,
}

impl ComparisonPrefix {
    /// Every prefix with its two letters.
    pub const ALL_WITH_LETTERS: [(&'static str, Self); 9] = [
        ("eq", Self::Equal),
        ("ne", Self::NotEqual),
        ("gt", Self::Greater),
        ("lt", Self::Less),
        ("ge", Self::GreaterOrEqual),
        ("le", Self::LessOrEqual),
        ("sa", Self::StartsAfter),
        ("eb", Self::EndsBefore),
        ("ap", Self::Approximate),
    ];

    /// Splits the comparison prefix off a value; a value without one means [`ComparisonPrefix::Equal`].
    #[must_use]
    pub fn split_from_value(text: &str) -> (Self, &str) {
        let found =
            Self::ALL_WITH_LETTERS.iter().find_map(|(letters, prefix)| Some((*prefix, text.strip_prefix(letters)?)));
        found.unwrap_or((Self::Equal, text))
    }
}

/// A comparison with the range of values `[low, high]` that a resource has; all bounds are inclusive.
///
/// Ranges of dates are in unix microseconds and come from the precision the value is written with:
/// `2013-01` is the whole month. Those of numbers come from the digits for `eq` and `ne` (`100` is
/// 99.5 up to the last double below 100.5), and are the number itself for the prefixes of order.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RangeComparison<T> {
    /// The comparison.
    pub prefix: ComparisonPrefix,
    /// The lower bound of the requested range.
    pub low: T,
    /// The upper bound of the requested range.
    pub high: T,
}

impl<T: PartialOrd> RangeComparison<T> {
    /// Returns whether the range `[low, high]` of a resource meets the comparison.
    #[must_use]
    pub fn matches_range(&self, low: &T, high: &T) -> bool {
        let inside = *low >= self.low && *high <= self.high;
        match self.prefix {
            ComparisonPrefix::Equal => inside,
            ComparisonPrefix::NotEqual => !inside,
            ComparisonPrefix::Greater => *high > self.high,
            ComparisonPrefix::Less => *low < self.low,
            ComparisonPrefix::GreaterOrEqual => *high > self.high || inside,
            ComparisonPrefix::LessOrEqual => *low < self.low || inside,
            ComparisonPrefix::StartsAfter => *low > self.high,
            ComparisonPrefix::EndsBefore => *high < self.low,
            ComparisonPrefix::Approximate => *low <= self.high && *high >= self.low,
        }
    }
}
