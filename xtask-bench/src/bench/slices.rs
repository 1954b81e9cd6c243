//! Ours and its limit in turn, so that both see the same machine.
//!
//! A shared machine is a third slower in one minute than in the next. A limit measured once, before everything,
//! then says little about a row measured a minute later; measured in short slices between those of the row, it
//! is as slow as the row was.

use anyhow::Result;

/// How often each is measured. Odd, so that there is one in the middle.
pub(super) const SLICES: usize = 11;

/// The slice in the middle, of each.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Medians {
    pub(super) ours: f64,
    pub(super) limit: f64,
}

/// Measures a slice of the limit, a slice of ours, and so on; `ours` is told which one it is.
///
/// # Errors
/// At the first slice that cannot be measured.
pub(super) fn alternate(
    mut ours: impl FnMut(usize) -> Result<f64>,
    mut limit: impl FnMut() -> Result<f64>,
) -> Result<Medians> {
    let (mut each_of_ours, mut each_limit) = ([0.0; SLICES], [0.0; SLICES]);
    for (slice, (our, its_limit)) in each_of_ours.iter_mut().zip(&mut each_limit).enumerate() {
        *its_limit = limit()?;
        *our = ours(slice)?;
    }
    Ok(Medians { ours: median(each_of_ours), limit: median(each_limit) })
}

/// The middle of as many slices of one thing.
///
/// # Errors
/// As [`alternate`].
pub(super) fn repeat(mut measured: impl FnMut() -> Result<f64>) -> Result<f64> {
    let mut each = [0.0; SLICES];
    for slice in &mut each {
        *slice = measured()?;
    }
    Ok(median(each))
}

fn median(mut slices: [f64; SLICES]) -> f64 {
    *slices.select_nth_unstable_by(SLICES / 2, f64::total_cmp).1
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slice_that_somebody_disturbed_does_not_count() {
        let mut left = (0..SLICES).map(|slice| if slice == 3 { 1000.0 } else { 7.0 });
        let told = repeat(|| Ok(left.next().unwrap())).unwrap();
        assert!((told - 7.0).abs() < 1e-9, "{told}");
    }

    #[test]
    fn each_slice_of_ours_follows_one_of_the_limit() {
        let order = std::cell::RefCell::new(String::new());
        let note = |letter| {
            order.borrow_mut().push(letter);
            Ok(1.0)
        };
        alternate(|_| note('o'), || note('l')).unwrap();
        assert_eq!(*order.borrow(), "lo".repeat(SLICES));
    }

    #[test]
    fn the_first_error_ends_it() {
        let mut asked = 0;
        let ended = alternate(
            |_| anyhow::bail!("no answer"),
            || {
                asked += 1;
                Ok(1.0)
            },
        );
        assert!(ended.is_err());
        assert_eq!(asked, 1);
    }
}
