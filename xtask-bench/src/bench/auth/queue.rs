//! What a crowd at the sign-in page does to the token requests of Clients.
//!
//! A token by secret is asked for by the clock, first without other requests, then while 1,000 people have sent their
//! password and wait for it to be checked; the moment in which all of them arrive at once is left out. The delay counts
//! from the moment a request was due to its answer, and the client goes before all other processes of the machine where
//! that is allowed, and sleeps until there is an answer: real callers have cores of their own, and one that looked
//! every 100 µs took 7 % of the one core that a crowd leaves and stopped what was served there. Each figure is the
//! middle of eleven slices, because one moment in which others have the machine decides the slowest hundredth of a
//! slice, and slices alone and beside a crowd are taken in turn, because the machine is not as fast in one half minute
//! as in the next. A crowd goes away after its slice, and the next one is of other people. They have names the server
//! does not know, which costs it the same hash as names it knows, and come from forty addresses of this machine,
//! because attempts are limited by address and by account. Here alone nothing is bound to a core: a password is checked
//! beside requests, not in their stead.

use std::{
    net::{IpAddr, Ipv4Addr},
    time::{Duration, Instant},
};

use anyhow::{Context, Result, ensure};

use super::super::{
    Bench, Row, Target, Unit,
    cores::First,
    load::{ANSWER_MAX, Connection, Wire},
    polls::percentile_ms,
    slices::{self, Medians},
};
use super::{deployment::Deployment, members::SignIn, partner::Kind};

/// Addresses that people come from.
const HOSTS: u8 = 40;
/// People at one address: less than half of the 60 attempts that it may make at once, because two addresses may share
/// the place where those are counted.
const EACH: usize = 25;
/// Token requests before each measurement, while connections are made and the crowd is taken in.
const WARM_UP: u32 = 500;
/// Token requests of one slice, and between two of them: the slowest hundredth are twelve, because of four one more
/// or less is another figure. With the warm-up three and a half seconds, in which a quarter of the crowd is served.
const ASKED: u32 = 1_200;
const INTERVAL: Duration = Duration::from_millis(2);
/// Connections that Clients ask over in turn.
const CONNECTIONS: usize = 32;
/// What the page answers then.
const WRONG_PASSWORD: &str = "403";
/// How many times as late the slowest hundredth may be answered.
const TIMES_MAX: f64 = 1.5;

/// The delay that 99 of 100 token requests do not exceed: alone as the limit, with the crowd as ours.
///
/// # Errors
/// When an answer is not the right one, or nobody waits any more when the last token is issued.
pub(super) fn row(bench: &Bench<'_>, deployment: &Deployment<'_>) -> Result<Row> {
    bench.give_both_cores(deployment.process())?;
    bench.take_both_cores()?;
    let request = deployment.partner(Kind::Secret).request(deployment.address())?;
    let _first = First::take()?;
    let p99_ms = || -> Result<f64> {
        let opened = (0..CONNECTIONS).map(|_| Connection::open(deployment.address()));
        let mut connections = opened.collect::<Result<Vec<_>>>()?;
        delays(&mut connections, &request, WARM_UP)?;
        Ok(percentile_ms(&delays(&mut connections, &request, ASKED)?, 99))
    };
    let beside_a_crowd_ms = |slice| -> Result<f64> {
        let mut crowd = gather(deployment, u8::try_from(slice)?)?;
        let crowded_ms = p99_ms()?;
        are_waiting(&mut crowd)?;
        Ok(crowded_ms)
    };
    let Medians { ours, limit } = slices::alternate(beside_a_crowd_ms, p99_ms)?;
    Ok(Row {
        engine: deployment.engine(),
        unit: Unit::Millis,
        limit: Some(limit),
        ours: Some(ours),
        target: Some(Target::alone(TIMES_MAX * limit)),
        ..Row::cpu("p99 of secret → ES256 token, 1,000 sign-ins queued; limit: none queued")
    })
}

/// Sends 1,000 passwords of the people of this slice, each over a connection of its own.
fn gather(deployment: &Deployment<'_>, slice: u8) -> Result<Vec<Connection>> {
    let form = SignIn::begin(deployment)?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let mut crowd = Vec::new();
    for host in 0..HOSTS {
        // Each of a neighbourhood of its own, because those have limits too.
        let source = IpAddr::V4(Ipv4Addr::new(127, 1 + slice, host, 1));
        for person in 0..EACH {
            let mut connection = runtime.block_on(Connection::open_from(source, deployment.address()))?;
            connection.send(&form.attempt(&format!("person-{slice}-{host}-{person}"), "a password of nobody"))?;
            crowd.push(connection);
        }
    }
    Ok(crowd)
}

/// Whether passwords were checked all the time: some people were told that theirs is wrong, others still wait.
fn are_waiting(crowd: &mut [Connection]) -> Result<()> {
    let mut answered = 0;
    for connection in &mut *crowd {
        if let Some(reply) = connection.reply()? {
            ensure!(reply.status == WRONG_PASSWORD, "a sign-in answered {}", reply.status);
            answered += 1;
        }
    }
    ensure!(answered > 0, "nobody's password was checked");
    ensure!(answered < crowd.len(), "nobody waits any more");
    Ok(())
}

/// From the moment each request was due to its answer, ascending.
fn delays(connections: &mut [Connection], request: &Wire, count: u32) -> Result<Vec<Duration>> {
    let started = Instant::now();
    let mut due = vec![started; connections.len()];
    let (mut sent, mut delays) = (0, Vec::new());
    while delays.len() < usize::try_from(count)? {
        let mut progress = false;
        for (connection, due) in connections.iter_mut().zip(&mut due) {
            let next = started + INTERVAL * sent;
            if connection.waits() {
                if connection.answer()?.is_some() {
                    delays.push(due.elapsed());
                    progress = true;
                }
            } else if sent < count && next <= Instant::now() {
                connection.send(request).context("a token request")?;
                (*due, sent) = (next, sent + 1);
            }
        }
        if !progress {
            ensure!(started.elapsed() < INTERVAL * count + ANSWER_MAX, "the server does not keep up");
            Connection::wait(connections, (sent < count).then(|| started + INTERVAL * sent))?;
        }
    }
    delays.sort_unstable();
    Ok(delays)
}
