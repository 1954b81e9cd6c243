//! The rules for new passwords.
//!
//! A password that was stored before stays good: rules apply to what is chosen, not to what is typed to sign in.

/// Fewest characters of a new password, unless the operator says otherwise (NIST SP 800-63B, section 5.1.1.2).
pub const PASSWORD_MIN_CHARS: usize = 8;

/// The reason why a new password is refused. The texts never hold the password.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum NewPasswordError {
    /// It has too few characters.
    #[error("must be at least {min_chars} characters long")]
    TooShort {
        /// How many it needs.
        min_chars: usize,
    },
    /// It is one of those that are tried first.
    #[error("must not be one of the most common passwords")]
    Common,
}

/// Checks a new password that a user chose.
///
/// # Errors
/// [`NewPasswordError`].
///
/// # Source
/// NIST SP 800-63B, section 5.1.1.2: a least length, and a list of common ones; no rules about kinds of characters.
pub fn check_new_password(password: &str, min_chars: usize) -> Result<(), NewPasswordError> {
    if password.chars().count() < min_chars {
        return Err(NewPasswordError::TooShort { min_chars });
    }
    let is_common = COMMON.iter().any(|common| common.eq_ignore_ascii_case(password));
    if is_common { Err(NewPasswordError::Common) } else { Ok(()) }
}

/// The passwords that published lists of leaked ones begin with, in lower case.
const COMMON: &[&str] = &[
    "0123456789",
    "0987654321",
    "11111111",
    "111111111",
    "1111111111",
    "11223344",
    "112233445566",
    "12121212",
    "123123123",
    "123321123",
    "12341234",
    "123456",
    "1234567",
    "12345678",
    "123456789",
    "1234567890",
    "12345678910",
    "123456a",
    "1234abcd",
    "1234qwer",
    "123qwe123",
    "1q2w3e4r",
    "1q2w3e4r5t",
    "1qaz2wsx",
    "1qazxsw2",
    "22222222",
    "77777777",
    "87654321",
    "88888888",
    "987654321",
    "9876543210",
    "99999999",
    "a1234567",
    "a12345678",
    "aa123456",
    "aaaaaaaa",
    "abc12345",
    "abcd1234",
    "abcdefgh",
    "admin123",
    "administrator",
    "asdasdasd",
    "asdf1234",
    "asdfasdf",
    "asdfghjk",
    "asdfghjkl",
    "baseball",
    "changeme",
    "charlie1",
    "computer",
    "dragon123",
    "football",
    "football1",
    "iloveyou",
    "iloveyou1",
    "jennifer",
    "letmein1",
    "liverpool",
    "master123",
    "michelle",
    "monkey123",
    "p@ssw0rd",
    "p@ssword",
    "pass1234",
    "passw0rd",
    "password",
    "password!",
    "password1",
    "password12",
    "password123",
    "password1234",
    "princess",
    "princess1",
    "q1w2e3r4",
    "q1w2e3r4t5",
    "qazwsxedc",
    "qwer1234",
    "qwerqwer",
    "qwerty12",
    "qwerty123",
    "qwerty1234",
    "qwertyui",
    "qwertyuiop",
    "samsung1",
    "shadow123",
    "starwars",
    "sunshine",
    "sunshine1",
    "superman",
    "test1234",
    "trustno1",
    "welcome1",
    "welcome123",
    "whatever",
    "zaq12wsx",
    "zaq1zaq1",
    "zxcvbnm1",
    "zxcvbnm123",
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_new_password_is_long_enough_in_characters_and_not_a_common_one() {
        assert_eq!(check_new_password("correct horse", 8), Ok(()));
        assert_eq!(check_new_password("äöüÄÖÜß€", 8), Ok(()));
        assert_eq!(check_new_password("äöüÄÖÜß", 8), Err(NewPasswordError::TooShort { min_chars: 8 }));
        assert_eq!(check_new_password("", 1), Err(NewPasswordError::TooShort { min_chars: 1 }));
        for common in ["password", "PassWord123", "12345678", "qwertyuiop", "iloveyou"] {
            assert_eq!(check_new_password(common, 8), Err(NewPasswordError::Common), "{common}");
        }
        assert_eq!(check_new_password("123456", 6), Err(NewPasswordError::Common));
    }

    #[test]
    fn the_common_ones_are_in_order_and_in_lower_case() {
        assert!(COMMON.is_sorted());
        assert!(COMMON.iter().all(|common| *common == common.to_ascii_lowercase()));
    }
}
