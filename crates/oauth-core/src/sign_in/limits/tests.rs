use proptest::prelude::*;

use super::*;
use crate::env::Random;

struct Bytes(u8);

impl Random for Bytes {
    fn fill(&self, bytes: &mut [u8]) {
        bytes.fill(self.0);
    }
}

fn env(now_s: i64) -> Env<'static> {
    Env { now_us: (1_767_225_600 + now_s) * 1_000_000, random: &Bytes(0) }
}

fn limits() -> AttemptLimits {
    AttemptLimits::new(&env(0))
}

/// Where no attempt is pending.
fn try_admit<'a>(limits: &'a AttemptLimits, now_s: i64, login: &str, origin: Origin<'_>) -> Result<Admitted<'a>, Held> {
    limits.try_admit(&env(now_s), login, origin).map_err(|error| match error {
        AdmitError::Held(held) => held,
        AdmitError::Busy => panic!("attempts are pending"),
    })
}

/// A wrong password; the seconds to wait when it is refused instead.
fn wrong(limits: &AttemptLimits, now_s: i64, login: &str, address: &str) -> Result<(), u64> {
    let origin = Origin::of(Some(address), None);
    try_admit(limits, now_s, login, origin).map(drop).map_err(|held| held.wait_s)
}

/// A right one.
fn right(limits: &AttemptLimits, now_s: i64, login: &str, address: &str) -> Result<(), u64> {
    let admitted = try_admit(limits, now_s, login, Origin::of(Some(address), None));
    admitted.map(|admitted| admitted.settle(Outcome::Right)).map_err(|held| held.wait_s)
}

#[test]
fn an_account_waits_after_ten_wrong_passwords_where_they_came_from_and_nowhere_else() {
    let limits = limits();
    for host in 0..10 {
        assert_eq!(wrong(&limits, 0, "ada", &format!("192.0.2.{host}")), Ok(()));
    }
    assert_eq!(wrong(&limits, 0, "ADA", "192.0.2.99"), Err(30));
    assert_eq!(wrong(&limits, 10, "ada", "192.0.2.99"), Err(20));
    assert_eq!(wrong(&limits, 10, "ada", "198.51.100.1"), Ok(()), "the owner, elsewhere");
    assert_eq!(wrong(&limits, 10, "bob", "192.0.2.99"), Ok(()));
    assert_eq!(wrong(&limits, 30, "ada", "192.0.2.99"), Ok(()));
    assert_eq!(wrong(&limits, 30, "ada", "192.0.2.99"), Err(30));
}

#[test]
fn two_names_of_one_account_are_two_accounts() {
    let limits = limits();
    for _ in 0..10 {
        assert_eq!(wrong(&limits, 0, "ada", "192.0.2.1"), Ok(()));
    }
    assert_eq!(wrong(&limits, 0, "ada@example.org", "192.0.2.1"), Ok(()));
}

#[test]
fn a_right_password_counts_nowhere() {
    let limits = limits();
    for _ in 0..9 {
        assert_eq!(wrong(&limits, 0, "ada", "192.0.2.1"), Ok(()));
    }
    for _ in 0..1_000 {
        assert_eq!(right(&limits, 0, "ada", "192.0.2.1"), Ok(()));
    }
    assert_eq!(wrong(&limits, 0, "ada", "192.0.2.1"), Ok(()), "the tenth");
    assert_eq!(right(&limits, 0, "ada", "192.0.2.1"), Err(30), "a right one after ten wrong ones waits too");
}

#[test]
fn of_attempts_made_at_once_no_more_than_the_budget_go_on() {
    let limits = limits();
    let origin = Origin::of(Some("192.0.2.1"), None);
    let admitted: Vec<_> = (0..20).filter_map(|_| limits.try_admit(&env(0), "ada", origin).ok()).collect();
    assert_eq!(admitted.len(), 10);
    assert_eq!(limits.try_admit(&env(60), "ada", origin).err(), Some(AdmitError::Busy), "nor later on");
    for attempt in admitted {
        attempt.settle(Outcome::Unchecked);
    }
    assert!(try_admit(&limits, 60, "ada", origin).is_ok());
}

#[tokio::test]
async fn many_right_passwords_at_once_are_all_let_in_and_of_wrong_ones_ten_are_answered() {
    let limits = limits();
    let origin = Origin::of(Some("192.0.2.1"), None);
    let (env, at_once) = (env(0), 25);
    let attempt = async |outcome: Outcome| {
        let admitted = limits.admit(&env, "ada", origin).await?;
        tokio::task::yield_now().await;
        admitted.settle(outcome);
        Ok::<_, Held>(())
    };
    for (outcome, answered) in [(Outcome::Right, at_once), (Outcome::Wrong, 10)] {
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

#[test]
fn an_address_waits_after_sixty_wrong_passwords_and_a_network_of_ipv6_is_one_address() {
    let limits = limits();
    for host in 0..60 {
        assert_eq!(wrong(&limits, 0, &format!("name-{host}"), &format!("2001:db8::{host:x}")), Ok(()));
    }
    assert_eq!(wrong(&limits, 0, "another", "2001:db8::ffff:1"), Err(1));
    assert_eq!(wrong(&limits, 0, "another", "2001:db8:0:1::1"), Ok(()));
    assert_eq!(wrong(&limits, 0, "another", "192.0.2.1"), Ok(()));
}

#[test]
fn a_neighbourhood_waits_after_six_hundred() {
    for (block, neighbour) in [("192.0.2.", "192.0.3.1"), ("2001:db8:0:", "2001:db8:1::1")] {
        let limits = limits();
        let address = |number: u32| {
            let rest = if block.contains(':') { "::1" } else { "" };
            format!("{block}{}{rest}", number % 20)
        };
        for number in 0..600 {
            assert_eq!(wrong(&limits, 0, &format!("name-{number}"), &address(number)), Ok(()), "{number}");
        }
        let held = try_admit(&limits, 0, "another", Origin::of(Some(&address(99)), None)).err().unwrap();
        assert_eq!(held, Held { wait_s: 1, reason: "too many attempts from this address" });
        assert_eq!(wrong(&limits, 0, "another", neighbour), Ok(()));
    }
}

/// Wrong passwords for `login` from everywhere, until everywhere is told to wait.
fn besiege(limits: &AttemptLimits, login: &str) {
    for number in 0..500 {
        assert_eq!(wrong(limits, 0, login, &format!("10.0.{}.1", number / 10)), Ok(()), "{number}");
    }
}

#[test]
fn who_guesses_at_an_account_from_many_networks_is_slowed_down_after_five_hundred() {
    let limits = limits();
    besiege(&limits, "ada");
    let held = try_admit(&limits, 0, "ada", Origin::of(Some("192.0.2.1"), None)).err().unwrap();
    assert_eq!(held, Held { wait_s: 5, reason: "too many attempts for this account" });
    assert_eq!(wrong(&limits, 0, "bob", "192.0.2.1"), Ok(()));
    assert_eq!(wrong(&limits, 5, "ada", "192.0.2.1"), Ok(()));
    assert_eq!(wrong(&limits, 5, "ada", "192.0.2.1"), Err(5));
}

#[test]
fn who_signed_in_from_here_before_is_let_in_while_others_guess() {
    let limits = limits();
    assert_eq!(right(&limits, 0, "ada", "192.0.2.1"), Ok(()));
    besiege(&limits, "ada");
    assert_eq!(wrong(&limits, 0, "ada", "198.51.100.1"), Err(5));
    assert_eq!(right(&limits, 0, "Ada", "192.0.2.2"), Ok(()));
    for _ in 0..10 {
        assert_eq!(wrong(&limits, 0, "ada", "192.0.2.1"), Ok(()));
    }
    assert_eq!(right(&limits, 0, "ada", "192.0.2.1"), Err(30), "a place one signs in from is no place to guess from");
}

#[test]
fn nobody_is_at_home_where_addresses_are_unknown() {
    let limits = limits();
    try_admit(&limits, 0, "ada", Origin::Unknown).map(|admitted| admitted.settle(Outcome::Right)).unwrap();
    besiege(&limits, "ada");
    assert!(try_admit(&limits, 0, "ada", Origin::Unknown).is_err());
}

#[test]
fn what_is_refused_costs_nobody_else() {
    let limits = limits();
    for _ in 0..10 {
        assert_eq!(wrong(&limits, 0, "ada", "192.0.2.1"), Ok(()));
    }
    for _ in 0..1_000 {
        assert_eq!(wrong(&limits, 0, "ada", "192.0.2.1"), Err(30));
    }
    for number in 0..50 {
        assert_eq!(wrong(&limits, 0, &format!("name-{number}"), "192.0.2.1"), Ok(()), "{number}");
    }
    assert_eq!(wrong(&limits, 0, "another", "192.0.2.1"), Err(1));
}

#[test]
fn the_people_of_an_app_share_no_limit_but_those_of_their_accounts() {
    let limits = limits();
    let app = Origin::of(Some("192.0.2.1"), Some("app"));
    for number in 0..1_000 {
        assert!(try_admit(&limits, 0, &format!("name-{number}"), app).is_ok());
    }
    for _ in 0..10 {
        assert!(try_admit(&limits, 0, "ada", app).is_ok());
    }
    assert_eq!(try_admit(&limits, 0, "ada", app).err().unwrap().wait_s, 30);
    assert!(try_admit(&limits, 0, "ada", Origin::of(None, Some("other"))).is_ok());
    assert_eq!(wrong(&limits, 0, "ada", "192.0.2.1"), Ok(()));
}

#[test]
fn a_request_that_tells_an_earlier_time_gains_nothing() {
    let limits = limits();
    for _ in 0..10 {
        assert_eq!(wrong(&limits, 100, "ada", "192.0.2.1"), Ok(()));
    }
    assert_eq!(wrong(&limits, 0, "ada", "192.0.2.1"), Err(30));
}

#[test]
fn a_clock_set_back_by_a_day_does_not_hold_anyone_for_a_day() {
    let limits = limits();
    for _ in 0..10 {
        assert_eq!(wrong(&limits, 86_400, "ada", "192.0.2.1"), Ok(()));
    }
    assert_eq!(wrong(&limits, 0, "ada", "192.0.2.1"), Err(30));
    assert_eq!(wrong(&limits, 30, "ada", "192.0.2.1"), Ok(()));
}

#[test]
fn which_place_a_name_has_is_another_in_each_process() {
    let other = AttemptLimits::new(&Env { now_us: 0, random: &Bytes(1) });
    let places = |limits: &AttemptLimits| {
        let marks = (0..8).map(|number| limits.mark(Kind::Account, &[format!("name-{number}").as_bytes()]));
        marks.map(place).collect::<Vec<_>>()
    };
    assert_eq!(places(&limits()), places(&limits()));
    assert_ne!(places(&limits()), places(&other));
}

#[test]
fn no_two_lists_of_parts_have_one_mark() {
    let limits = limits();
    let mark = |parts: &[&[u8]]| limits.mark(Kind::AccountHere, parts);
    assert_ne!(mark(&[b"ab", b"c"]), mark(&[b"a", b"bc"]));
    assert_ne!(mark(&[b"a"]), limits.mark(Kind::Account, &[b"a"]));
}

/// What happens to one place after so many microseconds: an attempt, or the end of the oldest one that goes on.
#[derive(Debug, Clone, Copy)]
enum Event {
    Attempt,
    End { is_wrong: bool },
}

fn events() -> impl Strategy<Value = Vec<(u64, Event)>> {
    let event = prop_oneof![Just(Event::Attempt), any::<bool>().prop_map(|is_wrong| Event::End { is_wrong })];
    proptest::collection::vec((0..20_u64, event), 0..300)
}

proptest! {
    #[test]
    fn in_no_span_of_time_are_more_wrong_passwords_answered_than_its_budget(events in events()) {
        let budget = Budget { at_once: 5, pause_us: 10 };
        let mut counter = Counter::new(budget, 1);
        let (mut now_us, mut pending, mut wrong) = (1_000, 0_u64, Vec::new());
        for (later_us, event) in events {
            now_us += later_us;
            match event {
                Event::Attempt if counter.wait_us((0, now_us), counter.pending_at(0)) == 0 => {
                    counter.hold(0);
                    pending += 1;
                }
                Event::Attempt => {
                    let recent = wrong.iter().filter(|at_us| now_us - **at_us < 5 * budget.pause_us).count() as u64;
                    prop_assert!(recent + pending >= budget.at_once, "refused with {recent} and {pending}");
                }
                Event::End { .. } if pending == 0 => {}
                Event::End { is_wrong } => {
                    counter.release(0);
                    pending -= 1;
                    if is_wrong {
                        counter.take(0, now_us);
                        wrong.push(now_us);
                    }
                }
            }
        }
        for (first, from_us) in wrong.iter().enumerate() {
            for (last, to_us) in wrong.iter().enumerate().skip(first) {
                let (answered, span_us) = ((last - first + 1) as u64, to_us - from_us);
                prop_assert!(answered <= budget.at_once + span_us / budget.pause_us, "{answered} in {span_us}");
            }
        }
    }
}
