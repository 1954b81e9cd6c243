//! What a row of the tables is made of.

use super::{Answer, Caller, SUCCESS};
use crate::file_store::{form, png};

/// A call that is right, and what each role is told.
pub(crate) struct Row {
    /// `METHOD /path` below `/api/v1`.
    pub(crate) call: &'static str,
    pub(crate) parameters: &'static [(&'static str, &'static str)],
    /// What comes with the call.
    pub(crate) file: Option<Enclosed>,
    pub(crate) verdict: ErrorResponse,
}

/// A file that is sent.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Enclosed {
    Picture,
    Text,
}

impl Enclosed {
    pub(crate) fn form(self) -> Vec<u8> {
        match self {
            Self::Picture => form(&[("file", "red.png", "image/png", &png(20, 20))]),
            Self::Text => form(&[("file", "log.txt", "text/plain", b"All is well.")]),
        }
    }
}

/// Who may. Who closed their account may nothing that needs one, and nobody neither.
#[derive(Debug, Clone, Copy)]
pub(crate) enum ErrorResponse {
    /// Also who has no account.
    Everybody,
    /// All with an account in use.
    All,
    /// Nobody, and all with an account in use are told this.
    None(&'static str),
    /// Nobody, and everybody is told this.
    Off(&'static str),
    /// No caller, because no service sends encrypted notifications; bots are refused as bots.
    NoPushService,
    /// All but bots.
    People,
    /// All but guests.
    Members,
    /// All but guests and bots.
    MembersWhoArePeople,
    /// All but guests, who are told this.
    NotGuests(&'static str),
    /// Owners and administrators.
    Administrators,
    /// The same, in a channel that guests do not see.
    AdministratorsWhereSeen,
    /// The same; others are told this.
    AdministratorsElse(&'static str),
    /// The same; guests are notified that they are guests, and others this.
    AdministratorsAmongMembersElse(&'static str),
    /// The same; guests are notified that they are guests, bots that they are bots, and others this.
    AdministratorsWhoArePeopleElse(&'static str),
    /// The same; guests are notified that they are guests, and bots that they are bots.
    AdministratorsWhoArePeople,
    /// Owners.
    Owners,
    /// The same; guests are notified that they are guests, and bots that they are bots.
    OwnersWhoArePeople,
}

const UNAUTHORIZED: &str = "UNAUTHORIZED";
const BAD_REQUEST: &str = "BAD_REQUEST";

impl ErrorResponse {
    /// What that caller is told.
    ///
    /// # Source
    /// Specification, "Errors": a permission problem is `BAD_REQUEST`. Existing servers have a code of their own for
    /// some of them, which the specification does not know.
    pub(crate) fn of(self, caller: Caller) -> Answer {
        let expected = |status: u16, code: &str, text: &str| (status, code.to_owned(), text.to_owned());
        let refused = |text: &str| expected(400, BAD_REQUEST, text);
        let is_administrator = matches!(caller, Caller::Owner | Caller::Administrator);
        match self {
            Self::Everybody => SUCCESS,
            Self::Off(text) => refused(text),
            _ if caller == Caller::Deactivated => expected(401, UNAUTHORIZED, "Account is deactivated"),
            _ if caller == Caller::Nobody => {
                expected(401, UNAUTHORIZED, "Not logged in: API authentication or user session required")
            }
            _ if self.wants_members() && caller == Caller::Guest => refused("Not allowed for guest users"),
            _ if self.wants_people() && caller == Caller::Bot => refused("This endpoint does not accept bot requests."),
            Self::None(text) => refused(text),
            Self::NoPushService => expected(
                400,
                "PUSH_SERVICE_NOT_CONFIGURED",
                "Server is not configured to use push notification service.",
            ),
            Self::NotGuests(text) if caller == Caller::Guest => refused(text),
            Self::All | Self::People | Self::Members | Self::MembersWhoArePeople | Self::NotGuests(_) => SUCCESS,
            Self::AdministratorsWhereSeen if caller == Caller::Guest => refused("Invalid channel ID"),
            Self::Owners | Self::OwnersWhoArePeople if caller == Caller::Owner => SUCCESS,
            Self::Owners | Self::OwnersWhoArePeople => refused("Must be an organization owner"),
            _ if is_administrator => SUCCESS,
            Self::Administrators | Self::AdministratorsWhereSeen | Self::AdministratorsWhoArePeople => {
                refused("Must be an organization administrator")
            }
            Self::AdministratorsElse(text)
            | Self::AdministratorsAmongMembersElse(text)
            | Self::AdministratorsWhoArePeopleElse(text) => refused(text),
        }
    }

    /// Whether guests are refused because they are.
    fn wants_members(self) -> bool {
        matches!(self, Self::Members | Self::AdministratorsAmongMembersElse(_)) || self.wants_members_who_are_people()
    }

    /// Whether bots are refused because they are.
    fn wants_people(self) -> bool {
        matches!(self, Self::People | Self::NoPushService) || self.wants_members_who_are_people()
    }

    fn wants_members_who_are_people(self) -> bool {
        matches!(
            self,
            Self::MembersWhoArePeople
                | Self::OwnersWhoArePeople
                | Self::AdministratorsWhoArePeople
                | Self::AdministratorsWhoArePeopleElse(_)
        )
    }
}

/// A row without a file.
pub(crate) const fn row(
    call: &'static str,
    parameters: &'static [(&'static str, &'static str)],
    verdict: ErrorResponse,
) -> Row {
    Row { call, parameters, file: None, verdict }
}

/// A row with one.
pub(crate) const fn with_file(call: &'static str, file: Enclosed, verdict: ErrorResponse) -> Row {
    Row { call, parameters: &[], file: Some(file), verdict }
}

impl Row {
    /// The same, with these parameters in its address.
    pub(crate) const fn and(self, parameters: &'static [(&'static str, &'static str)]) -> Self {
        Self { parameters, ..self }
    }
}
