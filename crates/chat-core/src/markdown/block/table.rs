//! Tables: a header row, a row of dashes, rows; columns between pipes.

use super::super::parser::{Parser, Scope};
use super::super::tree::{Block, ColumnAlignment, Inline, Table};
use super::chunk::Cut;
use super::is_blank;

impl Parser<'_> {
    /// Returns the table that begins at a line, if one does. It takes all lines up to a blank one.
    pub(super) fn table(&mut self, lines: &[&str], at: usize, scope: Scope) -> Option<Cut> {
        let (first, rule) = (lines.get(at)?, lines.get(at + 1)?);
        self.worked(rule.len());
        let alignments = alignments(rule)?;
        let head = cells(first);
        self.worked(first.len());
        if head.len() != alignments.len() {
            return None;
        }
        let body = lines.get(at + 2..).unwrap_or_default();
        let body = body.get(..body.iter().take_while(|line| !is_blank(line)).count())?;
        let columns = alignments.len();
        let bordered = |line: &&str| line.trim().starts_with('|') || line.trim().ends_with('|');
        if columns == 1 && ![first, rule].into_iter().chain(body).all(bordered) {
            return None;
        }
        // Cells that are missing are made up. Rows of one letter under a wide header would make a table far
        // larger than its text; such a thing is no table.
        let length: usize = body.iter().map(|line| line.len() + 1).sum();
        if columns.saturating_mul(body.len()) > length + first.len() {
            return None;
        }
        let head = self.row(&head, columns, scope);
        let mut rows: Vec<_> = body.iter().map(|line| self.row(&cells(line), columns, scope)).collect();
        if rows.is_empty() {
            rows.push(vec![Vec::new(); columns]);
        }
        Some((Block::Table(Table { alignments, head, rows }), at + 2 + body.len()))
    }

    fn row(&mut self, cells: &[String], columns: usize, scope: Scope) -> Vec<Vec<Inline>> {
        let mut row: Vec<_> = cells.iter().take(columns).map(|cell| self.inlines(cell.trim(), scope)).collect();
        row.resize(columns, Vec::new());
        row
    }
}

fn alignments(rule: &str) -> Option<Vec<Option<ColumnAlignment>>> {
    let rule = rule.trim();
    if !rule.contains('-') || !rule.bytes().all(|byte| b"|:- ".contains(&byte)) {
        return None;
    }
    let alignment = |cell: &String| match (cell.trim().starts_with(':'), cell.trim().ends_with(':')) {
        (true, true) => Some(ColumnAlignment::Centre),
        (true, false) => Some(ColumnAlignment::Left),
        (false, true) => Some(ColumnAlignment::Right),
        (false, false) => None,
    };
    let cells = cells(rule);
    (cells.len() > 1 || rule.contains('|')).then(|| cells.iter().map(alignment).collect())
}

/// Returns the cells of a row: between pipes, except those in code or behind a backslash.
fn cells(line: &str) -> Vec<String> {
    let line = line.trim();
    let line = line.strip_prefix('|').unwrap_or(line);
    let mut cells = vec![String::new()];
    let mut code = None;
    let mut rest = line;
    while let Some(character) = rest.chars().next() {
        let mut taken = character.len_utf8();
        if character == '`' {
            taken = rest.len() - rest.trim_start_matches('`').len();
            code = match code {
                None if rest.get(taken..).is_some_and(|after| after.contains('`')) => Some(taken),
                Some(open) if open == taken => None,
                other => other,
            };
        }
        let escaped = character == '\\' && rest.get(1..).is_some_and(|after| after.starts_with('|'));
        if escaped {
            taken = 2;
        }
        let piece = if escaped { "|" } else { rest.get(..taken).unwrap_or_default() };
        rest = rest.get(taken..).unwrap_or_default();
        if character == '|' && code.is_none() {
            if !rest.is_empty() {
                cells.push(String::new());
            }
        } else if let Some(cell) = cells.last_mut() {
            cell.push_str(piece);
        }
    }
    cells
}
