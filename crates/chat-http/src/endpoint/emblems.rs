//! `/realm/icon` and `/realm/logo`: the pictures of the organization itself.
//!
//! Not specified; parameters, keys and texts are those existing clients know. A picture that is replaced is deleted, as
//! an avatar is: who takes one back means it.

use std::io::Cursor;

use chat_core::log::commit::RealmCommit;
use chat_core::model::organization_image::{OrganizationImage, OrganizationImages};
use chat_core::model::snapshot::RealmSnapshot;
use chat_core::organization::images;
use chat_core::permission::access;
use serde_json::json;

use super::icon;
use super::pictures::{Kind, delete_at, give_up, keep, only_file};
use crate::answer::Answer;
use crate::auth::Caller;
use crate::call::{Call, endpoint};
use crate::error::{Fault, ThingFault};
use crate::params::{Json, ParamFault, Params, Reader};
use crate::routes::{Routes, nothing, post};
use crate::schema::{Member, Schema, has};

pub(crate) fn routes() -> Routes {
    let icon = post(endpoint(replace_icon).says("Give the organization another icon.", shown).with_file())
        .delete(endpoint(remove_icon).says("Give the organization the usual icon again.", shown));
    let logo = post(endpoint(replace_logo).says("Give the organization another logo.", nothing).with_file())
        .delete(endpoint(remove_logo).says("Give the organization the usual logo again.", nothing));
    Routes::of("organization").api("/realm/icon", icon).api("/realm/logo", logo)
}

/// Returns where a picture is: as an avatar's, an address of the organization's own is relative to the realm's.
pub(crate) fn url(emblems: &OrganizationImages, emblem: OrganizationImage, base_url: &str) -> String {
    emblems.url(emblem).map_or_else(|| icon::url(base_url), str::to_owned)
}

/// Which of the logos.
struct Which(OrganizationImage);

impl Params for Which {
    fn read(given: &mut Reader<'_>) -> Result<Self, ParamFault> {
        let is_for_dark = given.required::<Json<bool>>("night")?;
        Ok(Self(if is_for_dark { OrganizationImage::NightLogo } else { OrganizationImage::Logo }))
    }
}

/// Gives the organization another icon.
async fn replace_icon(mut call: Call<Caller>, (): ()) -> Result<Answer, Fault> {
    replace(&mut call, OrganizationImage::Icon).await?;
    shown_icon(&call)
}

/// Gives the organization the usual icon again.
async fn remove_icon(call: Call<Caller>, (): ()) -> Result<Answer, Fault> {
    change(&call, OrganizationImage::Icon, None).await?;
    shown_icon(&call)
}

fn shown_icon(call: &Call<Caller>) -> Result<Answer, Fault> {
    let realm = call.app.realm();
    let emblems = realm.realm().map(|realm| realm.emblems.clone()).unwrap_or_default();
    Answer::of(&json!({"icon_url": url(&emblems, OrganizationImage::Icon, &call.app.settings.base_url)}))
}

/// Returns the members of the response.
fn shown() -> Vec<Member> {
    vec![has("icon_url", Schema::string())]
}

/// Gives the organization another logo.
async fn replace_logo(mut call: Call<Caller>, Which(logo): Which) -> Result<Answer, Fault> {
    replace(&mut call, logo).await?;
    Ok(Answer::empty())
}

/// Gives the organization the usual logo again.
async fn remove_logo(call: Call<Caller>, Which(logo): Which) -> Result<Answer, Fault> {
    change(&call, logo, None).await?;
    Ok(Answer::empty())
}

/// Makes a picture of the file and the organization's. What can be refused without looking at the file is.
async fn replace(call: &mut Call<Caller>, emblem: OrganizationImage) -> Result<(), Fault> {
    access::require_administrator(&call.who.user)?;
    let otherwise = match emblem {
        OrganizationImage::Icon => ThingFault::NotOneIcon,
        OrganizationImage::Logo | OrganizationImage::NightLogo => ThingFault::NotOneLogo,
    };
    let file = only_file(std::mem::take(&mut call.files), otherwise)?;
    let emblem_of = match emblem {
        OrganizationImage::Icon => chat_pictures::icon,
        OrganizationImage::Logo | OrganizationImage::NightLogo => chat_pictures::logo,
    };
    let bytes = chat_pictures::decoding_bytes(Cursor::new(&file))?;
    let made = call.app.workshop.run(bytes, move || emblem_of(&file)).await??;
    let kept = keep(&call.app, Kind::Emblem, vec![("", made)]).await?;
    let url = kept.first().map(|picture| picture.url.as_str());
    let changed = change(call, emblem, url).await;
    if changed.is_err() {
        give_up(&call.app, &kept).await;
    }
    changed
}

/// Makes the picture at `url` the organization's, and deletes the one before.
async fn change(call: &Call<Caller>, emblem: OrganizationImage, url: Option<&str>) -> Result<(), Fault> {
    let usual = icon::url(&call.app.settings.base_url);
    let decide = |realm: &RealmSnapshot, commit: &mut RealmCommit| {
        Ok(images::change(realm, call.who.again(realm)?, (emblem, url), &usual, commit)?)
    };
    let before = call.app.commit(decide).await?;
    if let Some(before) = before.filter(|before| Some(before.as_str()) != url) {
        delete_at(&call.app, [before.as_str()]).await;
    }
    Ok(())
}
