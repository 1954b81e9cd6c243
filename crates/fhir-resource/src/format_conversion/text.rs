//! A stored document as FHIR spells it, made of its text.
//!
//! An export writes millions of documents of which nothing is asked, and taking each apart into values costs several
//! times what reading it does. So its text is copied member by member, checked to be JSON on the way; only an object
//! that is a reference or an extension in the native format is taken apart, and rewritten by the rule that converts
//! values. Those rules stay in one place: this module knows by their names which objects they may concern. Only what
//! most of these objects are is written here as well: a reference that is a type and an id and nothing else. What stays
//! as it is spelled, and has no blanks in between, is copied at once.

use std::borrow::Cow;

use serde::Deserialize;
use serde::de::IgnoredAny;
use serde_json::{Map, Value};

use super::{Format, convert_object, references_are_patterns};
use crate::reference::{self, ElementContext};
use crate::resource_key::{ResourceId, ResourceKey, ResourceType};

/// How deep a document may be nested here.
const DEPTH_MAX: usize = 100;
/// The members that mark a reference in the native format.
const NATIVE: [&[u8]; 5] = [b"resourceType", b"id", b"versionId", b"localRef", b"uri"];

const META: &[u8] = b"meta";

/// The error of a body that cannot be converted as text: it has to be parsed first, or is not a document. Nothing was
/// appended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the text of the document cannot be copied")]
pub struct NeedsParsingError;

/// The members before the body of a document: key, version and time.
#[derive(Clone, Copy, Debug)]
pub struct DocumentHead<'a> {
    /// The type and the id.
    pub key: &'a ResourceKey,
    /// The number of the write.
    pub version: i64,
    /// When it was written, a FHIR `instant`.
    pub last_updated: &'a str,
}

/// Appends the whole document of a stored body as one line of JSON, in the native format as stored or converted to
/// FHIR's. A member that the body has twice is there twice.
///
/// # Errors
/// [`NeedsParsingError`].
pub fn append_document_line(
    head: DocumentHead<'_>,
    body: &str,
    native: bool,
    out: &mut Vec<u8>,
) -> Result<(), NeedsParsingError> {
    let DocumentHead { key: ResourceKey { resource_type, id }, version, last_updated } = head;
    if references_are_patterns(resource_type.as_str()) {
        return Err(NeedsParsingError);
    }
    let begin = out.len();
    let named = format!(
        r#"{{"resourceType":"{resource_type}","id":"{id}","meta":{{"versionId":"{version}","lastUpdated":"{last_updated}"}}"#
    );
    let body = body.as_bytes();
    let mut copy = Copy { rest: body, behind: body, out: std::mem::take(out), native, depth: 0 };
    copy.out.extend_from_slice(named.as_bytes());
    let copied = copy.body(&ElementContext::document_root(Some(resource_type.as_str())));
    *out = copy.out;
    if copied.is_err() {
        out.truncate(begin);
    }
    copied
}

/// A text on its way into another.
struct Copy<'a> {
    /// What is not read yet.
    rest: &'a [u8],
    /// What is not written yet: what has been read of it goes as it is.
    behind: &'a [u8],
    out: Vec<u8>,
    native: bool,
    depth: usize,
}

/// What the names of an object say about it: a set of the bits below.
#[derive(Clone, Copy, Default)]
struct Seen(u8);

impl Seen {
    /// A name that marks a native reference.
    const TARGET: u8 = 1;
    /// A name that no reference has.
    const OTHER: u8 = 2;
    /// `value`.
    const VALUE: u8 = 4;
    /// `versionId` or `lastUpdated`.
    const VERSION: u8 = 8;

    fn note(&mut self, name: &[u8]) {
        self.0 |= match name {
            b"versionId" => Self::TARGET | Self::VERSION,
            b"lastUpdated" => Self::OTHER | Self::VERSION,
            b"value" => Self::OTHER | Self::VALUE,
            name if NATIVE.contains(&name) => Self::TARGET,
            name if reference::is_companion(name) => 0,
            _ => Self::OTHER,
        };
    }

    const fn has(self, bit: u8) -> bool {
        self.0 & bit != 0
    }

    /// Returns whether a rule may change an object of these names.
    fn may_change(self, element: &[u8]) -> bool {
        let is_extension = matches!(element, b"extension" | b"modifierExtension");
        (self.has(Self::TARGET) && !self.has(Self::OTHER)) || (is_extension && self.has(Self::VALUE))
    }
}

/// What a reference to a resource in the native format consists of.
#[derive(Clone, Copy, Default)]
struct Named<'a> {
    resource_type: Option<&'a [u8]>,
    id: Option<&'a [u8]>,
    members: usize,
}

impl<'a> Named<'a> {
    /// Takes a member, with what stands between the quotation marks where its value is a text.
    fn note(&mut self, name: &[u8], text: Option<&'a [u8]>) {
        self.members += 1;
        match name {
            b"resourceType" => self.resource_type = text,
            b"id" => self.id = text,
            _ => {}
        }
    }

    /// Returns the type and the id, where there is nothing else and they are fit for a reference.
    fn only(self) -> Option<(&'a str, &'a str)> {
        let text = |part: Option<&'a [u8]>| std::str::from_utf8(part?).ok();
        let (resource_type, id) = (text(self.resource_type)?, text(self.id)?);
        let fit =
            self.members == 2 && resource_type.parse::<ResourceType>().is_ok() && id.parse::<ResourceId>().is_ok();
        fit.then_some((resource_type, id))
    }
}

impl<'a> Copy<'a> {
    /// The members of a body behind what names it; its own `meta` goes into the one that is there.
    fn body(&mut self, root: &ElementContext<'_>) -> Result<(), NeedsParsingError> {
        let (named, mut own_meta, mut first) = (self.out.len(), None, true);
        self.space();
        self.expect(b'{')?;
        self.leave_out();
        loop {
            let begin = self.out.len();
            if !self.is_member(&mut first)? {
                break;
            }
            // What stands between the members is ours, and each has a comma before it.
            self.leave_out();
            self.out.truncate(begin);
            self.out.push(b',');
            let name = self.name()?;
            match name {
                b"resourceType" | b"id" => return Err(NeedsParsingError),
                b"meta" if own_meta.is_some() => return Err(NeedsParsingError),
                b"meta" => own_meta = Some(self.own_meta(begin, root)?),
                name => drop(self.value(&root.child_member(name))?),
            }
            self.write_out();
        }
        self.leave_out();
        self.space();
        self.out.push(b'}');
        if let Some(own_meta) = own_meta {
            // Before the bracket that closes ours.
            let at = named.saturating_sub(1);
            self.out.splice(at..at, own_meta);
        }
        if self.rest.is_empty() { Ok(()) } else { Err(NeedsParsingError) }
    }

    /// Returns what a `meta` of the body adds to ours. Its name, from `begin` on, is not written.
    fn own_meta(&mut self, begin: usize, root: &ElementContext<'_>) -> Result<Vec<u8>, NeedsParsingError> {
        self.space();
        self.leave_out();
        self.out.truncate(begin);
        let seen = self.object(&root.child_member(META))?;
        // A version in the body would replace ours; and together with ours it is no reference.
        if seen.has(Seen::VERSION) || seen.may_change(META) {
            return Err(NeedsParsingError);
        }
        self.write_out();
        let mut members = self.out.split_off(begin);
        members.pop();
        match members.get_mut(..) {
            Some([opening, _, ..]) => *opening = b',',
            _ => members.clear(),
        }
        Ok(members)
    }

    /// Returns whether another member of an object follows; the comma before it is read, or the end of the object.
    fn is_member(&mut self, first: &mut bool) -> Result<bool, NeedsParsingError> {
        self.space();
        if self.take(b'}') {
            return Ok(false);
        }
        if !std::mem::take(first) {
            self.expect(b',')?;
            self.space();
        }
        Ok(true)
    }

    /// Returns the name of a member.
    fn name(&mut self) -> Result<&'a [u8], NeedsParsingError> {
        let name = self.string()?;
        if name.contains(&b'\\') {
            return Err(NeedsParsingError);
        }
        self.space();
        self.expect(b':')?;
        Ok(name)
    }

    /// Returns what stands between the quotation marks of a text.
    fn value(&mut self, path: &ElementContext<'_>) -> Result<Option<&'a [u8]>, NeedsParsingError> {
        self.space();
        match self.rest.first() {
            Some(b'{') => drop(self.object(path)?),
            Some(b'[') => self.array(path)?,
            Some(b'"') => return self.string().map(Some),
            _ => self.plain()?,
        }
        Ok(None)
    }

    fn object(&mut self, path: &ElementContext<'_>) -> Result<Seen, NeedsParsingError> {
        let resource_type =
            if self.native && path.has_resource_element_name() { resource_type(self.rest)? } else { None };
        let path = path.with_object_type(|| resource_type.as_deref());
        let begin = self.written();
        let (mut seen, mut named, mut first) = (Seen::default(), Named::default(), true);
        self.expect(b'{')?;
        self.deeper()?;
        while self.is_member(&mut first)? {
            let name = self.name()?;
            seen.note(name);
            named.note(name, self.value(&path.child_member(name))?);
        }
        self.depth -= 1;
        if self.native && seen.may_change(path.element_name()) {
            self.write_out();
            match named.only().filter(|_| !path.may_be_resource()) {
                Some((resource_type, id)) => {
                    self.out.truncate(begin);
                    for part in [r#"{"reference":""#, resource_type, "/", id, "\"}"] {
                        self.out.extend_from_slice(part.as_bytes());
                    }
                }
                None => self.rewrite(&path, begin)?,
            }
        }
        Ok(seen)
    }

    /// Puts an object that is written already into FHIR's format.
    fn rewrite(&mut self, path: &ElementContext<'_>, begin: usize) -> Result<(), NeedsParsingError> {
        let written = self.out.get(begin..).ok_or(NeedsParsingError)?;
        let mut object: Map<String, Value> = serde_json::from_slice(written).map_err(|_| NeedsParsingError)?;
        convert_object(Format::Fhir, path, &mut object);
        self.out.truncate(begin);
        serde_json::to_writer(&mut self.out, &object).map_err(|_| NeedsParsingError)
    }

    fn array(&mut self, path: &ElementContext<'_>) -> Result<(), NeedsParsingError> {
        self.expect(b'[')?;
        self.deeper()?;
        self.space();
        let mut first = true;
        while !self.take(b']') {
            if !std::mem::take(&mut first) {
                self.expect(b',')?;
            }
            self.value(path)?;
            self.space();
        }
        self.depth -= 1;
        Ok(())
    }

    /// Returns what stands between quotation marks, as it is spelled.
    fn string(&mut self) -> Result<&'a [u8], NeedsParsingError> {
        self.expect(b'"')?;
        let text = self.rest;
        loop {
            let at = special_at(self.rest).ok_or(NeedsParsingError)?;
            let (_, found) = self.rest.split_at_checked(at).ok_or(NeedsParsingError)?;
            self.rest = match found {
                [b'"', rest @ ..] => {
                    self.rest = rest;
                    let length = text.len() - rest.len() - 1;
                    return text.get(..length).ok_or(NeedsParsingError);
                }
                [b'\\', b'"' | b'\\' | b'/' | b'b' | b'f' | b'n' | b'r' | b't', rest @ ..] => rest,
                [b'\\', b'u', a, b, c, d, rest @ ..] if [a, b, c, d].iter().all(|digit| digit.is_ascii_hexdigit()) => {
                    rest
                }
                _ => return Err(NeedsParsingError),
            };
        }
    }

    /// A number, `true`, `false` or `null`.
    fn plain(&mut self) -> Result<(), NeedsParsingError> {
        let ends = |byte: &u8| matches!(byte, b',' | b'}' | b']' | b' ' | b'\n' | b'\r' | b'\t');
        let at = self.rest.iter().position(ends).unwrap_or(self.rest.len());
        let (word, rest) = self.rest.split_at_checked(at).ok_or(NeedsParsingError)?;
        if !matches!(word, b"true" | b"false" | b"null") {
            serde_json::from_slice::<IgnoredAny>(word).map_err(|_| NeedsParsingError)?;
        }
        self.rest = rest;
        Ok(())
    }

    /// Reads blanks, which are not written.
    fn space(&mut self) {
        if !matches!(self.rest, [b' ' | b'\n' | b'\r' | b'\t', ..]) {
            return;
        }
        self.write_out();
        while let [b' ' | b'\n' | b'\r' | b'\t', rest @ ..] = self.rest {
            self.rest = rest;
        }
        self.leave_out();
    }

    /// Returns how much is written once what has been read is.
    fn written(&self) -> usize {
        self.out.len() + (self.behind.len() - self.rest.len())
    }

    /// Writes what has been read.
    fn write_out(&mut self) {
        let (read, _) = self.behind.split_at_checked(self.behind.len() - self.rest.len()).unwrap_or_default();
        self.out.extend_from_slice(read);
        self.leave_out();
    }

    /// Does not write what has been read.
    fn leave_out(&mut self) {
        self.behind = self.rest;
    }

    fn take(&mut self, byte: u8) -> bool {
        match self.rest.split_first() {
            Some((first, rest)) if *first == byte => {
                self.rest = rest;
                true
            }
            _ => false,
        }
    }

    fn expect(&mut self, byte: u8) -> Result<(), NeedsParsingError> {
        if self.take(byte) { Ok(()) } else { Err(NeedsParsingError) }
    }

    fn deeper(&mut self) -> Result<(), NeedsParsingError> {
        self.depth += 1;
        if self.depth > DEPTH_MAX { Err(NeedsParsingError) } else { Ok(()) }
    }
}

/// Returns the type that the object a text begins with names itself a resource of.
fn resource_type(text: &[u8]) -> Result<Option<Cow<'_, str>>, NeedsParsingError> {
    #[derive(Deserialize)]
    struct Named<'a> {
        #[serde(borrow, rename = "resourceType")]
        resource_type: Option<Cow<'a, str>>,
    }
    let mut objects = serde_json::Deserializer::from_slice(text).into_iter::<Named<'_>>();
    objects.next().and_then(Result::ok).map(|named| named.resource_type).ok_or(NeedsParsingError)
}

/// Returns where the next byte is that a text does not just go on with.
#[expect(
    clippy::needless_bitwise_bool,
    reason = "without branches the compiler compares many bytes of a block at once"
)]
fn special_at(text: &[u8]) -> Option<usize> {
    const FEW: usize = 16;
    const BLOCK: usize = 32;
    let special = |byte: &u8| (*byte == b'"') | (*byte == b'\\') | (*byte < b' ');
    let (short, long) = text.split_at_checked(FEW).unwrap_or((text, &[]));
    if let Some(at) = short.iter().position(special) {
        return Some(at);
    }
    let plain = |block: &&[u8]| !block.iter().fold(false, |found, byte| found | special(byte));
    let at = FEW + BLOCK * long.chunks_exact(BLOCK).take_while(plain).count();
    Some(at + text.get(at..)?.iter().position(special)?)
}

#[cfg(test)]
mod tests;
