use proptest::prelude::*;

use super::*;

const START_S: i64 = 1_800_000_000;

/// The policy that the numbers of these tests are about.
const POLICY: ServerAttemptPolicy = ServerAttemptPolicy {
    account_nearby: AttemptRateLimit { at_once: 5, pause_us: 360_000_000 },
    after_success: FailuresAfterSuccess::ForgetFailures,
};

/// A secret with which no two names of these tests share a place.
const SECRET: [u8; 32] = [11; 32];

fn attempts() -> AttemptLimiter {
    AttemptLimiter::new(SECRET, POLICY)
}

fn device(address: &str) -> AttemptOrigin<'static> {
    AttemptOrigin::Device(address.parse().unwrap())
}

fn try_admit<'a>(
    attempts: &'a AttemptLimiter,
    now_s: i64,
    account: &str,
    from: &str,
) -> Result<AdmittedAttempt<'a>, TryAdmitError> {
    attempts.try_admit((START_S + now_s) * 1_000_000, account, device(from))
}

/// The same where no attempt is pending.
fn admit<'a>(
    attempts: &'a AttemptLimiter,
    now_s: i64,
    account: &str,
    from: &str,
) -> Result<AdmittedAttempt<'a>, AttemptLimitExceeded> {
    try_admit(attempts, now_s, account, from).map_err(held)
}

fn held(error: TryAdmitError) -> AttemptLimitExceeded {
    match error {
        TryAdmitError::Held(held) => held,
        TryAdmitError::Busy => panic!("attempts are pending"),
    }
}

fn wait_s(held: AttemptLimitExceeded) -> u64 {
    held.wait_us / 1_000_000
}

/// A wrong password; the seconds to wait when it is refused instead.
fn wrong(attempts: &AttemptLimiter, now_s: i64, account: &str, from: &str) -> Result<(), u64> {
    admit(attempts, now_s, account, from).map(drop).map_err(wait_s)
}

/// A right one.
fn right(attempts: &AttemptLimiter, now_s: i64, account: &str, from: &str) -> Result<(), u64> {
    admit(attempts, now_s, account, from).map(|admitted| admitted.record_outcome(AttemptOutcome::Right)).map_err(wait_s)
}

#[test]
fn an_account_waits_after_five_wrong_passwords_where_they_came_from_and_nowhere_else() {
    let attempts = attempts();
    for host in 0..5 {
        assert_eq!(wrong(&attempts, 0, "ada", &format!("192.0.2.{host}")), Ok(()));
    }
    assert_eq!(wrong(&attempts, 0, "ada", "192.0.2.99"), Err(360));
    assert_eq!(right(&attempts, 60, "ada", "::ffff:192.0.2.99"), Err(300), "the same address as IPv6");
    assert_eq!(right(&attempts, 60, "ada", "198.51.100.1"), Ok(()), "the owner, elsewhere");
    assert_eq!(wrong(&attempts, 60, "bob", "192.0.2.99"), Ok(()));
    assert_eq!(wrong(&attempts, 360, "ada", "192.0.2.99"), Ok(()));
    assert_eq!(wrong(&attempts, 360, "ada", "192.0.2.99"), Err(360));
}

#[test]
fn a_held_attempt_learns_when_one_more_and_when_all_may_go_on() {
    let attempts = attempts();
    for _ in 0..5 {
        assert_eq!(wrong(&attempts, 0, "ada", "192.0.2.1"), Ok(()));
    }
    let held = admit(&attempts, 60, "ada", "192.0.2.1").unwrap_err();
    assert_eq!(
        held,
        AttemptLimitExceeded {
            by: AttemptCounterKind::AccountNearby,
            at_once: 5,
            wait_us: 300_000_000,
            whole_us: 1_740_000_000
        }
    );
}

#[test]
fn a_right_password_gives_all_tries_back_where_it_came_from_and_waits_once_they_are_used_up() {
    let attempts = attempts();
    for _ in 0..3 {
        for _ in 0..4 {
            assert_eq!(wrong(&attempts, 0, "ada", "192.0.2.1"), Ok(()));
        }
        assert_eq!(right(&attempts, 0, "ada", "192.0.2.1"), Ok(()));
    }
    for _ in 0..5 {
        assert_eq!(wrong(&attempts, 0, "ada", "192.0.2.1"), Ok(()));
        assert_eq!(wrong(&attempts, 0, "ada", "198.51.100.1"), Ok(()));
    }
    assert_eq!(right(&attempts, 0, "ada", "192.0.2.1"), Err(360));
    assert_eq!(right(&attempts, 0, "ada", "203.0.113.1"), Ok(()));
    assert_eq!(wrong(&attempts, 0, "ada", "198.51.100.1"), Err(360), "a right one elsewhere");
}

#[test]
fn of_concurrent_attempts_no_more_than_the_limit_go_on() {
    let attempts = attempts();
    let admitted: Vec<_> = (0..20).filter_map(|_| try_admit(&attempts, 0, "ada", "192.0.2.1").ok()).collect();
    assert_eq!(admitted.len(), 5);
    assert_eq!(try_admit(&attempts, 7_200, "ada", "192.0.2.1").unwrap_err(), TryAdmitError::Busy, "nor later on");
    for attempt in admitted {
        attempt.record_outcome(AttemptOutcome::Unchecked);
    }
    assert_eq!(wrong(&attempts, 7_200, "ada", "192.0.2.1"), Ok(()));
}

#[test]
fn pending_attempts_are_not_wrong_ones() {
    let attempts = attempts();
    let mut pending: Vec<_> = (0..5).map(|_| admit(&attempts, 0, "ada", "192.0.2.1").unwrap()).collect();
    assert_eq!(try_admit(&attempts, 0, "ada", "192.0.2.1").unwrap_err(), TryAdmitError::Busy);
    pending.pop().unwrap().record_outcome(AttemptOutcome::Right);
    // The room of each that was right is the next one's.
    pending.push(admit(&attempts, 0, "ada", "192.0.2.1").unwrap());
    assert_eq!(try_admit(&attempts, 0, "ada", "192.0.2.1").unwrap_err(), TryAdmitError::Busy);
    drop(pending);
    assert_eq!(wrong(&attempts, 0, "ada", "192.0.2.1"), Err(360), "five were wrong");
}

#[test]
fn an_address_waits_after_sixty_wrong_passwords_and_a_network_of_ipv6_is_one_address() {
    let attempts = attempts();
    for host in 0..60 {
        assert_eq!(wrong(&attempts, 0, &format!("name-{host}"), &format!("2001:db8::{host:x}")), Ok(()));
    }
    assert_eq!(wrong(&attempts, 0, "another", "2001:db8::ffff:1"), Err(1));
    assert_eq!(wrong(&attempts, 0, "another", "2001:db8:0:1::1"), Ok(()));
    assert_eq!(wrong(&attempts, 0, "another", "192.0.2.1"), Ok(()));
}

#[test]
fn a_neighborhood_waits_after_six_hundred() {
    for (block, rest, neighbour) in [("192.0.2.", "", "192.0.3.1"), ("2001:db8:0:", "::1", "2001:db8:1::1")] {
        let attempts = attempts();
        for number in 0..600 {
            let from = format!("{block}{}{rest}", number % 20);
            assert_eq!(wrong(&attempts, 0, &format!("name-{number}"), &from), Ok(()), "{number}");
        }
        let held = admit(&attempts, 0, "another", &format!("{block}99{rest}")).unwrap_err();
        assert_eq!((held.at_once, held.wait_us), (600, 100_000));
        assert_eq!(wrong(&attempts, 0, "another", neighbour), Ok(()));
    }
}

/// Wrong passwords for `account` from everywhere, until every neighborhood has to wait.
fn besiege(attempts: &AttemptLimiter, account: &str) {
    for number in 0..500 {
        assert_eq!(wrong(attempts, 0, account, &format!("10.0.{}.1", number / 5)), Ok(()), "{number}");
    }
}

#[test]
fn guesses_at_an_account_from_many_networks_are_slowed_down_after_five_hundred() {
    let attempts = attempts();
    besiege(&attempts, "ada");
    assert_eq!(admit(&attempts, 0, "ada", "192.0.2.1").unwrap_err().at_once, 500);
    assert_eq!(wrong(&attempts, 0, "bob", "192.0.2.1"), Ok(()));
    assert_eq!(wrong(&attempts, 5, "ada", "192.0.2.1"), Ok(()));
    assert_eq!(wrong(&attempts, 5, "ada", "192.0.2.1"), Err(5));
}

#[test]
fn a_member_who_signed_in_from_here_before_is_admitted_while_others_guess() {
    let attempts = attempts();
    assert_eq!(right(&attempts, 0, "ada", "192.0.2.1"), Ok(()));
    besiege(&attempts, "ada");
    assert_eq!(wrong(&attempts, 0, "ada", "198.51.100.1"), Err(5));
    assert_eq!(right(&attempts, 0, "ada", "192.0.2.2"), Ok(()));
    for _ in 0..5 {
        assert_eq!(wrong(&attempts, 0, "ada", "192.0.2.1"), Ok(()));
    }
    assert_eq!(
        right(&attempts, 0, "ada", "192.0.2.1"),
        Err(360),
        "a place one signs in from is no place to guess from"
    );
}

#[test]
fn an_unknown_address_is_never_one_that_an_account_signs_in_from() {
    let attempts = attempts();
    attempts
        .try_admit(0, "ada", AttemptOrigin::Unknown)
        .map(|admitted| admitted.record_outcome(AttemptOutcome::Right))
        .unwrap();
    besiege(&attempts, "ada");
    assert_eq!(held(attempts.try_admit(0, "ada", AttemptOrigin::Unknown).unwrap_err()).at_once, 500);
}

#[test]
fn a_refused_attempt_uses_up_no_other_limit() {
    let attempts = attempts();
    for _ in 0..5 {
        assert_eq!(wrong(&attempts, 0, "ada", "192.0.2.1"), Ok(()));
    }
    for _ in 0..1_000 {
        assert_eq!(wrong(&attempts, 0, "ada", "192.0.2.1"), Err(360));
    }
    for number in 0..55 {
        assert_eq!(wrong(&attempts, 0, &format!("name-{number}"), "192.0.2.1"), Ok(()), "{number}");
    }
    assert_eq!(wrong(&attempts, 0, "another", "192.0.2.1"), Err(1));
}

#[test]
fn the_users_of_an_app_share_no_limit_but_those_of_their_accounts() {
    let attempts = attempts();
    let admit = |account: &str, app| attempts.try_admit(START_S, account, AttemptOrigin::App(app));
    for number in 0..1_000 {
        drop(admit(&format!("name-{number}"), "app").unwrap());
    }
    for _ in 0..5 {
        drop(admit("ada", "app").unwrap());
    }
    assert_eq!(held(admit("ada", "app").unwrap_err()).by, AttemptCounterKind::AccountNearby);
    drop(admit("ada", "other").unwrap());
}

#[test]
fn failures_before_a_success_stay_counted_where_the_policy_keeps_them() {
    let policy = ServerAttemptPolicy { after_success: FailuresAfterSuccess::KeepFailures, ..POLICY };
    let attempts = AttemptLimiter::new(SECRET, policy);
    for _ in 0..4 {
        assert_eq!(wrong(&attempts, 0, "ada", "192.0.2.1"), Ok(()));
    }
    for _ in 0..1_000 {
        assert_eq!(right(&attempts, 0, "ada", "192.0.2.1"), Ok(()));
    }
    assert_eq!(wrong(&attempts, 0, "ada", "192.0.2.1"), Ok(()), "the fifth");
    assert_eq!(right(&attempts, 0, "ada", "192.0.2.1"), Err(360));
}

#[tokio::test]
async fn right_passwords_at_once_are_all_admitted_and_of_wrong_ones_five_are_answered() {
    let attempts = attempts();
    let at_once = 25;
    let attempt = async |outcome: AttemptOutcome| {
        let admitted = attempts.admit_attempt(|| START_S * 1_000_000, "ada", device("192.0.2.1")).await?;
        tokio::task::yield_now().await;
        admitted.record_outcome(outcome);
        Ok::<_, AdmitAttemptError>(())
    };
    for (outcome, answered) in [(AttemptOutcome::Right, at_once), (AttemptOutcome::Wrong, 5)] {
        let mut tries: Vec<_> = (0..at_once).map(|_| Some(Box::pin(attempt(outcome)))).collect();
        let mut done = 0;
        std::future::poll_fn(|context| {
            for attempt in &mut tries {
                if let Some(std::task::Poll::Ready(ended)) =
                    attempt.as_mut().map(|attempt| attempt.as_mut().poll(context))
                {
                    done += usize::from(ended.is_ok());
                    *attempt = None;
                }
            }
            if tries.iter().all(Option::is_none) { std::task::Poll::Ready(()) } else { std::task::Poll::Pending }
        })
        .await;
        assert_eq!(done, answered, "{outcome:?}");
    }
}

#[tokio::test]
async fn an_attempt_beyond_those_that_may_wait_is_refused() {
    let attempts = attempts();
    let _pending: Vec<_> = (0..5).map(|_| admit(&attempts, 0, "ada", "192.0.2.1").unwrap()).collect();
    let _waiting = attempts.waiting.try_acquire_many(u32::try_from(WAITING_ATTEMPTS_MAX).unwrap()).unwrap();
    let refused = attempts.admit_attempt(|| START_S * 1_000_000, "ada", device("192.0.2.1")).await;
    assert_eq!(refused.unwrap_err(), AdmitAttemptError::Crowded);
}

#[test]
fn an_attempt_with_an_earlier_time_gains_nothing() {
    let attempts = attempts();
    for _ in 0..5 {
        assert_eq!(wrong(&attempts, 1_000, "ada", "192.0.2.1"), Ok(()));
    }
    assert_eq!(wrong(&attempts, 0, "ada", "192.0.2.1"), Err(360));
}

#[test]
fn a_clock_set_back_by_a_day_does_not_hold_anyone_for_a_day() {
    let attempts = attempts();
    for _ in 0..5 {
        assert_eq!(wrong(&attempts, 86_400, "ada", "192.0.2.1"), Ok(()));
    }
    assert_eq!(wrong(&attempts, 0, "ada", "192.0.2.1"), Err(360));
    assert_eq!(wrong(&attempts, 360, "ada", "192.0.2.1"), Ok(()));
}

#[test]
fn the_place_of_a_name_differs_between_processes() {
    let places = |attempts: &AttemptLimiter| {
        let marks =
            (0..8).map(|number| attempts.mark(AttemptCounterKind::Account, &[format!("name-{number}").as_bytes()]));
        marks.map(place).collect::<Vec<_>>()
    };
    assert_eq!(places(&attempts()), places(&attempts()));
    assert_ne!(places(&attempts()), places(&AttemptLimiter::new([8; 32], POLICY)));
}

#[test]
fn no_two_lists_of_parts_have_one_mark() {
    let attempts = attempts();
    let mark = |parts: &[&[u8]]| attempts.mark(AttemptCounterKind::AccountNearby, parts);
    assert_ne!(mark(&[b"ab", b"c"]), mark(&[b"a", b"bc"]));
    assert_ne!(mark(&[b"a"]), attempts.mark(AttemptCounterKind::Account, &[b"a"]));
}

/// What happens to one account after so many seconds: an attempt, or the end of the oldest one that goes on.
#[derive(Debug, Clone, Copy)]
enum Event {
    Attempt,
    End(AttemptOutcome),
}

fn events() -> impl Strategy<Value = Vec<(i64, Event)>> {
    let outcome = prop_oneof![Just(AttemptOutcome::Wrong), Just(AttemptOutcome::Unchecked)];
    let event = prop_oneof![Just(Event::Attempt), outcome.prop_map(Event::End)];
    proptest::collection::vec((0..720_i64, event), 0..200)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]
    #[test]
    fn in_no_span_of_time_are_more_wrong_passwords_answered_than_the_limit_allows(events in events()) {
        let attempts = attempts();
        let (mut now_s, mut pending, mut wrong) = (0, std::collections::VecDeque::new(), Vec::new());
        for (later_s, event) in events {
            now_s += later_s;
            match event {
                Event::Attempt => {
                    let admitted = try_admit(&attempts, now_s, "ada", "192.0.2.1");
                    let recent = wrong.iter().filter(|at_s| now_s - **at_s < 1_800).count() + pending.len();
                    prop_assert!(admitted.is_ok() || recent >= 5, "refused with {recent}");
                    pending.extend(admitted);
                }
                Event::End(outcome) => if let Some(admitted) = pending.pop_front() {
                    // The limit knows the time by attempts alone; one elsewhere advances it.
                    right(&attempts, now_s, "clock", "198.51.100.1").unwrap();
                    admitted.record_outcome(outcome);
                    if outcome == AttemptOutcome::Wrong {
                        wrong.push(now_s);
                    }
                },
            }
        }
        for (first, from_s) in wrong.iter().enumerate() {
            for (last, to_s) in wrong.iter().enumerate().skip(first) {
                let (answered, span_s) = (i64::try_from(last - first + 1).unwrap(), to_s - from_s);
                prop_assert!(answered <= 5 + span_s / 360, "{answered} in {span_s} s");
            }
        }
    }
}
