//! Numbers of the things the chat is made of, one type for each so that they cannot be mixed up.

use std::fmt;

macro_rules! id {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub struct $name(pub i64);

        impl fmt::Display for $name {
            fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
                self.0.fmt(formatter)
            }
        }
    };
}

id! {
    /// A user, person or bot.
    UserId
}
id! {
    /// A user group.
    UserGroupId
}
id! {
    /// A channel (`stream` in the older words of the wire).
    ChannelId
}
