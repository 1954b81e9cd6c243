//! What a clinical scope allows to be done: a small set of interactions and how it was spelled.

use std::fmt;
use std::str::FromStr;

use crate::ScopeParseError;

/// An interaction that permissions allow, in the order of the letters `cruds`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Interaction {
    /// `c`: create a resource.
    Create,
    /// `r`: read, version read and the history of one resource.
    Read,
    /// `u`: update and patch.
    Update,
    /// `d`: delete.
    Delete,
    /// `s`: search, and the history of a type or of the system.
    Search,
}

impl Interaction {
    /// Every interaction, in the order of v2 permissions.
    pub const ALL: [Self; 5] = [Self::Create, Self::Read, Self::Update, Self::Delete, Self::Search];

    /// Returns the letter of the interaction in v2 permissions.
    #[must_use]
    pub const fn letter(self) -> char {
        match self {
            Self::Create => 'c',
            Self::Read => 'r',
            Self::Update => 'u',
            Self::Delete => 'd',
            Self::Search => 's',
        }
    }

    const fn bit(self) -> u8 {
        match self {
            Self::Create => 1,
            Self::Read => 2,
            Self::Update => 4,
            Self::Delete => 8,
            Self::Search => 16,
        }
    }
}

/// The syntax of permissions: SMART v1 words or v2 letters.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Syntax {
    /// `read`, `write`, `*`. The star belongs to both syntaxes and is counted here: v2 can say `cruds`.
    V1,
    /// Letters of `cruds`.
    V2,
}

/// A non-empty set of interactions with its format.
///
/// Two values are equal when they print the same; what they allow is compared with
/// [`Permissions::covers`].
///
/// # Source
/// Specification "Scopes": `read` is `rs`, `write` is `cud`, `*` is `cruds`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Permissions {
    /// Never zero.
    bits: u8,
    /// [`Syntax::V1`] only for the three sets that v1 can spell.
    syntax: Syntax,
}

const READ_BITS: u8 = Interaction::Read.bit() | Interaction::Search.bit();
const WRITE_BITS: u8 = Interaction::Create.bit() | Interaction::Update.bit() | Interaction::Delete.bit();

impl Permissions {
    /// Returns the permissions for `interactions`; `None` when there are none.
    ///
    /// A set that v1 has no word for is written in v2 whatever `syntax` says.
    #[must_use]
    pub fn new(interactions: &[Interaction], syntax: Syntax) -> Option<Self> {
        let bits = interactions.iter().fold(0, |bits, interaction| bits | interaction.bit());
        Self::from_bits(bits, syntax)
    }

    /// Returns the syntax in which the permissions are written.
    #[must_use]
    pub const fn syntax(self) -> Syntax {
        self.syntax
    }

    /// Returns the same interactions in `syntax`, or in v2 when v1 has no word for them.
    #[must_use]
    pub const fn spelled(self, syntax: Syntax) -> Self {
        let syntax = match v1_word(self.bits) {
            Some(_) => syntax,
            None => Syntax::V2,
        };
        Self { bits: self.bits, syntax }
    }

    /// Returns whether `interaction` is allowed.
    #[must_use]
    pub const fn allows(self, interaction: Interaction) -> bool {
        self.bits & interaction.bit() != 0
    }

    /// Returns whether `self` allows every interaction that `other` allows.
    #[must_use]
    pub const fn covers(self, other: Self) -> bool {
        self.bits & other.bits == other.bits
    }

    /// Returns whether no interaction but read and search is allowed.
    #[must_use]
    pub const fn is_read_only(self) -> bool {
        self.bits & WRITE_BITS == 0
    }

    /// Returns the interactions that both allow, in the syntax of `self` where it can be; `None` when there are none.
    #[must_use]
    pub fn intersection(self, other: Self) -> Option<Self> {
        Self::from_bits(self.bits & other.bits, self.syntax)
    }

    /// Returns the interactions that either allows, in the syntax of `self` where it can be.
    #[must_use]
    pub const fn union(self, other: Self) -> Self {
        Self { bits: self.bits | other.bits, syntax: Syntax::V2 }.spelled(self.syntax)
    }

    /// Returns the interactions, in the order of the letters.
    pub fn interactions(self) -> impl Iterator<Item = Interaction> {
        Interaction::ALL.into_iter().filter(move |interaction| self.allows(*interaction))
    }

    fn from_bits(bits: u8, syntax: Syntax) -> Option<Self> {
        (bits != 0).then(|| Self { bits, syntax: Syntax::V2 }.spelled(syntax))
    }
}

impl FromStr for Permissions {
    type Err = ScopeParseError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let v1 = |bits| Self { bits, syntax: Syntax::V1 };
        match text {
            "" => Err(ScopeParseError::EmptyPermissions),
            "read" => Ok(v1(READ_BITS)),
            "write" => Ok(v1(WRITE_BITS)),
            "*" => Ok(v1(READ_BITS | WRITE_BITS)),
            letters => Ok(Self { bits: bits_of_letters(letters)?, syntax: Syntax::V2 }),
        }
    }
}

impl fmt::Display for Permissions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.syntax, v1_word(self.bits)) {
            (Syntax::V1, Some(word)) => f.write_str(word),
            _ => self.interactions().try_for_each(|interaction| write!(f, "{}", interaction.letter())),
        }
    }
}

const fn v1_word(bits: u8) -> Option<&'static str> {
    const ALL_BITS: u8 = READ_BITS | WRITE_BITS;
    match bits {
        READ_BITS => Some("read"),
        WRITE_BITS => Some("write"),
        ALL_BITS => Some("*"),
        _ => None,
    }
}

/// Returns the bits ascend in the order of the letters, so an ordered word has ever larger ones.
fn bits_of_letters(letters: &str) -> Result<u8, ScopeParseError> {
    let mut bits = 0;
    let mut ordered = true;
    for letter in letters.chars() {
        let Some(interaction) = Interaction::ALL.into_iter().find(|i| i.letter() == letter) else {
            return Err(ScopeParseError::UnknownPermission { permissions: letters.to_owned() });
        };
        if bits & interaction.bit() != 0 {
            return Err(ScopeParseError::RepeatedPermission { permissions: letters.to_owned() });
        }
        ordered &= bits < interaction.bit();
        bits |= interaction.bit();
    }
    if ordered { Ok(bits) } else { Err(ScopeParseError::PermissionsOutOfOrder { permissions: letters.to_owned() }) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_thirty_one_v2_words_parse_and_print_the_same() {
        for bits in 1_u8..32 {
            let word = Permissions { bits, syntax: Syntax::V2 }.to_string();
            let parsed: Permissions = word.parse().unwrap();
            assert_eq!((parsed.bits, parsed.to_string()), (bits, word));
        }
    }

    #[test]
    fn read_is_rs_and_write_is_cud_and_star_is_cruds() {
        for (v1, v2) in [("read", "rs"), ("write", "cud"), ("*", "cruds")] {
            let (one, two): (Permissions, Permissions) = (v1.parse().unwrap(), v2.parse().unwrap());
            assert_eq!(one.bits, two.bits);
            assert_ne!(one, two, "equality is spelling");
            assert_eq!(two.spelled(Syntax::V1), one);
            assert_eq!(one.spelled(Syntax::V2), two);
        }
    }

    #[test]
    fn a_set_without_a_v1_word_stays_v2() {
        let read_only: Permissions = "r".parse().unwrap();
        assert_eq!(read_only.spelled(Syntax::V1), read_only);
        assert_eq!(Permissions::new(&[], Syntax::V1), None);
    }
}
