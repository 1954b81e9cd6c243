//! Argon2id over memory that its thread keeps.
//!
//! A hash fills 19 MiB. Asked of the system anew each time, that is 4,864 pages for the kernel to find and
//! to zero, and a change of the address space that every other thread of the process waits for. So a thread
//! keeps its memory from one hash to the next, and gives it back when it ends, which threads for blocking
//! work do when nobody has asked for a while. What it holds meanwhile is what the last hash left there.

use std::cell::RefCell;

use argon2::password_hash::phc::{Output, PasswordHash};
use argon2::{Algorithm, Argon2, Block, Params, Version};

use super::ARGON2_MEMORY_KIB;

thread_local! {
    static MEMORY: RefCell<Vec<Block>> = const { RefCell::new(Vec::new()) };
}

/// Returns whether `candidate` gives `hash` with the parameters of that; the outputs are compared in constant time.
pub(super) fn is_of(candidate: &[u8], hash: &PasswordHash) -> bool {
    computed(candidate, hash).is_some_and(|computed| hash.hash.as_ref() == Some(&computed))
}

fn computed(candidate: &[u8], hash: &PasswordHash) -> Option<Output> {
    let (salt, expected) = hash.salt.as_ref().zip(hash.hash.as_ref())?;
    let version = hash.version.map_or(Some(Version::default()), |number| Version::try_from(number).ok())?;
    let params = Params::try_from(hash).ok()?;
    let blocks = params.block_count();
    let argon2 = Argon2::new(Algorithm::Argon2id, version, params);
    let mut output = vec![0; expected.len()];
    let mut into = |memory: &mut [Block]| argon2.hash_password_into_with_memory(candidate, salt, &mut output, memory);
    // A stored hash of other hands may ask for more than ours do; that is not kept.
    if u32::try_from(blocks).is_ok_and(|blocks| blocks <= ARGON2_MEMORY_KIB) {
        MEMORY.with_borrow_mut(|memory| {
            if memory.len() < blocks {
                memory.resize(blocks, Block::default());
            }
            into(memory)
        })
    } else {
        into(&mut vec![Block::default(); blocks])
    }
    .ok()?;
    Output::new(&output).ok()
}

#[cfg(test)]
mod tests {
    use argon2::{PasswordHasher as _, PasswordVerifier as _};

    use super::*;

    fn hash(password: &[u8], (memory_kib, passes, lanes): (u32, u32, u32)) -> PasswordHash {
        let params = Params::new(memory_kib, passes, lanes, None).unwrap();
        let argon2 = Argon2::new(Algorithm::Argon2id, Version::V0x13, params);
        argon2.hash_password_with_salt(password, b"a salt of 16 byt").unwrap()
    }

    #[test]
    fn what_the_last_hash_left_changes_nothing() {
        for parameters in [(64, 2, 1), (19_456, 2, 1), (64, 1, 4), (8, 1, 1), (20_000, 1, 1), (64, 2, 1)] {
            let hash = hash(b"correct horse", parameters);
            for candidate in [b"correct horse".as_slice(), b"correct horsf", b""] {
                let theirs = Argon2::default().verify_password(candidate, &hash).is_ok();
                assert_eq!(is_of(candidate, &hash), theirs, "{parameters:?} {candidate:?}");
                assert_eq!(theirs, candidate == b"correct horse");
            }
        }
    }

    #[test]
    fn a_thread_keeps_the_memory_of_one_hash_of_ours_and_no_more() {
        let kept = || MEMORY.with_borrow(Vec::len);
        let kept = std::thread::spawn(move || {
            let before = kept();
            is_of(b"x", &hash(b"x", (19_456, 1, 1)));
            let ours = kept();
            is_of(b"x", &hash(b"x", (20_000, 1, 1)));
            (before, ours, kept())
        });
        assert_eq!(kept.join().unwrap(), (0, 19_456, 19_456));
    }
}
