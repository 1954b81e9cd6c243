//! The first pass: lines to blocks.
//!
//! Fences are found first, over all lines, with a stack; the lines between them are cut into blocks by what they
//! begin with. Each level of nesting looks at its lines a fixed number of times, and levels are limited.

mod chunk;
mod fence;
mod list;
mod table;

use super::parser::{Parser, Scope};
use super::tree::{Block, FormulaStyle};
use fence::{Fence, Kind};

/// What a frame of the stack has gathered so far.
enum Part<'t> {
    Line(&'t str),
    Done(Block),
}

/// An open fence, or the text around all fences.
struct Frame<'t> {
    fence: Option<Fence<'t>>,
    parts: Vec<Part<'t>>,
    scope: Scope,
}

impl Frame<'_> {
    /// Returns whether lines are taken as they are.
    fn is_verbatim(&self) -> bool {
        matches!(&self.fence, Some(Fence { kind: Kind::Code { .. } | Kind::Math, .. }))
    }

    fn is_closed_by(&self, line: &str) -> bool {
        self.fence.as_ref().is_some_and(|fence| fence.mark == line.trim_end())
    }
}

impl Parser<'_> {
    /// Returns the blocks of these lines, fences included. A fence without an end runs to the last line.
    pub(super) fn blocks(&mut self, lines: &[&str], scope: Scope) -> Vec<Block> {
        let mut outer: Vec<Frame<'_>> = Vec::new();
        let mut frame = Frame { fence: None, parts: Vec::new(), scope };
        for &line in lines {
            self.worked(line.len() + 1);
            if frame.is_closed_by(line) {
                if let Some(parent) = outer.pop() {
                    let closed = std::mem::replace(&mut frame, parent);
                    let blocks = self.close(closed);
                    frame.parts.extend(blocks.into_iter().map(Part::Done));
                }
                continue;
            }
            let opened = (!frame.is_verbatim()).then(|| fence::opening(line)).flatten();
            match opened.filter(|fence| !fence.kind.nests() || frame.scope.may_nest()) {
                Some(fence) => {
                    let scope = match fence.kind {
                        Kind::Quote => frame.scope.in_quote(),
                        _ => frame.scope.deeper(),
                    };
                    let inner = Frame { fence: Some(fence), parts: Vec::new(), scope };
                    outer.push(std::mem::replace(&mut frame, inner));
                }
                None => frame.parts.push(Part::Line(line)),
            }
        }
        while let Some(parent) = outer.pop() {
            let closed = std::mem::replace(&mut frame, parent);
            let blocks = self.close(closed);
            frame.parts.extend(blocks.into_iter().map(Part::Done));
        }
        self.close(frame)
    }

    fn close(&mut self, frame: Frame<'_>) -> Vec<Block> {
        let Some(fence) = frame.fence else {
            return self.parts(frame.parts, frame.scope);
        };
        match fence.kind {
            Kind::Quote => vec![Block::Quote(self.parts(frame.parts, frame.scope))],
            Kind::Spoiler { header } => {
                let header = self.chunk(&[header], frame.scope);
                let body = self.parts(frame.parts, frame.scope);
                vec![Block::Spoiler { header, body }]
            }
            Kind::Code { language } => vec![Block::Code {
                language: language.or(self.context.default_code_language).map(str::to_owned),
                text: code_text(&frame.parts),
            }],
            Kind::Math => self.formulas_of(&code_text(&frame.parts)),
        }
    }

    fn parts(&mut self, parts: Vec<Part<'_>>, scope: Scope) -> Vec<Block> {
        let mut blocks = Vec::new();
        let mut lines = Vec::new();
        for part in parts {
            match part {
                Part::Line(line) => lines.push(line),
                Part::Done(block) => {
                    blocks.extend(self.chunk(&lines, scope));
                    lines.clear();
                    blocks.push(block);
                }
            }
        }
        blocks.extend(self.chunk(&lines, scope));
        blocks
    }

    /// One formula for each paragraph of a fence.
    fn formulas_of(&mut self, text: &str) -> Vec<Block> {
        text.split("\n\n")
            .map(|source| source.trim_matches('\n'))
            .filter(|source| !source.trim().is_empty())
            .map(|source| Block::Math(self.formula(source, FormulaStyle::Display)))
            .collect()
    }
}

/// Returns the lines of a fence without blanks at their ends and without empty lines around.
fn code_text(parts: &[Part<'_>]) -> String {
    let mut text = String::new();
    for part in parts {
        if let Part::Line(line) = part {
            text.push_str(line.trim_end());
            text.push('\n');
        }
    }
    framed(&text)
}

fn framed(text: &str) -> String {
    let mut framed = text.trim_matches('\n').to_owned();
    framed.push('\n');
    framed
}

/// Returns whether a line has nothing to see in it.
fn is_blank(line: &str) -> bool {
    line.trim().is_empty()
}
