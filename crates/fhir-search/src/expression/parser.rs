//! From words to nodes, by descent; each function is one level of precedence.

use crate::limits;

use super::lexer::{Word, words};
use super::{ExpressionCompileError, Literal, Node, is_type};

/// The types every resource is of.
const ROOTS: [&str; 2] = ["Resource", "DomainResource"];

pub(super) fn parse(type_name: &str, text: &str) -> Result<Node, ExpressionCompileError> {
    if text.len() > limits::MAX_EXPRESSION_BYTES {
        return Err(ExpressionCompileError::TooLarge);
    }
    let mut parser = Parser { type_name, words: words(text)?, at: 0, depth: 0 };
    let node = parser.either()?;
    match parser.peek() {
        None => Ok(node),
        Some(word) => Err(unsupported(word)),
    }
}

struct Parser<'a> {
    type_name: &'a str,
    words: Vec<Word>,
    at: usize,
    depth: usize,
}

/// One more level of what nests: the evaluation follows it by recursion.
fn deeper(levels: &mut usize) -> Result<(), ExpressionCompileError> {
    *levels += 1;
    if *levels > limits::MAX_EXPRESSION_DEPTH { Err(ExpressionCompileError::TooLarge) } else { Ok(()) }
}

fn unsupported(word: &Word) -> ExpressionCompileError {
    ExpressionCompileError::Unsupported(match word {
        Word::Name(text) | Word::Text(text) => text.clone(),
        Word::Number(number) => number.to_string(),
        Word::Sign(sign) => (*sign).to_owned(),
    })
}

impl Parser<'_> {
    fn peek(&self) -> Option<&Word> {
        self.words.get(self.at)
    }

    fn next(&mut self) -> Result<Word, ExpressionCompileError> {
        let word = self.peek().cloned().ok_or(ExpressionCompileError::End)?;
        self.at += 1;
        Ok(word)
    }

    fn takes_sign(&mut self, sign: &str) -> bool {
        let found = matches!(self.peek(), Some(Word::Sign(found)) if *found == sign);
        self.at += usize::from(found);
        found
    }

    fn takes_name(&mut self, name: &str) -> bool {
        let found = matches!(self.peek(), Some(Word::Name(found)) if found == name);
        self.at += usize::from(found);
        found
    }

    fn expect(&mut self, sign: &str) -> Result<(), ExpressionCompileError> {
        if self.takes_sign(sign) {
            return Ok(());
        }
        Err(self.peek().map_or(ExpressionCompileError::End, unsupported))
    }

    fn name(&mut self) -> Result<String, ExpressionCompileError> {
        match self.next()? {
            Word::Name(name) => Ok(name),
            other => Err(unsupported(&other)),
        }
    }

    fn either(&mut self) -> Result<Node, ExpressionCompileError> {
        let (mut node, mut nested) = (self.both()?, 0);
        while self.takes_name("or") {
            deeper(&mut nested)?;
            node = Node::Or(Box::new(node), Box::new(self.both()?));
        }
        Ok(node)
    }

    fn both(&mut self) -> Result<Node, ExpressionCompileError> {
        let (mut node, mut nested) = (self.equality()?, 0);
        while self.takes_name("and") {
            deeper(&mut nested)?;
            node = Node::And(Box::new(node), Box::new(self.equality()?));
        }
        Ok(node)
    }

    fn equality(&mut self) -> Result<Node, ExpressionCompileError> {
        let left = self.union()?;
        if self.takes_sign("=") {
            return Ok(Node::Equals(Box::new(left), Box::new(self.union()?)));
        }
        if self.takes_sign("!=") {
            let equals = Node::Equals(Box::new(left), Box::new(self.union()?));
            return Ok(Node::Not(Box::new(equals)));
        }
        Ok(left)
    }

    fn union(&mut self) -> Result<Node, ExpressionCompileError> {
        let mut alternatives = vec![self.typed()?];
        while self.takes_sign("|") {
            alternatives.push(self.typed()?);
        }
        alternatives.retain(|node| *node != Node::Nothing);
        Ok(match alternatives.len() {
            0 | 1 => alternatives.pop().unwrap_or(Node::Nothing),
            _ => Node::Union(alternatives),
        })
    }

    fn typed(&mut self) -> Result<Node, ExpressionCompileError> {
        let (mut node, mut nested) = (self.path()?, 0);
        loop {
            deeper(&mut nested)?;
            if self.takes_name("as") {
                node = of_type(node, &self.type_name()?);
            } else if self.takes_name("is") {
                node = Node::Is(Box::new(node), self.type_name()?.into());
            } else {
                return Ok(node);
            }
        }
    }

    /// `Quantity`, `FHIR.Quantity` or `System.String`.
    fn type_name(&mut self) -> Result<String, ExpressionCompileError> {
        let name = self.name()?;
        if matches!(name.as_str(), "FHIR" | "System") && self.takes_sign(".") { self.name() } else { Ok(name) }
    }

    fn path(&mut self) -> Result<Node, ExpressionCompileError> {
        deeper(&mut self.depth)?;
        let (mut node, mut nested) = (self.start()?, 0);
        loop {
            deeper(&mut nested)?;
            if self.takes_sign(".") {
                node = self.step(node)?;
            } else if self.takes_sign("[") {
                let Word::Number(index) = self.next()? else {
                    return Err(ExpressionCompileError::Unsupported("[".into()));
                };
                self.expect("]")?;
                node = at(node, index);
            } else {
                self.depth -= 1;
                return Ok(node);
            }
        }
    }

    fn start(&mut self) -> Result<Node, ExpressionCompileError> {
        match self.next()? {
            Word::Sign("(") => {
                let node = self.either()?;
                self.expect(")")?;
                Ok(node)
            }
            Word::Sign("%") => match self.name()?.as_str() {
                "resource" | "rootResource" => Ok(Node::Resource),
                "context" => Ok(Node::This),
                other => Err(ExpressionCompileError::Unsupported(format!("%{other}"))),
            },
            Word::Text(text) => Ok(Node::Literal(Literal::Text(text.into()))),
            Word::Name(name) => self.named(Node::This, name, true),
            other => Err(unsupported(&other)),
        }
    }

    fn step(&mut self, of: Node) -> Result<Node, ExpressionCompileError> {
        let name = self.name()?;
        self.named(of, name, false)
    }

    fn named(&mut self, of: Node, name: String, first: bool) -> Result<Node, ExpressionCompileError> {
        if self.takes_sign("(") {
            return self.call(of, name);
        }
        match name.as_str() {
            "true" | "false" if first => Ok(Node::Literal(Literal::Flag(name == "true"))),
            "$this" if first => Ok(of),
            _ if name.contains('$') => Err(ExpressionCompileError::Unsupported(name)),
            _ if first && (name == self.type_name || ROOTS.contains(&name.as_str())) => Ok(Node::This),
            _ if first && is_type(&name) => Ok(Node::Nothing),
            _ => Ok(child(of, &name)),
        }
    }

    fn call(&mut self, of: Node, name: String) -> Result<Node, ExpressionCompileError> {
        let node = match name.as_str() {
            "where" => Node::Where(Box::new(of), Box::new(self.either()?)),
            "exists" if self.takes_sign(")") => return Ok(Node::Exists(Box::new(of))),
            "exists" => Node::Exists(Box::new(Node::Where(Box::new(of), Box::new(self.either()?)))),
            "empty" => Node::Not(Box::new(Node::Exists(Box::new(of)))),
            "not" => Node::Not(Box::new(of)),
            "first" => at(of, 0),
            "as" | "ofType" => of_type(of, &self.type_name()?),
            "is" => Node::Is(Box::new(of), self.type_name()?.into()),
            "extension" => {
                let Word::Text(url) = self.next()? else { return Err(ExpressionCompileError::Function(name)) };
                extension(of, url)
            }
            "resolve" => return self.resolved(of),
            _ => return Err(ExpressionCompileError::Function(name)),
        };
        self.expect(")")?;
        Ok(if is_nothing(&node) { Node::Nothing } else { node })
    }

    /// `resolve() is Type`; what a reference is to cannot be looked into.
    fn resolved(&mut self, of: Node) -> Result<Node, ExpressionCompileError> {
        self.expect(")")?;
        if !self.takes_name("is") {
            return Err(ExpressionCompileError::Function("resolve".to_owned()));
        }
        let type_name = self.type_name()?;
        Ok(Node::RefersTo(Box::new(of), type_name.into()))
    }
}

fn child(of: Node, name: &str) -> Node {
    if of == Node::Nothing { Node::Nothing } else { Node::Child(Box::new(of), name.into()) }
}

fn at(of: Node, index: usize) -> Node {
    if of == Node::Nothing { Node::Nothing } else { Node::At(Box::new(of), index) }
}

fn extension(of: Node, url: String) -> Node {
    let named = Node::Equals(
        Box::new(Node::Child(Box::new(Node::This), "url".into())),
        Box::new(Node::Literal(Literal::Text(url.into()))),
    );
    Node::Where(Box::new(child(of, "extension")), Box::new(named))
}

/// `(a.b as X)`: the element of that type where `b` is a choice.
fn of_type(of: Node, type_name: &str) -> Node {
    match of {
        Node::Nothing => Node::Nothing,
        Node::Child(inner, name) => Node::choice(*inner, &name, type_name),
        Node::Union(nodes) => Node::Union(nodes.into_iter().map(|node| of_type(node, type_name)).collect()),
        other => Node::OfType(Box::new(other), type_name.into()),
    }
}

/// Returns whether what is asked of an alternative about another type is nothing as well.
fn is_nothing(node: &Node) -> bool {
    match node {
        Node::Nothing => true,
        Node::Where(of, _) | Node::OfType(of, _) | Node::Exists(of) | Node::Child(of, _) => is_nothing(of),
        _ => false,
    }
}
