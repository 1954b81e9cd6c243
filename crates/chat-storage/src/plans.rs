//! The plan of every statement of this crate on a large database of each engine: none reads a table, or sorts what it
//! found, where that grows with the database, except for those that are listed with their reasons.
//!
//! Statements are found in the source of the crate, so a new one is looked at without being listed here.

mod fill;
mod shapes;
mod statements;

use sql_engines::SqlDialect;
use sqlx::{AssertSqlSafe, Connection as _, PgConnection, SqliteConnection};

use self::fill::FILL;
use self::statements::Statement;
use crate::ChatDatabase;
use crate::dialect::Sql;
use crate::{pg_pools, subscription};

/// Statements that may read all of a table, or sort: how the text begins, and why.
const ALLOWED: &[(&str, &str)] = &[
    ("SELECT document FROM account", "the realm is read whole when a node starts"),
    ("SELECT user_id, key_hash FROM credential", "the realm is read whole when a node starts"),
    ("SELECT document FROM channel", "the realm is read whole when a node starts"),
    ("SELECT document FROM subscription", "the realm is read whole when a node starts"),
    ("SELECT channel_id, user_id, after_event", "the realm is read whole when a node starts"),
    ("SELECT document FROM user_group", "the realm is read whole when a node starts"),
    ("SELECT kind, id, document FROM item", "the realm is read whole when a node starts"),
    ("SELECT user_id, kind, item_key, document FROM user_item", "the realm is read whole when a node starts"),
    ("SELECT number, encrypted_secret FROM invitation_link", "read whole when a node starts"),
    ("SELECT DISTINCT user_id FROM push_device", "read whole when a node starts"),
    ("DELETE FROM user_item WHERE kind IN", "a command of the operator, while no node runs"),
    ("SELECT document FROM realm", "one row"),
    ("SELECT coalesce(\n    (SELECT id - 1 FROM log WHERE at_s", "a sweep, which reads over what it then deletes"),
    ("SELECT recipient_id, count(*) FROM message\nWHERE id > coalesce(", "it reads back as far as it counts"),
    ("SELECT d.recipient_id FROM direct AS d", "a sweep, once a day, of conversations that are few beside messages"),
    ("DELETE FROM queue WHERE seen_s + idle_limit_s", "a sweep, once a minute, of rows that are few beside messages"),
];

/// How searches read Postgres, and how everything else does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Pool {
    All,
    Words,
}

/// A database to look at.
enum Session {
    Sqlite { connection: SqliteConnection, _folder: tempfile::TempDir },
    Postgres { connection: PgConnection, name: String, server: String, _folder: tempfile::TempDir },
}

impl Session {
    async fn sqlite() -> Self {
        let folder = tempfile::tempdir().unwrap();
        ChatDatabase::open_and_migrate(None, folder.path(), 1).await.unwrap().close().await;
        let options = sqlx::sqlite::SqliteConnectOptions::new().filename(folder.path().join("chat.db"));
        let options = options.foreign_keys(false).synchronous(sqlx::sqlite::SqliteSynchronous::Off);
        let mut connection = SqliteConnection::connect_with(&options).await.unwrap();
        for sql in filled(SqlDialect::Sqlite) {
            sqlx::raw_sql(AssertSqlSafe(sql)).execute(&mut connection).await.unwrap();
        }
        Self::Sqlite { connection, _folder: folder }
    }

    async fn postgres(server: String) -> Self {
        let name = format!("chat_plans_{}", std::process::id());
        let mut session = PgConnection::connect(&server).await.unwrap();
        let create = format!("CREATE DATABASE {name} TEMPLATE template0");
        sqlx::raw_sql(AssertSqlSafe(create)).execute(&mut session).await.unwrap();
        let mut url = url::Url::parse(&server).unwrap();
        url.set_path(&name);
        let folder = tempfile::tempdir().unwrap();
        ChatDatabase::open_and_migrate(Some(url.as_str()), folder.path(), 1).await.unwrap().close().await;
        let mut connection = PgConnection::connect(url.as_str()).await.unwrap();
        let begin = "SET session_replication_role = replica; SET synchronous_commit = off";
        sqlx::raw_sql(begin).execute(&mut connection).await.unwrap();
        for sql in filled(SqlDialect::Postgres) {
            sqlx::raw_sql(AssertSqlSafe(sql)).execute(&mut connection).await.unwrap();
        }
        sqlx::raw_sql("VACUUM ANALYZE").execute(&mut connection).await.unwrap();
        Self::Postgres { connection, name, server, _folder: folder }
    }

    fn dialect(&self) -> SqlDialect {
        match self {
            Self::Sqlite { .. } => SqlDialect::Sqlite,
            Self::Postgres { .. } => SqlDialect::Postgres,
        }
    }

    /// Returns the lines of a statement's plan, for values that are not known yet.
    async fn plan(&mut self, sql: &str) -> Result<Vec<String>, sqlx::Error> {
        match self {
            Self::Sqlite { connection, .. } => {
                let explain = AssertSqlSafe(format!("EXPLAIN QUERY PLAN {sql}"));
                let rows: Vec<(i64, i64, i64, String)> = sqlx::query_as(explain).fetch_all(connection).await?;
                Ok(rows.into_iter().map(|(.., line)| line).collect())
            }
            Self::Postgres { connection, .. } => {
                sqlx::raw_sql(
                    "SET enable_bitmapscan = off; SET enable_seqscan = off; SET plan_cache_mode = force_generic_plan",
                )
                .execute(&mut *connection)
                .await?;
                let parameters = (1..=40).take_while(|number| sql.contains(&format!("${number}"))).count();
                let nulls = vec!["NULL"; parameters].join(", ");
                let given = if nulls.is_empty() { String::new() } else { format!("({nulls})") };
                let prepare = format!("PREPARE looked_at AS {sql}");
                sqlx::raw_sql(AssertSqlSafe(prepare)).execute(&mut *connection).await?;
                let explain = AssertSqlSafe(format!("EXPLAIN EXECUTE looked_at{given}"));
                let plan = sqlx::query_scalar(explain).persistent(false).fetch_all(&mut *connection).await;
                sqlx::raw_sql("DEALLOCATE looked_at").execute(&mut *connection).await?;
                plan
            }
        }
    }

    /// Returns the lines of the plan of a statement with its values in it; on Postgres of one that has run.
    async fn run(&mut self, pool: Pool, sql: &str) -> Vec<String> {
        match self {
            Self::Sqlite { .. } => self.plan(sql).await.unwrap(),
            Self::Postgres { connection, .. } => {
                let settings = if pool == Pool::Words { pg_pools::WORDS_SETTINGS } else { pg_pools::SETTINGS };
                let set = AssertSqlSafe(format!("RESET ALL; {settings}"));
                sqlx::raw_sql(set).execute(&mut *connection).await.unwrap();
                let explain = AssertSqlSafe(format!("EXPLAIN (ANALYZE, BUFFERS, COSTS OFF, TIMING OFF) {sql}"));
                sqlx::query_scalar(explain).persistent(false).fetch_all(connection).await.unwrap()
            }
        }
    }

    /// Returns the numbers that a statement of Postgres finds.
    async fn numbers(&mut self, sql: &str) -> Vec<i64> {
        let Self::Postgres { connection, .. } = self else { return Vec::new() };
        let numbers = AssertSqlSafe(format!("SELECT id FROM ({sql}) AS found"));
        sqlx::query_scalar(numbers).persistent(false).fetch_all(connection).await.unwrap()
    }

    async fn end(self) {
        if let Self::Postgres { connection, name, server, .. } = self {
            connection.close().await.unwrap();
            let mut session = PgConnection::connect(&server).await.unwrap();
            let drop = AssertSqlSafe(format!("DROP DATABASE {name} WITH (FORCE)"));
            sqlx::raw_sql(drop).execute(&mut session).await.unwrap();
        }
    }
}

/// Returns the statements that fill a database of an engine.
fn filled(dialect: SqlDialect) -> impl Iterator<Item = String> {
    let (blob, properties) = match dialect {
        SqlDialect::Postgres => {
            ("BYTEA", " \u{b1}11_' || (id >> 11) || ' \u{b1}14_' || (id >> 14) || ' \u{b1}17_' || (id >> 17) || '")
        }
        SqlDialect::Sqlite => ("BLOB", " \u{a7}' || recipient_id || ' \u{a4}' || sender_id || '"),
    };
    FILL.iter().map(move |sql| {
        // A fragment's argument is put where it has an `@`, so those of the template go first.
        let sql = sql.replace("@blob", blob).replace("@properties", properties);
        Sql::render_dynamic_template(dialect, &sql)
    })
}

/// Databases of both engines; of SQLite alone where no server of Postgres is named.
async fn sessions() -> Vec<Session> {
    let mut sessions = vec![Session::sqlite().await];
    if let Some(server) = server() {
        sessions.push(Session::postgres(server).await);
    }
    sessions
}

#[expect(clippy::disallowed_methods, reason = "the one place where these tests are configured")]
fn server() -> Option<String> {
    let server = std::env::var("TEST_DATABASE_URL").ok();
    let demanded = ["CI", "XTASK_TEST_ALL"].iter().any(|name| std::env::var_os(name).is_some());
    assert!(server.is_some() || !demanded, "TEST_DATABASE_URL has to name a Postgres server here");
    server
}

/// Returns what in a plan grows with the database; `None` where nothing does.
fn fault(dialect: SqlDialect, plan: &[String]) -> Option<&str> {
    let is_fault = |(place, line): &(usize, &String)| match dialect {
        // Lists that travel as a parameter, the index of words, and rows that a statement made itself are no tables.
        SqlDialect::Sqlite => {
            let name = |rest: &str| rest.split(' ').next().map(str::to_owned);
            let made: Vec<_> = plan
                .iter()
                .filter_map(|made| made.strip_prefix("CO-ROUTINE ").or_else(|| made.strip_prefix("MATERIALIZE ")))
                .filter_map(name)
                .collect();
            let is_made = |scan: &str| {
                scan.contains("VIRTUAL TABLE")
                    || scan.contains("CONSTANT ROW")
                    || name(scan).is_some_and(|name| made.contains(&name))
            };
            line.strip_prefix("SCAN ").is_some_and(|scan| !is_made(scan)) || line.contains("AUTOMATIC")
        }
        SqlDialect::Postgres => {
            let depth = |line: &str| line.len() - line.trim_start().len();
            let inside = plan.iter().skip(place + 1).take_while(|inner| depth(inner) > depth(line));
            let own = inside.take_while(|inner| !inner.contains("->  "));
            let is_whole = line.contains("Index Scan") || line.contains("Index Only Scan");
            let reads_one = [
                "log_head",
                "realm ",
                "attachment_total",
                "_head ",
                "push_turn",
                "import_mark",
                "words_backlog",
                "server_health",
            ];
            line.contains("Seq Scan on ") && !reads_one.iter().any(|small| line.contains(small))
                || is_whole && !own.map(String::as_str).any(|inner| inner.contains("Index Cond"))
        }
    };
    plan.iter().enumerate().find(is_fault).map(|(_, line)| line.as_str())
}

/// Returns the statements whose plans read a table, each with its plan.
async fn faulty_statements(session: &mut Session) -> Vec<String> {
    let dialect = session.dialect();
    let mut faults = Vec::new();
    let statements = statements::statements();
    // Far fewer would mean that they are not found any more.
    assert!(statements.len() > 150, "{} statements were found", statements.len());
    for Statement { file, sql } in statements {
        let is_allowed = ALLOWED.iter().any(|(begins, _)| sql.starts_with(begins));
        // An export reads everything, in pages of one reading transaction.
        if is_allowed || file == "export.rs" || statements::is_of_other_engine(&sql, dialect) {
            continue;
        }
        match session.plan(&Sql::render_dynamic_template(dialect, &sql)).await {
            Err(error) => faults.push(format!("{dialect:?} {file}: {error}\n{sql}")),
            Ok(plan) => {
                if let Some(line) = fault(dialect, &plan) {
                    faults.push(format!("{dialect:?} {file}: {line}\n{sql}\n{}", plan.join("\n")));
                }
            }
        }
    }
    faults
}

/// Returns the searches that read more than they find, each with its plan.
async fn faulty_searches(session: &mut Session) -> Vec<String> {
    let dialect = session.dialect();
    let mut faults = Vec::new();
    for shape in shapes::all().into_iter().filter(|shape| shape.only.is_none_or(|only| only == dialect)) {
        let sql = shape.sql(dialect);
        let plan = session.run(shape.pool, &sql).await;
        let is_faulty = match dialect {
            SqlDialect::Sqlite => {
                let sorts = plan.iter().any(|line| line.contains("TEMP B-TREE"));
                sorts && !shape.sorts || fault(dialect, &plan).is_some()
            }
            SqlDialect::Postgres => !(1..=shape.pages_max).contains(&shapes::pages(&plan)),
        };
        if is_faulty {
            faults.push(format!("{dialect:?} {}\n{sql}\n{}", shape.name, plan.join("\n")));
        }
    }
    faults
}

/// Returns the statements about a thousand users in a channel that read everybody's rows, each with its plan.
async fn faulty_crowds(session: &mut Session) -> Vec<String> {
    let array = |value: &dyn Fn(i64) -> String| {
        let values: Vec<String> = (2_001..=3_000).map(value).collect();
        format!("ARRAY[{}]", values.join(","))
    };
    let (channels, users) = (array(&|_| "3".to_owned()), array(&|user| user.to_string()));
    let mut faults = Vec::new();
    for statement in subscription::IN_BULK {
        let sql = statement.text_for_dialect(SqlDialect::Postgres).as_str().to_owned();
        let third = if sql.contains("$3::TEXT[]") { array(&|_| "'{}'".to_owned()) } else { "7".to_owned() };
        let sql = sql.replace("$1", &channels).replace("$2", &users).replace("$3", &third);
        let plan = session.run(Pool::All, &sql).await;
        if plan.iter().any(|line| line.contains("Seq Scan on subscription")) {
            faults.push(plan.join("\n"));
        }
    }
    faults
}

/// Returns the searches for words alone that read more than they find, or find something else than without stages.
async fn faulty_stages(session: &mut Session) -> Vec<String> {
    let mut faults = Vec::new();
    for (words, way) in shapes::words_alone() {
        let sql = shapes::staged(words, way);
        let plan = session.run(Pool::Words, &sql).await;
        if !(1..=shapes::STAGED_PAGES_MAX).contains(&shapes::pages(&plan)) {
            faults.push(format!("{words} {way:?}\n{sql}\n{}", plan.join("\n")));
        }
        let (found, expected) =
            (session.numbers(&sql).await, session.numbers(&shapes::without_stages(words, way)).await);
        if found != expected {
            faults.push(format!("{words} {way:?}: {found:?}, without stages {expected:?}"));
        }
    }
    faults
}

#[tokio::test(flavor = "multi_thread")]
async fn no_statement_reads_what_grows_with_the_database() {
    let mut faults = Vec::new();
    for mut session in sessions().await {
        faults.extend(faulty_statements(&mut session).await);
        faults.extend(faulty_searches(&mut session).await);
        if session.dialect() == SqlDialect::Postgres {
            faults.extend(faulty_stages(&mut session).await);
            faults.extend(faulty_crowds(&mut session).await);
        }
        session.end().await;
    }
    assert!(faults.is_empty(), "{} faults\n\n{}", faults.len(), faults.join("\n\n"));
}

#[test]
fn a_scan_is_seen_in_a_plan() {
    let lines = |text: &str| text.lines().map(str::to_owned).collect::<Vec<_>>();
    let sqlite = |text| fault(SqlDialect::Sqlite, &lines(text)).is_some();
    assert!(sqlite("SEARCH d USING INDEX a (b=?)\nSCAN m"));
    assert!(sqlite("SCAN m USING COVERING INDEX message_recipient"));
    assert!(!sqlite("SCAN w VIRTUAL TABLE INDEX 0:M1\nSEARCH m USING INDEX sqlite_autoindex_message_1 (id=?)"));
    let postgres = |text| fault(SqlDialect::Postgres, &lines(text)).is_some();
    assert!(postgres("Limit\n  ->  Seq Scan on message m"));
    assert!(postgres("Limit\n  ->  Index Scan using message_pkey on message m\n        Filter: (a = 1)"));
    assert!(!postgres("Limit\n  ->  Index Scan using message_pkey on message m\n        Index Cond: (id = 1)"));
}
