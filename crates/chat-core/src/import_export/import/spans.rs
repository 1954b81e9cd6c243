//! When users were in channels, as far as the export says.

use std::collections::HashMap;

use super::export_tables::codes::{BEGAN, ENDED, IMPORTED};
use super::export_tables::{AuditLogRow, RealmTables};
use super::messages::{MessageSurvey, ReceivedRun};
use crate::id::{ChannelId, EventId, UserId};
use crate::model::channel::SubscriptionPeriod;

/// What is known of one user and one channel beside what happened.
#[derive(Debug, Clone, Copy)]
pub(super) struct Known<'a> {
    /// Whether the user is in the channel now.
    pub(super) is_in: bool,
    /// The runs of messages there that the user received, in order.
    pub(super) received: &'a [ReceivedRun],
}

/// All that happened between users and channels, in order.
pub(super) struct Happened<'a> {
    rows: HashMap<(ChannelId, UserId), Vec<&'a AuditLogRow>>,
    /// Whether it begins with the import of the organization by the other server.
    begins_with_import: bool,
}

impl<'a> Happened<'a> {
    pub(super) fn of(tables: &'a RealmTables) -> Self {
        let kind = |row: &AuditLogRow| row.event_type.as_i64().unwrap_or_default();
        let import = tables.audit.iter().filter(|row| kind(row) == IMPORTED).map(|row| row.id).max();
        let mut happened: HashMap<_, Vec<&AuditLogRow>> = HashMap::new();
        for row in tables.audit.iter().filter(|row| import.is_none_or(|import| row.id > import)) {
            let (Some(channel), Some(user)) = (row.modified_stream, row.modified_user) else { continue };
            if BEGAN.contains(&kind(row)) || kind(row) == ENDED {
                happened.entry((ChannelId(channel), UserId(user))).or_default().push(row);
            }
        }
        for rows in happened.values_mut() {
            rows.sort_by_key(|row| (row.event_last_message_id.unwrap_or_default(), row.id));
        }
        Self { rows: happened, begins_with_import: import.is_some() }
    }

    /// When the user was in the channel. Where that was not noted it follows from what they received: who sees only
    /// what came after them must not see more here.
    pub(super) fn spans(&self, place: (ChannelId, UserId), known: Known<'_>, head: EventId) -> Vec<SubscriptionPeriod> {
        let rows = self.rows.get(&place).map_or(&[][..], Vec::as_slice);
        let at = |row: &AuditLogRow| EventId(row.event_last_message_id.unwrap_or_default().clamp(0, head.0));
        let has_ended = |row: &AuditLogRow| row.event_type.as_i64() == Some(ENDED);
        let mut spans = Vec::new();
        if self.begins_with_import {
            spans = received(known, rows.first().map_or(head, |row| at(row)));
            open_last(&mut spans, rows.first().is_some_and(|row| has_ended(row)));
        }
        for row in rows {
            let (at, ended) = (at(row), has_ended(row));
            match spans.last_mut() {
                Some(last) if last.until.is_none() && ended => last.until = Some(at),
                Some(last) if last.until == Some(at) && !ended => last.until = None,
                Some(last) if last.until.is_none() => {}
                _ if !ended => spans.push(SubscriptionPeriod { after: at, until: None }),
                _ => {}
            }
        }
        if spans.is_empty() {
            spans = received(known, head);
            open_last(&mut spans, known.is_in);
        }
        open_last(&mut spans, rows.is_empty() && known.is_in);
        match spans.last_mut() {
            Some(last) if last.until.is_none() => last.until = (!known.is_in).then_some(head),
            _ if known.is_in => spans.push(SubscriptionPeriod { after: head, until: None }),
            _ => {}
        }
        spans.retain(|span| span.until.is_none_or(|until| until > span.after));
        spans
    }
}

/// Returns a period for each run of received messages that began before that place.
fn received(known: Known<'_>, before: EventId) -> Vec<SubscriptionPeriod> {
    let runs = known.received.iter().filter(|run| run.first <= before.0);
    let period = |run: &ReceivedRun| SubscriptionPeriod {
        after: EventId((run.first - 1).max(0)),
        until: Some(EventId(run.last.min(before.0))),
    };
    runs.map(period).collect()
}

/// Has the last period go on where the user stayed in the channel.
fn open_last(spans: &mut [SubscriptionPeriod], stayed: bool) {
    if let Some(last) = spans.last_mut().filter(|_| stayed) {
        last.until = None;
    }
}

/// Returns who received a message that was moved here follows from the copies, not from who was here when it was sent:
/// each such message is put into the spans, or taken out of them.
pub(super) fn with_moved(
    mut spans: Vec<SubscriptionPeriod>,
    moved: impl Iterator<Item = (i64, bool)>,
) -> Vec<SubscriptionPeriod> {
    for (message, has_copy) in moved {
        let (before, at) = (EventId(message - 1), EventId(message));
        let holder = spans.iter().position(|span| span.contains(at));
        match holder {
            None if has_copy => {
                let place = spans.iter().position(|span| span.after >= at).unwrap_or(spans.len());
                spans.insert(place, SubscriptionPeriod { after: before, until: Some(at) });
            }
            Some(place) if !has_copy => {
                let Some(span) = spans.get(place).copied() else { continue };
                let rest = [
                    SubscriptionPeriod { until: Some(before), ..span },
                    SubscriptionPeriod { after: at, until: span.until },
                ];
                spans.splice(place..=place, rest.into_iter().filter(|span| span.until != Some(span.after)));
            }
            _ => {}
        }
    }
    spans
}

/// Returns what each user received of each channel, by what the survey found.
pub(super) fn known(survey: &MessageSurvey, (user, recipient): (i64, i64), is_in: bool) -> Known<'_> {
    Known { is_in, received: survey.received(user, recipient) }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    const HEAD: EventId = EventId(100);
    const PLACE: (ChannelId, UserId) = (ChannelId(4), UserId(7));

    fn spans(happened: &[(i64, i64)], is_in: bool, received: &[(i64, i64)]) -> Vec<(i64, Option<i64>)> {
        let row = |(id, (kind, at)): (usize, &(i64, i64))| json!({"id": id, "event_type": kind, "modified_user": 7, "modified_stream": 4, "event_last_message_id": at});
        let rows: Vec<_> = happened.iter().enumerate().map(row).collect();
        let tables: RealmTables = serde_json::from_value(json!({"zerver_realmauditlog": rows})).unwrap();
        let received: Vec<_> = received.iter().map(|(first, last)| ReceivedRun::of(*first, *last)).collect();
        let spans = Happened::of(&tables).spans(PLACE, Known { is_in, received: &received }, HEAD);
        spans.into_iter().map(|span| (span.after.0, span.until.map(|until| until.0))).collect()
    }

    #[test]
    fn what_was_noted_says_when_somebody_was_there() {
        assert_eq!(spans(&[(301, 5)], true, &[(1, 9)]), [(5, None)]);
        assert_eq!(spans(&[(301, 5), (303, 8), (302, 20)], true, &[]), [(5, Some(8)), (20, None)]);
        assert_eq!(spans(&[(301, 5), (303, 8)], false, &[]), [(5, Some(8))]);
        assert_eq!(spans(&[(301, 5), (303, 8), (302, 8)], true, &[]), [(5, None)]);
    }

    #[test]
    fn what_was_not_noted_follows_from_what_was_received_and_gives_no_more() {
        assert_eq!(spans(&[], true, &[(12, 30)]), [(11, None)]);
        assert_eq!(spans(&[], false, &[(12, 30)]), [(11, Some(30))]);
        assert_eq!(spans(&[], true, &[]), [(100, None)]);
        assert_eq!(spans(&[], false, &[]), []);
        assert_eq!(spans(&[], true, &[(12, 30), (50, 60)]), [(11, Some(30)), (49, None)]);
    }

    #[test]
    fn what_was_noted_before_another_server_imported_the_organization_is_not_believed() {
        let noted = |after: &[(i64, i64)]| [&[(301, 70), (303, 80), (301, 90), (IMPORTED, 0)], after].concat();
        let received = [(2, 6), (9, 20)];
        assert_eq!(spans(&noted(&[]), true, &received), [(1, Some(6)), (8, None)]);
        assert_eq!(spans(&noted(&[]), false, &received), [(1, Some(6)), (8, Some(20))]);
        assert_eq!(spans(&noted(&[]), true, &[]), [(100, None)]);
        assert_eq!(spans(&noted(&[(303, 25), (302, 40)]), true, &received), [(1, Some(6)), (8, Some(25)), (40, None)]);
        assert_eq!(spans(&noted(&[(302, 8)]), true, &received), [(1, Some(6)), (8, None)]);
    }

    #[test]
    fn copies_say_who_received_a_message_that_was_moved() {
        let span =
            |after: i64, until: Option<i64>| SubscriptionPeriod { after: EventId(after), until: until.map(EventId) };
        let with =
            |spans: &[SubscriptionPeriod], moved: &[(i64, bool)]| with_moved(spans.to_vec(), moved.iter().copied());
        let inside = [span(10, None)];
        assert_eq!(with(&inside, &[(12, true), (5, false)]), inside);
        assert_eq!(with(&inside, &[(5, true)]), [span(4, Some(5)), span(10, None)]);
        assert_eq!(with(&inside, &[(12, false)]), [span(10, Some(11)), span(12, None)]);
        assert_eq!(with(&inside, &[(11, false)]), [span(11, None)]);
        assert_eq!(with(&[span(10, Some(12))], &[(12, false), (20, true)]), [span(10, Some(11)), span(19, Some(20))]);
        assert_eq!(with(&[], &[(7, true)]), [span(6, Some(7))]);
    }

    #[test]
    fn who_is_there_now_is_there_whatever_was_noted() {
        assert_eq!(spans(&[(301, 5), (303, 8)], true, &[]), [(5, Some(8)), (100, None)]);
        assert_eq!(spans(&[(301, 5)], false, &[]), [(5, Some(100))]);
        assert_eq!(spans(&[(304, 5), (301, 500)], true, &[]), [(100, None)]);
    }
}
