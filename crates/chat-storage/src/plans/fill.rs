//! A large database, filled by SQL: rows that no rule made, in the numbers that statements meet.

/// What both engines are filled with. A recursive list of numbers is in both.
macro_rules! numbered {
    ($count:literal, $insert:literal) => {
        concat!(
            "WITH RECURSIVE step (i) AS (SELECT CAST(1 AS BIGINT) UNION ALL SELECT i + 1 FROM step WHERE i < ",
            $count,
            ") ",
            $insert
        )
    };
}

/// A channel is even, a set of users odd. Every message is in one of 40 channels but each tenth, which is to one of
/// 1,000 sets of users.
pub(super) const FILL: &[&str] = &[
    numbered!("1000", "INSERT INTO account (id, email_key, document) SELECT i, 'user' || i, '{}' FROM step"),
    numbered!("1000", "INSERT INTO credential (user_id, key_hash) SELECT i, 'key' || i FROM step"),
    numbered!("500", "INSERT INTO channel (id, name_key, document) SELECT i, 'channel ' || i, '{}' FROM step"),
    numbered!(
        "20000",
        "INSERT INTO subscription (channel_id, user_id, document) SELECT i / 1000 + 1, i % 1000 + 1, '{}' FROM step"
    ),
    numbered!(
        "20000",
        "INSERT INTO subscription_span (channel_id, user_id, after_event)
        SELECT i / 1000 + 1, i % 1000 + 1, 0 FROM step"
    ),
    numbered!("300", "INSERT INTO user_group (id, name, document) SELECT i, 'group ' || i, '{}' FROM step"),
    numbered!("3000", "INSERT INTO item (kind, id, document) SELECT 'emoji', i, '{}' FROM step"),
    numbered!(
        "20000",
        "INSERT INTO user_item (user_id, kind, item_key, document) SELECT i % 1000 + 1, 'topic', 't' || i, '{}' FROM step"
    ),
    numbered!("1000", "INSERT INTO direct (recipient_id, users) SELECT 2 * i + 1, i || ',' || (i + 1) FROM step"),
    numbered!("1000", "INSERT INTO direct_user (user_id, recipient_id) SELECT i, 2 * i + 1 FROM step"),
    numbered!("999", "INSERT INTO direct_user (user_id, recipient_id) SELECT i + 1, 2 * i + 1 FROM step"),
    numbered!(
        "40000",
        "INSERT INTO message (id, sender_id, recipient_id, topic, topic_key, content, html, sent_s, client, marks,
            last_edit_s, revision)
        SELECT i, i % 997 + 1, CASE WHEN i % 10 = 0 THEN 2 * (i / 10 % 1000) + 3 ELSE 2 * (i % 41 + 1) END,
            'Topic ' || i / 500, 'topic ' || i / 500, 'text', '<p>text</p>', i, 'test',
            CASE WHEN i % 20 = 0 THEN 2 WHEN i % 333 = 0 THEN 8 WHEN i % 999 = 0 THEN 16 ELSE 0 END, NULL, i FROM step"
    ),
    numbered!("40000", "INSERT INTO log (id, at_s, event) SELECT i, i, '{}' FROM step"),
    numbered!(
        "20000",
        "INSERT INTO message_flag (user_id, flag, message_id)
        SELECT i % 1000 + 1, CASE WHEN i % 3 = 0 THEN 5 WHEN i % 3 = 1 THEN 3 ELSE 6 END, i * 2 FROM step"
    ),
    numbered!(
        "20000",
        "INSERT INTO flag_set (user_id, flag, stretch, messages)
        SELECT i % 1000 + 1, 1, i / 1000, '[' || i / 1000 * 1024 || ']' FROM step WHERE i < 20000"
    ),
    numbered!(
        "20000",
        "INSERT INTO read_set (user_id, recipient_id, all_until, messages)
        SELECT i % 1000 + 1, 2 * (i / 1000 + 1), 0, CAST('' AS @blob) FROM step WHERE i < 20000"
    ),
    numbered!(
        "10000",
        "INSERT INTO reaction (message_id, user_id, kind, code, name, event_id)
        SELECT i * 4, i % 1000 + 1, 'unicode_emoji', '1f44d', 'thumbs_up', i FROM step"
    ),
    numbered!(
        "10000",
        "INSERT INTO message_edit (message_id, event_id, at_s, recipient_id, to_recipient_id, topic, to_topic)
        SELECT i * 4, i, i, 2, 2, 'a', 'b' FROM step"
    ),
    numbered!(
        "10000",
        "INSERT INTO submessage (id, message_id, sender_id, content) SELECT i, i * 4, i % 1000 + 1, '{}' FROM step"
    ),
    numbered!(
        "10000",
        "INSERT INTO queue (id, user_id, filter, acknowledged, seen_s, idle_limit_s)
        SELECT 'queue' || i, i % 1000 + 1, '{}', 0, i, 600 FROM step"
    ),
    numbered!(
        "1000",
        "INSERT INTO presence (user_id, active_s, connected_s, batch) SELECT i, i, i, i FROM step"
    ),
    numbered!(
        "5000",
        "INSERT INTO attachment (id, path_id, owner_id, name, media_type, size_bytes, created_s)
        SELECT i, 'path' || i, i % 1000 + 1, 'name', 'text/plain', 1, i FROM step"
    ),
    numbered!("5000", "INSERT INTO attachment_use (attachment_id, message_id) SELECT i, i * 8 FROM step"),
    numbered!("5000", "INSERT INTO file_ticket (hash, path_id, until_s) SELECT 'h' || i, 'path' || i, i FROM step"),
    numbered!(
        "5000",
        "INSERT INTO scheduled_message (id, user_id, users, topic, content, html, client, read_by_sender, due_s, revision)
        SELECT i, i % 1000 + 1, '', '', '', '', '', 1, i, i FROM step"
    ),
    numbered!(
        "5000",
        "INSERT INTO reminder (id, user_id, message_id, note, content, html, due_s)
        SELECT i, i % 1000 + 1, i, '', '', '', i FROM step"
    ),
    numbered!("5000", "INSERT INTO draft (id, user_id, document) SELECT i, i % 1000 + 1, '{}' FROM step"),
    numbered!(
        "5000",
        "INSERT INTO outgoing_mail (event_id, place, due_s, tries, encrypted_document) SELECT i, 0, i, 0, '{}' FROM step"
    ),
    numbered!("5000", "INSERT INTO invitation_link (number, encrypted_secret) SELECT i, 'secret' FROM step"),
    numbered!(
        "5000",
        "INSERT INTO push_device (user_id, kind, token, registered_s) SELECT i % 1000 + 1, 1, 't' || i, i FROM step"
    ),
    numbered!(
        "10000",
        "INSERT INTO push_sent (user_id, message_id, at_s) SELECT i % 1000 + 1, i, i FROM step"
    ),
    numbered!("1000", "INSERT INTO bot_storage_size (user_id, chars) SELECT i, 1 FROM step"),
    numbered!(
        "10000",
        "INSERT INTO bot_storage (user_id, item_key, value) SELECT i % 1000 + 1, 'k' || i, 'v' FROM step"
    ),
    // `all` is in each, `half` in every second one, `old` in the oldest tenth, `new` in the newest; `rare` in 40.
    numbered!(
        "40000",
        "INSERT INTO message_words (rowid, words) SELECT id, {words:(text || '@properties')} FROM (
            SELECT m.id AS id, 'all' || CASE WHEN i % 2 = 0 THEN ' half' ELSE '' END
                || CASE WHEN i < 4000 THEN ' old' ELSE '' END || CASE WHEN i > 36000 THEN ' new' ELSE '' END
                || CASE WHEN i % 1000 = 7 THEN ' rare' ELSE '' END
                || CASE WHEN m.marks = 8 THEN ' \u{ac}8' ELSE '' END AS text,
                m.recipient_id AS recipient_id, m.sender_id AS sender_id, m.topic_key AS topic_key
            FROM step JOIN message AS m ON m.id = i
        ) AS written"
    ),
];
