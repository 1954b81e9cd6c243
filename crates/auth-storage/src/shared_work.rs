//! The tasks by which concurrent callers of a database share statements and commits.

use std::sync::Arc;
use std::task::{Context, Poll};

use oauth_core::ports::AuthorizationCodeRecord;
use sql_engines::PerEngine;
use sqlx::PgPool;
use task_set::UnexpectedTaskEnd;

use crate::batcher::Batcher;
use crate::caller_status::CallerStatuses;
use crate::group_commit::GroupCommit;
use crate::insert_batch::Inserts;
use crate::members::Visits;
use crate::readers::Readers;
use crate::resources::{Reading, Reads};
use crate::tokens::IssuedOpaque;

/// What concurrent callers share statements and commits for.
#[derive(Debug)]
pub(crate) struct SharedWork {
    pub(crate) reads: Reading,
    pub(crate) statuses: Batcher<CallerStatuses>,
    pub(crate) visits: Batcher<Visits>,
    pub(crate) codes: Batcher<Inserts<AuthorizationCodeRecord>>,
    pub(crate) opaque_tokens: Batcher<Inserts<IssuedOpaque>>,
}

impl SharedWork {
    /// Starts the tasks on the current runtime.
    pub(crate) fn start(on: PerEngine<PgPool, (Readers, Arc<GroupCommit>)>) -> Self {
        match on {
            PerEngine::Postgres(all) => Self {
                reads: Reading::start(Reads::on_postgres(all.clone())),
                statuses: Batcher::start(CallerStatuses::on_postgres(all.clone())),
                visits: Batcher::start(Visits::on_postgres(all.clone())),
                codes: Batcher::start(Inserts::on_postgres(all.clone())),
                opaque_tokens: Batcher::start(Inserts::on_postgres(all)),
            },
            PerEngine::Sqlite((readers, shared)) => Self {
                reads: Reading::start(Reads::on_sqlite(readers.clone())),
                statuses: Batcher::start(CallerStatuses::on_sqlite(readers.clone())),
                visits: Batcher::start(Visits::on_sqlite(readers)),
                codes: Batcher::start(Inserts::on_sqlite(Arc::clone(&shared))),
                opaque_tokens: Batcher::start(Inserts::on_sqlite(shared)),
            },
        }
    }

    /// Ready when a task has ended although nothing stopped it.
    pub(crate) fn poll_ended(&self, context: &mut Context<'_>) -> Poll<UnexpectedTaskEnd> {
        let Self { reads, statuses, visits, codes, opaque_tokens } = self;
        let ended = [
            reads.crowd().poll_ended(context),
            statuses.poll_ended(context),
            visits.poll_ended(context),
            codes.poll_ended(context),
            opaque_tokens.poll_ended(context),
        ];
        ended.into_iter().find(Poll::is_ready).unwrap_or(Poll::Pending)
    }

    /// Ends the tasks; what waits fails.
    pub(crate) async fn end(&self) {
        let Self { reads, statuses, visits, codes, opaque_tokens } = self;
        reads.crowd().end().await;
        statuses.end().await;
        visits.end().await;
        codes.end().await;
        opaque_tokens.end().await;
    }
}
