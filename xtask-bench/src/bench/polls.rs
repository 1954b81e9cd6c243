//! Many long polls and an open-loop sender: what a crowd of listening clients does to a server.
//!
//! The sender sends by the clock, whether or not what it sent before has arrived; every listener asks again as soon
//! as it is answered. One thread looks at all of them, as [`super::load`] does and for the same reason.

use std::{
    net::SocketAddr,
    thread,
    time::{Duration, Instant},
};

use anyhow::{Context, Result, ensure};
use serde_json::Value;

use super::load::{ANSWER_MAX, Connection, PAUSE, Wire};

/// How the server under test is spoken to.
pub(super) struct Speech<'a> {
    pub(super) server: SocketAddr,
    /// The poll of a listener that has heard up to an event.
    pub(super) poll: &'a dyn Fn(usize, i64) -> Wire,
    /// The sending of a text.
    pub(super) send: &'a dyn Fn(&str) -> Wire,
}

/// What the sender does.
#[derive(Debug, Clone, Copy)]
pub(super) struct Pace {
    pub(super) messages: usize,
    pub(super) interval: Duration,
}

/// What became of it.
#[derive(Debug)]
pub(super) struct Heard {
    /// How many events arrived, all listeners together.
    pub(super) deliveries: usize,
    /// From the moment each message was due to each of its arrivals, ascending.
    delays: Vec<Duration>,
}

impl Heard {
    /// The delay that this share of the deliveries did not exceed, in milliseconds.
    pub(super) fn percentile_ms(&self, percent: usize) -> f64 {
        percentile_ms(&self.delays, percent)
    }
}

/// The value of ascending ones that this share did not exceed, in milliseconds.
pub(super) fn percentile_ms(ascending: &[Duration], percent: usize) -> f64 {
    let place = (ascending.len() * percent / 100).min(ascending.len().saturating_sub(1));
    ascending.get(place).map_or(f64::NAN, |delay| delay.as_secs_f64() * 1000.0)
}

/// A client that listens.
struct Listener {
    connection: Connection,
    heard_up_to: i64,
    /// How many of the messages arrived here.
    messages: usize,
}

/// Listeners that wait, ready for [`Crowd::listen`].
pub(super) struct Crowd<'a> {
    speech: &'a Speech<'a>,
    listeners: Vec<Listener>,
    sender: Connection,
}

impl<'a> Crowd<'a> {
    /// Opens the connections and lets every listener poll from the event that it has heard up to.
    ///
    /// # Errors
    /// When the server cannot be reached.
    pub(super) fn gather(speech: &'a Speech<'a>, heard_up_to: &[i64]) -> Result<Self> {
        let mut listeners = Vec::new();
        for (place, &heard_up_to) in heard_up_to.iter().enumerate() {
            let mut connection = Connection::open(speech.server)?;
            connection.send(&(speech.poll)(place, heard_up_to))?;
            listeners.push(Listener { connection, heard_up_to, messages: 0 });
        }
        Ok(Self { speech, listeners, sender: Connection::open(speech.server)? })
    }

    /// Sends at the pace and waits until every listener has heard everything.
    ///
    /// # Errors
    /// When an answer is not the right one, a message arrives twice or out of order, or nothing arrives for 30 s.
    pub(super) fn listen(&mut self, pace: Pace) -> Result<Heard> {
        let started = Instant::now();
        let due = |number: usize| started + pace.interval * u32::try_from(number).unwrap_or(u32::MAX);
        let (mut sent, mut delays, mut progressed) = (0, Vec::new(), Instant::now());
        for listener in &mut self.listeners {
            listener.messages = 0;
        }
        while delays.len() < pace.messages * self.listeners.len() {
            let mut progress = self.sender.waits() && self.sender.answer()?.is_some();
            if sent < pace.messages && !self.sender.waits() && Instant::now() >= due(sent) {
                self.sender.send(&(self.speech.send)(&format!("m{sent}")))?;
                sent += 1;
            }
            for (place, listener) in self.listeners.iter_mut().enumerate() {
                if let Some(numbers) = listener.hear(place, self.speech)? {
                    let now = Instant::now();
                    delays.extend(numbers.into_iter().map(|number| now.duration_since(due(number))));
                    progress = true;
                    // A database that shares the core with the crowd comes first.
                    thread::yield_now();
                }
            }
            if progress {
                progressed = Instant::now();
            } else {
                ensure!(progressed.elapsed() < ANSWER_MAX, "nothing was heard for {} s", ANSWER_MAX.as_secs());
                thread::sleep(PAUSE);
            }
        }
        delays.sort_unstable();
        Ok(Heard { deliveries: delays.len(), delays })
    }
}

impl Listener {
    /// The numbers of the messages that arrived, when an answer has; asks again then.
    fn hear(&mut self, place: usize, speech: &Speech<'_>) -> Result<Option<Vec<usize>>> {
        let Some(body) = self.connection.answer()? else { return Ok(None) };
        let answer: Value = serde_json::from_slice(&body).context("an answer to a poll is not JSON")?;
        let events = answer.get("events").and_then(Value::as_array).context("an answer to a poll has no events")?;
        let mut numbers = Vec::new();
        for event in events {
            self.heard_up_to = event.get("id").and_then(Value::as_i64).context("an event has no id")?;
            // Who types has no text yet, and is told with the topic.
            let content = event.pointer("/message/content").or_else(|| event.get("topic"));
            if let Some(content) = content.and_then(Value::as_str) {
                let number = number(content).with_context(|| format!("a message nobody sent: {content}"))?;
                ensure!(number == self.messages, "message {number} arrived where {} was due", self.messages);
                self.messages += 1;
                numbers.push(number);
            }
        }
        self.connection.send(&(speech.poll)(place, self.heard_up_to))?;
        Ok(Some(numbers))
    }
}

/// The number in `m7`, as it was sent, rendered, or in a form.
fn number(content: &str) -> Option<usize> {
    let digits: String = content.chars().filter(char::is_ascii_digit).collect();
    digits.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_number_is_found_in_every_form_of_the_text() {
        for content in ["m12", "<p>m12</p>", "content=m12"] {
            assert_eq!(number(content), Some(12));
        }
        assert_eq!(number("none"), None);
    }

    #[test]
    fn a_percentile_is_one_of_the_values() {
        let delays: Vec<Duration> = (1..=100).map(Duration::from_millis).collect();
        assert!((percentile_ms(&delays, 50) - 51.0).abs() < 1e-9);
        assert!((percentile_ms(&delays, 99) - 100.0).abs() < 1e-9);
        assert!(percentile_ms(&[], 50).is_nan());
    }
}
