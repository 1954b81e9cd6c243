//! Channels become recently active by their messages, and cease to be without them.

use crate::StoreError;
use crate::channels;
use crate::event_log::decision_queue::{RealmDecisionQueue, StaleDecisionError};
use crate::event_log::realm_commit::RealmCommit;
use crate::event_log::store::RealmStore;
use crate::id::ChannelId;
use crate::limits::{RECENT_ACTIVITY_DAYS, SECONDS_PER_DAY};
use crate::messages::store::MessageStore;
use crate::messages::workflow_context::{MessageWorkflowContext, MessageWorkflowError};
use crate::model::realm_snapshot::RealmSnapshot;

/// The reason why channels stay recently active.
#[derive(Debug, thiserror::Error)]
pub enum ChannelActivityError {
    /// The database failed.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The realm changed each time.
    #[error(transparent)]
    Stale(#[from] StaleDecisionError),
}

/// Marks the channel as recently active after a message was sent or moved into it. The message is there whether or not
/// this succeeds, so a failure is logged here.
pub(crate) async fn after_message(ports: &MessageWorkflowContext<'_>, channel_id: ChannelId) {
    // Almost all channels that get a message are, and that costs no turn among the decisions.
    if ports.snapshot().channel(channel_id).is_none_or(|channel| channel.is_recently_active) {
        return;
    }
    let mark = |realm: &RealmSnapshot, commit: &mut RealmCommit| {
        channels::mark_recently_active(realm, channel_id, commit);
        Ok::<_, MessageWorkflowError>(())
    };
    if let Err(error) = ports.decisions.decide_and_commit(ports.realm, ports.now_s, mark).await {
        tracing::warn!(%error, "channel not marked as recently active after a message");
    }
}

/// Marks the channels without a message in the last [`RECENT_ACTIVITY_DAYS`] as not recently active; new ones have that
/// time after they are created. Returns how many. Any node may do it at any time.
///
/// **Cost**: one step into the index of messages for each channel that is old enough.
///
/// # Errors
/// When the database failed, or the realm changed each time.
pub async fn mark_inactive_channels<S>(
    store: &S,
    decisions: &RealmDecisionQueue,
    now_s: i64,
) -> Result<usize, ChannelActivityError>
where
    S: RealmStore + MessageStore,
{
    let since_s = now_s.saturating_sub(RECENT_ACTIVITY_DAYS * SECONDS_PER_DAY);
    let realm = store.snapshot();
    let old = realm.channels().filter(|channel| channel.is_recently_active && channel.created_s < since_s);
    let old: Vec<ChannelId> = old.map(|channel| channel.id).collect();
    if old.is_empty() {
        return Ok(0);
    }
    let inactive = store.channels_without_messages_since(&old, since_s).await?;
    let mark = |realm: &RealmSnapshot, commit: &mut RealmCommit| {
        channels::mark_inactive(realm, &inactive, commit);
        Ok::<_, ChannelActivityError>(())
    };
    decisions.decide_and_commit(store, now_s, mark).await?;
    Ok(inactive.len())
}
