//! Scope strings: what parses prints as it was sent, and restriction never widens.
#![no_main]

use libfuzzer_sys::fuzz_target;
use smart_scopes::{Scope, ScopeSet, restrict};

fuzz_target!(|text: &str| {
    if let Ok(scope) = text.parse::<Scope>() {
        assert_eq!(scope.to_string(), text);
    }
    let (left, right) = text.split_once('\n').unwrap_or((text, "system/*.cruds"));
    if let (Ok(requested), Ok(registered)) = (ScopeSet::parse(left), ScopeSet::parse(right)) {
        let granted = restrict(&requested, &registered).granted;
        for scope in granted.iter() {
            assert!(registered.covers(scope), "{scope} is wider than the registration {registered}");
        }
        assert_eq!(ScopeSet::parse(&granted.to_string()).as_ref(), Ok(&granted));
    }
});
