//! `/fetch_api_key` and `/dev_fetch_api_key`: from address and password to the key.

use chat_core::id::UserId;
use chat_core::log::store::Credentials;
use chat_core::model::snapshot::RealmSnapshot;
use chat_core::model::user::{ApiKey, User, email, fold};
use serde_json::json;

use crate::answer::Answer;
use crate::auth::LoginFault;
use crate::call::{Anyone, Call, endpoint};
use crate::error::Fault;
use crate::params::{ParamFault, Params, Reader, Text};
use crate::password::{self, Claim};
use crate::routes::{Routes, post};
use crate::schema::{Member, Schema, has};
use crate::state::Site;

pub(crate) fn routes() -> Routes {
    let fetch = endpoint(fetch).says("Tell a person their API key, for their password.", told);
    let without = endpoint(fetch_without_password).says("Tell a key without a password; nowhere in production.", told);
    Routes::of("server").api("/fetch_api_key", post(fetch)).api("/dev_fetch_api_key", post(without))
}

/// Who wants in.
struct Login {
    username: String,
    password: String,
}

impl Params for Login {
    fn read(given: &mut Reader<'_>) -> Result<Self, ParamFault> {
        Ok(Self { username: given.required::<Text>("username")?, password: given.required::<Text>("password")? })
    }
}

/// Gives a person their key for their password.
///
/// # Source
/// Specification, `POST /fetch_api_key`. Not specified: a wrong address and a wrong password give one answer, after
/// the same work; that an account is closed is told to who knows its password; bots have none.
async fn fetch(call: Call<Anyone>, login: Login) -> Result<Answer, Fault> {
    let app = &call.app;
    // A wrong password counts, so nobody is refused here whom another node has just let in.
    app.realm.refresh().await?;
    let realm = app.realm();
    if realm.realm().is_none_or(|realm| realm.is_deactivated) {
        return Err(LoginFault::RealmDeactivated.into());
    }
    let address = fold(email(&login.username)?);
    let user = person(&realm, &address);
    let claim = Claim { account: &address, user_id: user.map(|user| user.id), from: call.from };
    let credentials = password::check(app, claim, login.password).await?;
    let (user, credentials) = user.zip(credentials).ok_or(LoginFault::WrongPassword)?;
    opened(app, user, credentials).await
}

/// Returns the key of a person who is let in; a new one when they have none.
async fn opened(app: &Site, user: &User, credentials: Credentials) -> Result<Answer, Fault> {
    if !user.is_active {
        return Err(LoginFault::AccountDeactivated.into());
    }
    let api_key = match credentials.api_key {
        Some(key) => key,
        None => new_key(app, user.id).await?,
    };
    Answer::of(&json!({"api_key": api_key.expose(), "email": user.email, "user_id": user.id}))
}

/// Returns the members of the response.
fn told() -> Vec<Member> {
    vec![has("api_key", Schema::string()), has("email", Schema::string()), has("user_id", Schema::integer())]
}

/// Gives a person their key without a password, where developers are at work.
async fn fetch_without_password(call: Call<Anyone>, Username(address): Username) -> Result<Answer, Fault> {
    let app = &call.app;
    if !app.settings.development_login {
        return Err(Fault::ForDevelopment);
    }
    let realm = app.realm();
    if realm.realm().is_none_or(|realm| realm.is_deactivated) {
        return Err(LoginFault::RealmDeactivated.into());
    }
    let user = person(&realm, &fold(email(&address)?)).ok_or(LoginFault::WrongPassword)?;
    let credentials = app.realm.credentials(user.id).await?.ok_or(LoginFault::WrongPassword)?;
    opened(app, user, credentials).await
}

/// Who would be let in.
struct Username(String);

impl Params for Username {
    fn read(given: &mut Reader<'_>) -> Result<Self, ParamFault> {
        given.required::<Text>("username").map(Self)
    }
}

/// Returns the person of a folded address.
pub(super) fn person<'a>(realm: &'a RealmSnapshot, address: &str) -> Option<&'a User> {
    realm.user_by_email(address).map(AsRef::as_ref).filter(|user| user.bot.is_none())
}

/// Makes a key for the user, in place of the one they have.
pub(crate) async fn new_key(app: &Site, user_id: UserId) -> Result<ApiKey, Fault> {
    let key = app.fresh_key()?;
    app.commit(|realm, commit| {
        commit.set_key(realm, user_id, key.clone());
        Ok(())
    })
    .await?;
    Ok(key)
}
