//! Lists as parameters: rows of a `VALUES` list, and numbers as one parameter.

use sqlx::{AssertSqlSafe, SqlSafeStr, SqlStr};

use crate::dialect::SqlDialect;

/// Most rows of one `VALUES` list.
const PIECE_MAX: usize = 64;

/// Returns the statement `{before} VALUES (…), (…) {after}` with a parameter for each column of each row. `before` and
/// `after` must consist of texts in the source of the program.
///
/// On SQLite the parameters have no names: a name is looked for among all of them when it is bound.
#[must_use]
pub fn insert_rows_statement(
    dialect: SqlDialect,
    before: &str,
    (rows, columns): (usize, usize),
    after: &str,
) -> SqlStr {
    let mut sql = format!("{before} VALUES ");
    for row in 0..rows {
        sql.push_str(if row == 0 { "(" } else { ", (" });
        for column in 0..columns {
            sql.push_str(if column == 0 { "" } else { ", " });
            match dialect {
                SqlDialect::Postgres => sql.extend(["$", &(row * columns + column + 1).to_string()]),
                SqlDialect::Sqlite => sql.push('?'),
            }
        }
        sql.push(')');
    }
    sql.push_str(after);
    AssertSqlSafe(sql).into_sql_str()
}

/// Splits rows into chunks whose lengths are powers of two, at most 64, the longest first, so that there are few
/// distinct statements to prepare.
pub fn power_of_two_chunks<T>(mut rows: &[T]) -> impl Iterator<Item = &[T]> {
    std::iter::from_fn(move || {
        let largest = (1 << rows.len().checked_ilog2()?).min(PIECE_MAX);
        let (piece, rest) = rows.split_at_checked(largest)?;
        rows = rest;
        Some(piece)
    })
}

/// Encodes numbers as a JSON array, the parameter of the fragment `{in_numbers}`.
pub fn encode_numbers_parameter(numbers: impl IntoIterator<Item = i64>) -> String {
    let mut text = String::from("[");
    for (place, number) in numbers.into_iter().enumerate() {
        text.push_str(if place == 0 { "" } else { "," });
        text.push_str(&number.to_string());
    }
    text.push(']');
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_fall_into_few_sizes_of_pieces() {
        let rows: Vec<u8> = (0..203).collect();
        let sizes: Vec<usize> = power_of_two_chunks(&rows).map(<[u8]>::len).collect();
        assert_eq!(sizes, [64, 64, 64, 8, 2, 1]);
        assert_eq!(power_of_two_chunks(&rows).flatten().copied().collect::<Vec<_>>(), rows);
        assert_eq!(power_of_two_chunks::<u8>(&[]).count(), 0);
    }

    #[test]
    fn a_list_of_rows_numbers_its_parameters() {
        let insertion = |dialect| insert_rows_statement(dialect, "INSERT", (2, 2), "").as_str().to_owned();
        assert_eq!(insertion(SqlDialect::Postgres), "INSERT VALUES ($1, $2), ($3, $4)");
        assert_eq!(insertion(SqlDialect::Sqlite), "INSERT VALUES (?, ?), (?, ?)");
        assert_eq!(encode_numbers_parameter([1, -2]), "[1,-2]");
    }
}
