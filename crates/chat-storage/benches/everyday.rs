//! A database as a busy organization has it, and what nobody goes below who searches it: the same by a bare
//! statement on one connection.
//!
//! `cargo xtask bench everyday` starts it on the database of a `chat-server` and asks line by line: a kind of work
//! and a number. `seed` fills the database with so many messages while the server is down, and `people` adds so many
//! accounts, numbered from 2,000,000,001 on. `search` looks for
//! words so many times; its line of answer is the CPU of one search in microseconds, that of the database's own
//! process included, then its time on the clock. It ends when nobody asks any more.

use std::error::Error;
use std::hint::black_box;
use std::io::{BufRead as _, stdin};
use std::time::{Duration, Instant};
use std::{fs, io};

use chat_core::markdown::{self, EmoticonHandling, EmptyNameDirectory, ImagePreviews, MarkdownContext};
use chat_core::text_processing::search_words;
use roaring::RoaringTreemap;
use sqlx::sqlite::{SqliteConnectOptions, SqliteJournalMode};
use sqlx::{AssertSqlSafe, Connection as _, PgConnection, SqliteConnection};

const MESSAGES: &str = include_str!("../../../fixtures/chat/messages.txt");
/// What stands between two of them.
const BETWEEN: &str = "\n%%\n";
/// Different texts there are: those messages, each with the words `ticket0`, `ticket1` and so on, so that such a word
/// stands in one message of a thousand; `everyone` is in each, `tenth` and `third` in as many as they say.
const TEXTS: i64 = 1_000;
/// One message of so many is in the first room, whatever its number says: a channel that is larger than the others.
const LARGE: i64 = 11;
/// Messages after which everybody has gone on to another topic.
const PER_TOPIC: i64 = 5_000;
/// Seconds between two messages.
const APART_S: i64 = 10;
/// The newest messages of which the reader has not read five in six.
const OPEN: i64 = 60_000;
/// Found by a search at most.
const WANTED: usize = 50;

const READER: &str = "SELECT id FROM account WHERE email_key = 'member0@example.org'";
const ROOMS: &str = "INSERT INTO bench_room SELECT row_number() OVER (ORDER BY id) - 1, id FROM channel
WHERE name_key LIKE 'room %'";
const SENDERS: &str = "INSERT INTO bench_sender SELECT row_number() OVER (ORDER BY id) - 1, id FROM account
WHERE email_key LIKE 'member%' AND email_key <> 'member0@example.org'";
const COUNTS: &str = "SELECT (SELECT count(*) FROM bench_room), (SELECT count(*) FROM bench_sender)";
const HEAD: &str = "SELECT last_event FROM log_head WHERE one = 1";
const FILL: &str = "INSERT INTO message (id, sender_id, recipient_id, topic, topic_key, content, html, sent_s, client,
    marks, last_edit_s, revision)
WITH RECURSIVE step (i) AS (SELECT CAST(1 AS BIGINT) UNION ALL SELECT i + 1 FROM step WHERE i < $1)
SELECT $2 + i, s.id, r.id * 2, 'Topic ' || CAST(i / $3 AS TEXT), 'topic ' || CAST(i / $3 AS TEXT), t.content, t.html,
    $4 + i * $5, 'bench', 0, NULL, $2 + i
FROM step JOIN bench_room AS r ON r.n = CASE WHEN i % $9 = 0 THEN 0 ELSE i % $6 END JOIN bench_sender AS s ON s.n = i * 31 % $7
JOIN bench_text AS t ON t.n = (i * 7919 + i / 1000 * 37) % $8";
const WORDS: &str = "INSERT INTO message_words (rowid, words)
WITH RECURSIVE step (i) AS (SELECT CAST(1 AS BIGINT) UNION ALL SELECT i + 1 FROM step WHERE i < $1)
SELECT $2 + i, t.words@ FROM step JOIN message AS m ON m.id = $2 + i
JOIN bench_text AS t ON t.n = (i * 7919 + i / 1000 * 37) % $3";
const MOVE_HEAD: &str = "UPDATE log_head SET last_event = $1, pruned = $1 WHERE one = 1";
/// Members like the last one, but for number and address.
const PEOPLE: &str = "INSERT INTO account (id, email_key, document)
WITH RECURSIVE step (i) AS (SELECT CAST(1 AS BIGINT) UNION ALL SELECT i + 1 FROM step WHERE i < $1)
SELECT 2000000000 + i, 'crowd' || i || '@example.org', replace(replace(a.document, '\"id\":' || a.id || ',',
    '\"id\":' || (2000000000 + i) || ','), a.email_key, 'crowd' || i || '@example.org')
FROM step CROSS JOIN account AS a WHERE a.email_key = 'member1@example.org'";
const PEOPLE_HEAD: &str = "UPDATE log_head SET last_id = 2100000000 WHERE one = 1";
const READ: &str = "INSERT INTO read_set (user_id, recipient_id, all_until, messages) VALUES ($1, $2, $3, $4)";
const SEARCH: &str =
    "SELECT m.id, m.sender_id, m.recipient_id, m.topic, m.content, m.html, m.sent_s, m.client, m.marks,
    m.last_edit_s
FROM message_words AS w JOIN message AS m ON m.id = w.rowid WHERE @ ORDER BY w.rowid DESC LIMIT 50";

type Outcome<T> = Result<T, Box<dyn Error + Send + Sync>>;

/// What the engines spell differently.
struct Words {
    /// Tables that go with the connection.
    tables: &'static str,
    text: &'static str,
    search: &'static str,
    /// What stands behind the words in the index, of a message `m`.
    properties: &'static str,
    /// The indexes of messages: the name, and what makes it.
    indexes: &'static str,
    begin: &'static str,
    end: &'static str,
}

const SQLITE: Words = Words {
    tables: "CREATE TEMP TABLE bench_room (n BIGINT PRIMARY KEY, id BIGINT);
CREATE TEMP TABLE bench_sender (n BIGINT PRIMARY KEY, id BIGINT);
CREATE TEMP TABLE bench_text (n BIGINT PRIMARY KEY, content TEXT, html TEXT, words TEXT)",
    text: "INSERT INTO bench_text VALUES ($1, $2, $3, $4)",
    search: "w.message_words MATCH $1",
    properties: " || ' \u{a7}' || m.recipient_id || ' \u{a4}' || m.sender_id || ' \u{b6}' || lower(hex(m.topic_key))",
    indexes: "SELECT name, sql FROM sqlite_master WHERE type = 'index' AND tbl_name = 'message' AND sql IS NOT NULL",
    begin: "PRAGMA synchronous = OFF; PRAGMA cache_size = -400000; BEGIN IMMEDIATE",
    end: "COMMIT; PRAGMA synchronous = FULL; PRAGMA cache_size = -2000; PRAGMA wal_checkpoint(TRUNCATE)",
};
const POSTGRES: Words = Words {
    tables: "CREATE TEMP TABLE bench_room (n BIGINT PRIMARY KEY, id BIGINT);
CREATE TEMP TABLE bench_sender (n BIGINT PRIMARY KEY, id BIGINT);
CREATE TEMP TABLE bench_text (n BIGINT PRIMARY KEY, content TEXT, html TEXT, words TSVECTOR)",
    text: "INSERT INTO bench_text VALUES ($1, $2, $3, array_to_tsvector(string_to_array($4, ' ')))",
    search: "w.words @@ CAST($1 AS TSQUERY)",
    properties: " || array_to_tsvector(ARRAY['\u{b1}11_' || (m.id >> 11), '\u{b1}14_' || (m.id >> 14), '\u{b1}17_' || (m.id >> 17),
    '\u{b1}20_' || (m.id >> 20), '\u{b1}23_' || (m.id >> 23), '\u{b1}26_' || (m.id >> 26)])",
    indexes: "SELECT indexname::TEXT, indexdef FROM pg_indexes
WHERE tablename IN ('message', 'message_words') AND indexdef NOT LIKE 'CREATE UNIQUE%'",
    // Nothing refers to what is not there; looking for it takes longer than the rows.
    begin: "SET session_replication_role = replica; SET maintenance_work_mem = '512MB'; SET synchronous_commit = off;
BEGIN",
    end: "COMMIT; VACUUM ANALYZE; CHECKPOINT",
};

/// Fills the database.
macro_rules! seed {
    ($session:expr, $engine:expr, $count:expr) => {{
        let (session, engine, count): (&mut _, &Words, i64) = (&mut *$session, &$engine, $count);
        sqlx::raw_sql(engine.tables).execute(&mut *session).await?;
        sqlx::raw_sql(engine.begin).execute(&mut *session).await?;
        for fill in [ROOMS, SENDERS] {
            sqlx::query(fill).execute(&mut *session).await?;
        }
        for (n, (content, html, words)) in (0_i64..).zip(texts()) {
            let text = sqlx::query(engine.text).bind(n).bind(content).bind(html).bind(words);
            text.execute(&mut *session).await?;
        }
        let (rooms, senders): (i64, i64) = sqlx::query_as(COUNTS).fetch_one(&mut *session).await?;
        let head: i64 = sqlx::query_scalar(HEAD).fetch_one(&mut *session).await?;
        let indexes: Vec<(String, String)> = sqlx::query_as(engine.indexes).fetch_all(&mut *session).await?;
        for (name, _) in &indexes {
            sqlx::raw_sql(AssertSqlSafe(format!("DROP INDEX {name}"))).execute(&mut *session).await?;
        }
        let began_s = now_s()? - count * APART_S;
        sqlx::query(FILL)
            .bind(count)
            .bind(head)
            .bind(PER_TOPIC)
            .bind(began_s)
            .bind(APART_S)
            .bind(rooms)
            .bind(senders)
            .bind(TEXTS)
            .bind(LARGE)
            .execute(&mut *session)
            .await?;
        sqlx::query(AssertSqlSafe(WORDS.replacen('@', engine.properties, 1)))
            .bind(count)
            .bind(head)
            .bind(TEXTS)
            .execute(&mut *session)
            .await?;
        for (_, made_by) in indexes {
            sqlx::raw_sql(AssertSqlSafe(made_by)).execute(&mut *session).await?;
        }
        let reader: i64 = sqlx::query_scalar(READER).fetch_one(&mut *session).await?;
        let rooms: Vec<(i64, i64)> = sqlx::query_as("SELECT n, id FROM bench_room").fetch_all(&mut *session).await?;
        let number = i64::try_from(rooms.len())?;
        for (n, id) in rooms {
            let (all_until, read) = read_of((n, number), (head, count))?;
            let read = sqlx::query(READ).bind(reader).bind(id * 2).bind(all_until).bind(read);
            read.execute(&mut *session).await?;
        }
        sqlx::query(MOVE_HEAD).bind(head + count).execute(&mut *session).await?;
        // One by one, since some of them end a transaction or must stand outside of one.
        for statement in engine.end.split("; ") {
            sqlx::raw_sql(statement).execute(&mut *session).await?;
        }
    }};
}

/// Answers on one connection what is asked for, until nobody asks.
macro_rules! serve {
    ($session:expr, $engine:expr, $backend:expr) => {{
        let session: &mut _ = $session;
        let search = SEARCH.replacen('@', $engine.search, 1);
        for line in stdin().lock().lines() {
            let line = line?;
            let (work, count) = line.split_once(' ').ok_or("a work and a number")?;
            let spent = Spent::start($backend)?;
            match work {
                "seed" => seed!(session, $engine, count.parse()?),
                "people" => {
                    sqlx::query(PEOPLE).bind(count.parse::<i64>()?).execute(&mut *session).await?;
                    sqlx::query(PEOPLE_HEAD).execute(&mut *session).await?;
                }
                "search" => {
                    for n in 0..count.parse::<usize>()? {
                        let stem = format!("ticket{}", n * 7 % 1_000);
                        let asked = sqlx::query(AssertSqlSafe(search.clone())).bind(quoted(&stem, $backend.is_some()));
                        let found = black_box(asked.fetch_all(&mut *session).await?).len();
                        if !(1..=WANTED).contains(&found) {
                            return Err(format!("a search for {stem} found {found} messages").into());
                        }
                    }
                }
                _ => return Err(format!("there is no work {work}").into()),
            }
            println!("{}", spent.each(if work == "search" { count.parse()? } else { 1 })?);
        }
        Ok(())
    }};
}

fn main() -> Outcome<()> {
    let Some(database) = database() else {
        println!("`cargo xtask bench everyday` asks it");
        return Ok(());
    };
    tokio::runtime::Builder::new_current_thread().enable_all().build()?.block_on(async {
        if database.starts_with("postgres") { serve_postgres(&database).await } else { serve_sqlite(&database).await }
    })
}

/// The file or the address of the database.
#[expect(clippy::disallowed_methods, reason = "the one place where this bench is configured")]
fn database() -> Option<String> {
    std::env::var("BENCH_DATABASE").ok()
}

#[expect(clippy::disallowed_methods, reason = "messages are as old as the server takes them to be")]
fn now_s() -> Outcome<i64> {
    Ok(i64::try_from(std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH)?.as_secs())?)
}

async fn serve_sqlite(file: &str) -> Outcome<()> {
    let options = SqliteConnectOptions::new()
        .filename(file)
        .journal_mode(SqliteJournalMode::Wal)
        // Nothing refers to what is not there; looking for it takes longer than the rows.
        .foreign_keys(false)
        .busy_timeout(Duration::from_secs(10));
    let mut session = SqliteConnection::connect_with(&options).await?;
    let backend: Option<i32> = None;
    serve!(&mut session, SQLITE, backend)
}

async fn serve_postgres(url: &str) -> Outcome<()> {
    let mut session = PgConnection::connect(url).await?;
    // Without the words a plan cannot know how common they are.
    sqlx::raw_sql("SET plan_cache_mode = force_custom_plan").execute(&mut session).await?;
    let backend: Option<i32> = sqlx::query_scalar("SELECT pg_backend_pid()").fetch_one(&mut session).await?;
    serve!(&mut session, POSTGRES, backend)
}

fn quoted(stem: &str, is_postgres: bool) -> String {
    if is_postgres { format!("'{stem}'") } else { format!("\"{stem}\"") }
}

/// Each text with its HTML and its stems.
fn texts() -> impl Iterator<Item = (String, String, String)> {
    let messages: Vec<&str> = MESSAGES.trim_end().split(BETWEEN).collect();
    let bare = MarkdownContext {
        directory: &EmptyNameDirectory,
        linkifiers: &[],
        realm_url: "https://chat.example",
        emoticons: EmoticonHandling::Keep,
        image_previews: ImagePreviews::Show,
        default_code_language: None,
    };
    let text = move |(n, message): (i64, &str)| {
        let tenth = if n % 10 == 0 { " tenth" } else { "" };
        let third = if n % 3 == 0 { " third" } else { "" };
        let content = format!("{message}\n\nticket{n} everyone{tenth}{third}");
        let html = markdown::render_message(&markdown::parse_message(&content, &bare)).html;
        let words = search_words::extract_index_stems("", &html);
        (content, html, words)
    };
    let all: Vec<_> = (0..TEXTS).zip(messages.into_iter().cycle()).map(text).collect();
    all.into_iter()
}

/// What the reader has read of a room: everything before the last [`OPEN`] messages, and every sixth of those.
fn read_of((room, rooms): (i64, i64), (head, count): (i64, i64)) -> Outcome<(i64, Vec<u8>)> {
    let open_from = (count - OPEN).max(0);
    let room_of = |i: i64| if i % LARGE == 0 { 0 } else { i % rooms };
    let here = (open_from + 1..=count).filter(|i| room_of(*i) == room && i / rooms % 6 == 0);
    let set: RoaringTreemap = here.map(|i| (head + i).unsigned_abs()).collect();
    let mut bytes = Vec::new();
    set.serialize_into(&mut bytes)?;
    Ok((head + open_from, bytes))
}

/// What was spent from a moment on.
struct Spent {
    backend: Option<i32>,
    cpu_ns: u64,
    began: Instant,
}

impl Spent {
    fn start(backend: Option<i32>) -> io::Result<Self> {
        Ok(Self { backend, cpu_ns: cpu_ns(backend)?, began: Instant::now() })
    }

    /// CPU and time of each of so many operations, in microseconds.
    fn each(&self, count: u32) -> io::Result<String> {
        let (clock, cpu_ns) = (self.began.elapsed(), cpu_ns(self.backend)?.saturating_sub(self.cpu_ns));
        let each = |spent: Duration| spent.as_secs_f64() * 1e6 / f64::from(count.max(1));
        Ok(format!("{:.3} {:.3}", each(Duration::from_nanos(cpu_ns)), each(clock)))
    }
}

/// CPU of this process and of the database's, as the kernel counts it for each thread.
fn cpu_ns(backend: Option<i32>) -> io::Result<u64> {
    let mut ns = threads_ns("self")?;
    if let Some(backend) = backend {
        ns += threads_ns(&backend.to_string())?;
    }
    Ok(ns)
}

fn threads_ns(process: &str) -> io::Result<u64> {
    let mut ns = 0;
    for thread in fs::read_dir(format!("/proc/{process}/task"))? {
        let stat = fs::read_to_string(thread?.path().join("schedstat"))?;
        ns += stat.split(' ').next().and_then(|ns| ns.parse::<u64>().ok()).unwrap_or(0);
    }
    Ok(ns)
}
