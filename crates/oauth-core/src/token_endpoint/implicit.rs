//! The `implicit` grant: an access token in the answer of the authorization endpoint.
//!
//! Only for Clients that list it: the token passes through the browser's address (RFC 9700, section 2.1.2
//! advises against it).

use super::member::{MemberTokenRequest, begin};
use super::{TokenError, TokenResponse, TokenService};
use crate::client::Client;
use crate::end_user::EndUser;
use crate::granted_authorization::GrantedAuthorization;
use crate::time_and_randomness::TimeAndRandomness;

impl TokenService {
    /// Issues the token that `person` authorized for `client` under the grant `grant_id`; neither a refresh
    /// token nor an id token goes with it (RFC 6749, section 4.2.2).
    ///
    /// # Errors
    /// [`TokenError`]; nothing is stored then.
    ///
    /// # Source
    /// RFC 6749, section 4.2.
    pub async fn issue_implicit_token(
        &self,
        env: &TimeAndRandomness<'_>,
        (client, person): (&Client, &EndUser),
        authorization: &GrantedAuthorization,
        grant_id: Option<String>,
    ) -> Result<TokenResponse, TokenError> {
        let member = MemberTokenRequest::of(client, Some(person), authorization, &authorization.credential)?;
        let (response, tokens) = begin(env, self, &member, env.random_identifier(), grant_id).await?;
        self.families.store_grantless_family(tokens).await?;
        Ok(response)
    }
}
