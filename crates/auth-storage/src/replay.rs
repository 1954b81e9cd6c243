//! Which table remembers a nonce, and why no nonce is accepted twice.
//!
//! Time is cut into windows of one hour. Window `w` has the table `replay_0`, `replay_1` or
//! `replay_2`, the one with the number `w` modulo 3. A claim made at time `t` of a nonce to be
//! remembered until `e` is written to the table of the window of `t` and, when that is another
//! one, to the table of the window of `e`. It holds only when it is new in both.
//!
//! **No nonce is claimed twice before it expires.** Let a claim at `t1` until `e1` have been held,
//! and let another of the same nonce be made at `t2 <= e1`. A nonce lives less than a window, so
//! `e1` falls in the window of `t1` or in the next one, and both tables have the row.
//! - `t2 >= t1`: the window of `t2` is one of those two, and the claim meets the row there.
//! - `t2 < t1`, on a node whose clock is behind: the same assertion has the same expiry, `e2 = e1`,
//!   so the claim is also written to the table of the window of `e1`, and meets the row there.
//!
//! A row that is met is overwritten only when it is expired. So nothing depends on when old rows go
//! away, and nothing is ever searched for them: in window `w` the tables of `w` and `w + 1` are in
//! use, and the third, that of `w - 1`, is emptied as a whole. That waits until `w` is half over,
//! which leaves nodes half an hour by which their clocks may differ.
//!
//! Both inserts take their rows in the order of the nonce, and the second takes only what the first
//! found new, so two nodes never hold rows the other waits for.

use aws_lc_rs::digest;

use crate::dialect::Sql;

/// Length of a window, in seconds.
pub(crate) const WINDOW_S: i64 = 3600;
/// Part of a window that has to pass before the table of the one before is emptied, in seconds.
const GRACE_S: i64 = WINDOW_S / 2;

/// A window of receipt time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Window(i64);

impl Window {
    /// Returns the window a time, in unix seconds, falls in.
    pub(crate) fn of(now_s: i64) -> Self {
        Self(now_s.div_euclid(WINDOW_S))
    }

    /// First second of the window after this one.
    pub(crate) fn end_s(self) -> i64 {
        self.0.saturating_add(1).saturating_mul(WINDOW_S)
    }

    /// Returns the statements of this window.
    pub(crate) fn statements(self) -> &'static Statements {
        match self.0.rem_euclid(3) {
            0 => &STATEMENTS_0,
            1 => &STATEMENTS_1,
            _ => &STATEMENTS_2,
        }
    }
}

/// Returns the statements that empty the table of the window before the current one, once it may be: one that tells
/// whether there is anything, and one that does it.
pub(crate) fn emptying(now_s: i64) -> Option<(&'static str, &'static Sql)> {
    let window = Window::of(now_s);
    let statements = window.statements();
    let passed_s = now_s.rem_euclid(WINDOW_S);
    (passed_s >= GRACE_S).then_some((statements.any_before, &statements.empty_before))
}

/// What is asked of the tables of one window.
pub(crate) struct Statements {
    /// Postgres: claims in the window's own table, and versions, in one statement. Bound are nonces, expiries, client
    /// ids and organization ids, one array each, and the current time. A row has the place of its request, whether its
    /// claim holds, and the two versions.
    pub(crate) admit: &'static str,
    /// The same where a nonce has to be remembered beyond the window: bound is also the end of the window.
    pub(crate) admit_ahead: &'static str,
    /// SQLite: claims in the window's own table. Bound are `[[hex nonce, expiry], …]` and the
    /// current time; returned are the nonces that were new, in hex.
    pub(crate) claim: &'static str,
    /// SQLite: the same in the next window's table.
    pub(crate) claim_ahead: &'static str,
    any_before: &'static str,
    empty_before: Sql,
}

/// `$own`, `$next` and `$before` are the three tables as seen from one window.
macro_rules! statements {
    ($own:literal, $next:literal, $before:literal) => {
        Statements {
            admit: concat!(
                statements!(asked $own),
                "
SELECT asked.place - 1, own.nonce IS NOT NULL, client.txid, organization.txid
FROM asked
LEFT JOIN own ON own.nonce = asked.nonce
LEFT JOIN client ON client.id = asked.client_id
LEFT JOIN organization ON organization.id = asked.organization_id"
            ),
            admit_ahead: concat!(
                statements!(asked $own),
                ", ahead AS (
    INSERT INTO ", $next, " AS kept (nonce, expires)
    SELECT nonce, expires FROM own WHERE expires >= $6 ORDER BY nonce
    ON CONFLICT (nonce) DO UPDATE SET expires = excluded.expires WHERE kept.expires < $5
    RETURNING nonce
)
SELECT asked.place - 1,
    own.nonce IS NOT NULL AND (own.expires < $6 OR ahead.nonce IS NOT NULL),
    client.txid, organization.txid
FROM asked
LEFT JOIN own ON own.nonce = asked.nonce
LEFT JOIN ahead ON ahead.nonce = asked.nonce
LEFT JOIN client ON client.id = asked.client_id
LEFT JOIN organization ON organization.id = asked.organization_id"
            ),
            claim: statements!(claim $own),
            claim_ahead: statements!(claim $next),
            any_before: concat!("SELECT EXISTS (SELECT 1 FROM ", $before, ")"),
            empty_before: Sql::new(concat!("{truncate} ", $before)),
        }
    };
    (asked $own:literal) => {
        concat!(
            "WITH asked AS (
    SELECT * FROM unnest($1::BYTEA[], $2::BIGINT[], $3::TEXT[], $4::TEXT[]) WITH ORDINALITY
        AS asked (nonce, expires, client_id, organization_id, place)
), own AS (
    INSERT INTO ", $own, " AS kept (nonce, expires)
    SELECT nonce, expires FROM asked WHERE nonce IS NOT NULL ORDER BY nonce
    ON CONFLICT (nonce) DO UPDATE SET expires = excluded.expires WHERE kept.expires < $5
    RETURNING nonce, expires
)"
        )
    };
    (claim $table:literal) => {
        concat!(
            "INSERT INTO ", $table, " AS kept (nonce, expires)
SELECT unhex(value ->> 0), value ->> 1 FROM json_each($1) WHERE TRUE
ON CONFLICT (nonce) DO UPDATE SET expires = excluded.expires WHERE kept.expires < $2
RETURNING lower(hex(nonce))"
        )
    };
}

static STATEMENTS_0: Statements = statements!("replay_0", "replay_1", "replay_2");
static STATEMENTS_1: Statements = statements!("replay_1", "replay_2", "replay_0");
static STATEMENTS_2: Statements = statements!("replay_2", "replay_0", "replay_1");

/// Returns what stands for a nonce in the tables: a digest, so that rows are small and of one size. The client id
/// cannot hold the NUL that ends it, so no two pairs run together.
pub(crate) fn digest_of(client_id: &str, jti: &str) -> [u8; digest::SHA256_OUTPUT_LEN] {
    let mut context = digest::Context::new(&digest::SHA256);
    context.update(client_id.as_bytes());
    context.update(&[0]);
    context.update(jti.as_bytes());
    let mut bytes = [0; digest::SHA256_OUTPUT_LEN];
    bytes.copy_from_slice(context.finish().as_ref());
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn windows_are_hours_and_end_where_the_next_begins() {
        assert_eq!(Window::of(7199), Window::of(3600));
        assert_eq!(Window::of(3600).end_s(), 7200);
        assert_ne!(Window::of(7199), Window::of(7200));
        assert_ne!(Window::of(-1), Window::of(0));
    }

    #[test]
    fn the_table_of_the_window_before_is_emptied_in_the_second_half_only() {
        let start = 3600 * 300;
        assert!(emptying(start).is_none());
        assert!(emptying(start + 1799).is_none());
        let (any, _) = emptying(start + 1800).unwrap();
        assert!(any.contains("replay_2"), "{any}");
    }

    #[test]
    fn a_nonce_belongs_to_its_client() {
        assert_ne!(digest_of("a", "bc"), digest_of("ab", "c"));
        assert_eq!(digest_of("a", "b"), digest_of("a", "b"));
    }
}
