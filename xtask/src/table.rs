//! Plain tables on a terminal.

use std::fmt::Write as _;

/// Rows under a heading, columns as wide as their widest cell.
#[derive(Debug, Clone)]
pub struct Table<const COLUMNS: usize> {
    rows: Vec<[String; COLUMNS]>,
}

impl<const COLUMNS: usize> Table<COLUMNS> {
    /// A table that has only its heading.
    #[must_use]
    pub fn new(heading: [&str; COLUMNS]) -> Self {
        Self { rows: vec![heading.map(str::to_owned)] }
    }

    /// Adds a row below the others.
    pub fn push(&mut self, row: [String; COLUMNS]) {
        self.rows.push(row);
    }

    /// The text, one line per row, `|` between the columns, no line end after the last.
    #[must_use]
    pub fn render(&self) -> String {
        let mut widths = [0; COLUMNS];
        for row in &self.rows {
            for (width, cell) in widths.iter_mut().zip(row) {
                *width = (*width).max(cell.chars().count());
            }
        }
        let lines = self.rows.iter().map(|row| {
            let cells = row.iter().zip(widths);
            let line = cells.fold(String::new(), |mut line, (cell, width)| {
                let bar = if line.is_empty() { "" } else { " | " };
                // Writing to a String cannot fail.
                let _ = write!(line, "{bar}{cell:width$}");
                line
            });
            line.trim_end().to_owned()
        });
        lines.collect::<Vec<_>>().join("\n")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_are_as_wide_as_their_widest_cell() {
        let mut table = Table::new(["step", "seconds"]);
        table.push(["release build".into(), "9".into()]);
        assert_eq!(table.render(), "step          | seconds\nrelease build | 9");
    }
}
