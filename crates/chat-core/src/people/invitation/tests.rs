use super::*;
use crate::event_log::email_queue::OutgoingEmail;
use crate::event_log::event::LogRecord;
use crate::id::EventId;
use crate::model::channel::ChannelPrivacy;
use crate::model::group::SystemGroup;
use crate::model::realm::RealmPermissionSettings;
use crate::model::realm_change::RealmChange;
use crate::model::user::{ApiKey, BotKind, BotProperties, InvitationSecret};
use crate::testing::{self, NOW_S};

const URL: &str = "https://chat.example.org";

fn secret(number: u8) -> InvitationSecret {
    InvitationSecret::new(ApiKey::from_random(&[number; 64]).unwrap())
}

fn terms(role: Role) -> InvitationTerms {
    InvitationTerms {
        minutes: Some(DEFAULT_INVITATION_VALIDITY_MINUTES),
        role,
        channels: Vec::new(),
        default_channels: false,
        groups: Vec::new(),
        notifies_inviter: true,
    }
}

/// A realm with a public channel (20) and a private one (21) that user 4 is in.
fn realm(rules: RealmPermissionSettings) -> RealmSnapshot {
    let more = vec![
        RealmChange::Channel(Box::new(testing::channel(20, ChannelPrivacy::Public))),
        RealmChange::Channel(Box::new(testing::channel(21, ChannelPrivacy::PrivateSharedHistory))),
        RealmChange::Subscription(Box::new(testing::subscription(21, 4))),
        RealmChange::Item { kind: RealmItemKind::DefaultChannel, id: 20, document: Some(json!({})) },
    ];
    testing::realm(rules, more)
}

fn env(realm: &RealmSnapshot, caller: i64) -> InvitationContext<'_> {
    InvitationContext { realm, caller: realm.user(UserId(caller)).unwrap(), base_url: URL, daily_limit: 5 }
}

fn commit(at_s: i64) -> RealmCommit {
    RealmCommit { at_s, ..RealmCommit::default() }
}

fn after(realm: &RealmSnapshot, commit: &RealmCommit) -> RealmSnapshot {
    realm.after_record(&LogRecord::new(EventId(realm.log_position().0 + 1), commit.at_s, commit.changes.clone(), None))
}

fn inviting(text: &str, terms: InvitationTerms) -> InviteRequest {
    let addresses = parse_invitee_emails(text);
    InviteRequest { secrets: (1..).take(addresses.len()).map(secret).collect(), addresses, terms }
}

/// Returns the realm after user `caller` invited these addresses, and the letters.
fn invited(
    realm: &RealmSnapshot,
    caller: i64,
    text: &str,
    terms: InvitationTerms,
) -> (RealmSnapshot, Vec<OutgoingEmail>) {
    let mut commit = commit(NOW_S);
    let done = invite_by_email(&env(realm, caller), &inviting(text, terms), &mut commit).unwrap();
    assert!(done.skipped.is_empty());
    (after(realm, &commit), commit.mail)
}

fn link_in(mail: &OutgoingEmail) -> InvitationLink {
    let end = mail.text.split_once("/join/").unwrap().1.split_whitespace().next().unwrap();
    InvitationLink::parse(end).unwrap()
}

fn joining(link: &InvitationLink) -> JoinRequest {
    JoinRequest {
        link: link.clone(),
        full_name: "New Person".to_owned(),
        password_hash: None,
        api_key: ApiKey::from_random(&[99; 64]).unwrap(),
    }
}

fn refusal(realm: &RealmSnapshot, caller: i64, text: &str, terms: InvitationTerms) -> InvitationError {
    let mut commit = commit(NOW_S);
    let refused = invite_by_email(&env(realm, caller), &inviting(text, terms), &mut commit).unwrap_err();
    assert!(commit.changes.is_empty() && commit.mail.is_empty() && commit.events.is_empty(), "{refused}");
    refused
}

#[test]
fn a_role_equal_or_more_restricted_than_the_callers_own_may_be_given_and_no_other() {
    let realm = realm(RealmPermissionSettings::default());
    for (caller, own) in [(1, Role::Owner), (2, Role::Administrator), (3, Role::Moderator), (4, Role::Member)] {
        for role in Role::ALL {
            let mut commit = commit(NOW_S);
            let done = invite_by_email(&env(&realm, caller), &inviting("a@x.org", terms(role)), &mut commit);
            assert_eq!(done.is_ok(), own <= role, "{own:?} invites {role:?}");
            assert_eq!(commit.mail.len(), usize::from(own <= role));
        }
    }
    assert_eq!(refusal(&realm, 2, "a@x.org", terms(Role::Owner)), PermissionError::OwnerRequired.into());
    assert_eq!(refusal(&realm, 4, "a@x.org", terms(Role::Moderator)), PermissionError::AdministratorRequired.into());
}

#[test]
fn guests_bots_and_those_the_realm_leaves_out_invite_nobody() {
    let bot = User {
        bot: Some(BotProperties { kind: BotKind::Generic, owner_id: Some(UserId(4)) }),
        ..testing::user(8, Role::Member)
    };
    let record = LogRecord::new(EventId(20), 0, vec![RealmChange::User(Box::new(bot))], None);
    let open = realm(RealmPermissionSettings::default()).after_record(&record);
    assert_eq!(refusal(&open, 6, "a@x.org", terms(Role::Guest)), PermissionError::GuestRefused.into());
    assert_eq!(refusal(&open, 8, "a@x.org", terms(Role::Guest)), PermissionError::BotRefused.into());
    let closed = realm(RealmPermissionSettings {
        invite: SystemGroup::Administrators.into(),
        ..RealmPermissionSettings::default()
    });
    assert_eq!(refusal(&closed, 3, "a@x.org", terms(Role::Guest)), PermissionError::Insufficient.into());
    assert!(
        may_list_invitations(&env(&open, 6)).is_err()
            && may_list_invitations(&env(&open, 8)).is_err()
            && may_list_invitations(&env(&open, 4)).is_ok()
    );
}

#[test]
fn channels_are_those_the_caller_could_put_others_into() {
    let realm_open = realm(RealmPermissionSettings::default());
    let within = |channels: &[i64]| InvitationTerms {
        channels: channels.iter().copied().map(ChannelId).collect(),
        ..terms(Role::Member)
    };
    assert_eq!(refusal(&realm_open, 4, "a@x.org", within(&[20, 99])), InvitationError::NoSuchChannel(ChannelId(99)));
    // An administrator sees a private channel, and is not in it.
    assert_eq!(refusal(&realm_open, 2, "a@x.org", within(&[21])), InvitationError::NoSuchChannel(ChannelId(21)));
    let (_, mail) = invited(&realm_open, 4, "a@x.org", within(&[20, 21, 20]));
    assert_eq!(mail.len(), 1);
    let closed = realm(RealmPermissionSettings {
        subscribe_others: SystemGroup::Moderators.into(),
        ..RealmPermissionSettings::default()
    });
    assert_eq!(refusal(&closed, 4, "a@x.org", within(&[20])), InvitationError::MayNotSubscribeOthers);
    assert_eq!(invited(&closed, 4, "a@x.org", within(&[])).1.len(), 1);
}

#[test]
fn who_has_an_account_is_skipped_and_the_others_are_invited() {
    let realm = realm(RealmPermissionSettings::default());
    let closed = User { is_active: false, ..testing::user(9, Role::Member) };
    let realm = realm.after_record(&LogRecord::new(EventId(20), 0, vec![RealmChange::User(Box::new(closed))], None));
    let mut commit = commit(NOW_S);
    let request = inviting("USER4@example.org, new@x.org, user9@example.org", terms(Role::Member));
    let done = invite_by_email(&env(&realm, 4), &request, &mut commit).unwrap();
    assert_eq!(commit.mail.iter().map(|mail| mail.to.as_str()).collect::<Vec<_>>(), ["new@x.org"]);
    let unsent = done.require_all_invited().unwrap_err();
    assert_eq!(unsent.because, InvitationsNotSentReason::SomeSkipped);
    let reasons: Vec<_> = unsent.skipped.iter().map(|skipped| skipped.because).collect();
    assert_eq!(reasons, [InviteeSkipReason::HasAccount, InviteeSkipReason::Deactivated]);

    let mut nothing = self::commit(NOW_S);
    let done =
        invite_by_email(&env(&realm, 4), &inviting("user4@example.org", terms(Role::Member)), &mut nothing).unwrap();
    assert_eq!(done.require_all_invited().unwrap_err().because, InvitationsNotSentReason::AllSkipped);
    assert!(nothing.changes.is_empty() && nothing.mail.is_empty() && nothing.events.is_empty());
}

#[test]
fn one_malformed_address_stops_all_and_is_named_first() {
    let realm = realm(RealmPermissionSettings::default());
    let refused = refusal(&realm, 4, "new@x.org, user4@example.org, nonsense", terms(Role::Member));
    let InvitationError::Unsent(unsent) = refused else { panic!("{refused}") };
    assert_eq!(unsent.because, InvitationsNotSentReason::Malformed);
    let skipped: Vec<_> = unsent.skipped.iter().map(|skipped| skipped.address.as_str()).collect();
    assert_eq!(skipped, ["nonsense", "user4@example.org"]);
    assert_eq!(refusal(&realm, 4, " ,\n", terms(Role::Member)), InvitationError::NoAddress);
}

#[test]
fn the_letters_of_a_day_are_counted_with_those_taken_back_and_sent_again() {
    let realm = realm(RealmPermissionSettings::default());
    let (realm, _) = invited(&realm, 4, "a@x.org,b@x.org,c@x.org", terms(Role::Member));
    let mut taken_back = commit(NOW_S + 1);
    revoke_email_invitation(&env(&realm, 4), 1, &mut taken_back).unwrap();
    let mut again = commit(NOW_S + 1);
    resend_invitation(&env(&realm, 4), 2, &secret(30), &mut again).unwrap();
    let realm = after(&after(&realm, &taken_back), &again);
    // Three and one of five are gone.
    let refused = refusal(&realm, 4, "d@x.org,e@x.org", terms(Role::Member));
    assert_eq!(
        refused,
        InvitationsNotSent { because: InvitationsNotSentReason::DailyLimit, skipped: Vec::new() }.into()
    );
    let mut tomorrow = commit(NOW_S + SECONDS_PER_DAY);
    invite_by_email(&env(&realm, 4), &inviting("d@x.org,e@x.org", terms(Role::Member)), &mut tomorrow).unwrap();
    assert_eq!(tomorrow.mail.len(), 2);
}

#[test]
fn whoever_joins_is_what_they_were_invited_as_where_they_were_invited_to() {
    let realm = realm(RealmPermissionSettings::default());
    let given = InvitationTerms { channels: vec![ChannelId(21)], default_channels: true, ..terms(Role::Guest) };
    let (realm, mail) = invited(&realm, 4, "New@x.org", given);
    let link = link_in(&mail[0]);
    let mut commit = commit(NOW_S + 5);
    let id = join_by_invitation(&realm, &joining(&link), &mut commit).unwrap();
    let realm = after(&realm, &commit);
    let user = realm.user(id).unwrap();
    assert_eq!((user.email.as_str(), user.full_name.as_str(), user.role), ("New@x.org", "New Person", Role::Guest));
    let inside: Vec<_> = realm.memberships_of_user(id).map(|(channel, _)| channel.0).collect();
    assert_eq!(inside, [20, 21]);
    assert_eq!(commit.mail.iter().map(|mail| mail.to.as_str()).collect::<Vec<_>>(), ["User4@example.org"]);
    assert_eq!(find_invitation_by_link(&realm, &link, NOW_S + 5), Err(JoinError::Used));
}

#[test]
fn an_inviter_who_does_not_wish_to_hear_of_it_does_not() {
    let (realm, mail) = invited(
        &realm(RealmPermissionSettings::default()),
        4,
        "new@x.org",
        InvitationTerms { notifies_inviter: false, ..terms(Role::Member) },
    );
    let mut commit = commit(NOW_S);
    join_by_invitation(&realm, &joining(&link_in(&mail[0])), &mut commit).unwrap();
    assert!(commit.mail.is_empty());
}

#[test]
fn one_who_joins_uses_up_every_invitation_of_their_address() {
    let (realm, first) = invited(&realm(RealmPermissionSettings::default()), 4, "new@x.org", terms(Role::Member));
    let (realm, second) = invited(&realm, 3, "NEW@x.org", terms(Role::Guest));
    let mut commit = commit(NOW_S);
    join_by_invitation(&realm, &joining(&link_in(&first[0])), &mut commit).unwrap();
    let realm = after(&realm, &commit);
    assert_eq!(find_invitation_by_link(&realm, &link_in(&second[0]), NOW_S), Err(JoinError::Used));
    assert!(list_invitations(&env(&realm, 1), &[], NOW_S).is_empty());
}

#[test]
fn a_link_opens_nothing_with_another_secret_after_its_time_or_when_taken_back() {
    let (realm, mail) = invited(&realm(RealmPermissionSettings::default()), 4, "new@x.org", terms(Role::Member));
    let link = link_in(&mail[0]);
    assert_eq!(
        find_invitation_by_link(&realm, &InvitationLink { secret: secret(77), ..link.clone() }, NOW_S),
        Err(JoinError::Unknown)
    );
    assert_eq!(
        find_invitation_by_link(&realm, &InvitationLink { number: 7, ..link.clone() }, NOW_S),
        Err(JoinError::Unknown)
    );
    let end_s = NOW_S + DEFAULT_INVITATION_VALIDITY_MINUTES * 60;
    assert!(find_invitation_by_link(&realm, &link, end_s - 1).is_ok());
    assert_eq!(find_invitation_by_link(&realm, &link, end_s), Err(JoinError::Expired));
    let mut commit = commit(NOW_S);
    revoke_email_invitation(&env(&realm, 4), link.number, &mut commit).unwrap();
    assert_eq!(find_invitation_by_link(&after(&realm, &commit), &link, NOW_S), Err(JoinError::Revoked));
}

#[test]
fn an_invitation_without_an_end_holds_for_ever() {
    let (realm, mail) = invited(
        &realm(RealmPermissionSettings::default()),
        4,
        "new@x.org",
        InvitationTerms { minutes: None, ..terms(Role::Member) },
    );
    assert!(find_invitation_by_link(&realm, &link_in(&mail[0]), NOW_S + 1_000 * SECONDS_PER_DAY).is_ok());
    assert!(!mail[0].text.contains("UTC"));
    assert_eq!(list_invitations(&env(&realm, 4), &[], NOW_S)[0]["expiry_date"], Value::Null);
}

#[test]
fn an_invitation_that_ends_before_it_begins_is_none() {
    let realm = realm(RealmPermissionSettings::default());
    for minutes in [0, -5, i64::MIN] {
        let mut commit = commit(NOW_S);
        let ended = InvitationTerms { minutes: Some(minutes), ..terms(Role::Member) };
        assert_eq!(
            invite_by_email(&env(&realm, 4), &inviting("a@x.org", ended), &mut commit).unwrap().require_all_invited(),
            Ok(())
        );
        assert!(commit.changes.is_empty() && commit.mail.is_empty(), "{minutes}");
    }
    let far = InvitationTerms { minutes: Some(i64::MAX), ..terms(Role::Member) };
    assert_eq!(invited(&realm, 4, "a@x.org", far).1.len(), 1);
}

#[test]
fn an_invitation_gives_no_more_than_its_inviter_could_give() {
    let (realm, mail) = invited(&realm(RealmPermissionSettings::default()), 2, "new@x.org", terms(Role::Administrator));
    let link = link_in(&mail[0]);
    let inviter = |role, is_active| {
        let user = User { role, is_active, ..testing::user(2, Role::Administrator) };
        realm.after_record(&LogRecord::new(EventId(90), 0, vec![RealmChange::User(Box::new(user))], None))
    };
    for (role, is_active) in [(Role::Moderator, true), (Role::Administrator, false)] {
        let realm = inviter(role, is_active);
        assert_eq!(find_invitation_by_link(&realm, &link, NOW_S), Err(JoinError::Revoked), "{role:?} {is_active}");
        let mut commit = commit(NOW_S);
        assert!(join_by_invitation(&realm, &joining(&link), &mut commit).is_err() && commit.changes.is_empty());
        assert!(list_invitations(&env(&realm, 1), &[], NOW_S).is_empty());
    }
    assert!(find_invitation_by_link(&inviter(Role::Owner, true), &link, NOW_S).is_ok());
}

#[test]
fn an_invitation_sent_again_has_another_link_and_the_same_end() {
    let (realm, mail) = invited(&realm(RealmPermissionSettings::default()), 4, "new@x.org", terms(Role::Member));
    let mut commit = commit(NOW_S + 60);
    resend_invitation(&env(&realm, 2), 1, &secret(50), &mut commit).unwrap();
    let later = after(&realm, &commit);
    assert_eq!(find_invitation_by_link(&later, &link_in(&mail[0]), NOW_S + 60), Err(JoinError::Unknown));
    assert!(find_invitation_by_link(&later, &link_in(&commit.mail[0]), NOW_S + 60).is_ok());
    let (before, now) = (Invitation::find(&realm, 1).unwrap(), Invitation::find(&later, 1).unwrap());
    assert_eq!((now.expires_s, now.invited_s), (before.expires_s, NOW_S + 60));
}

#[test]
fn the_inviter_and_administrators_take_back_and_others_do_not() {
    let (realm, _) = invited(&realm(RealmPermissionSettings::default()), 4, "new@x.org", terms(Role::Member));
    let tried = |realm: &RealmSnapshot, caller: i64| {
        let mut commit = commit(NOW_S);
        revoke_email_invitation(&env(realm, caller), 1, &mut commit).map(|()| commit.changes.len())
    };
    assert_eq!(tried(&realm, 3), Err(PermissionError::AdministratorRequired.into()));
    assert_eq!(tried(&realm, 6), Err(PermissionError::GuestRefused.into()));
    assert_eq!((tried(&realm, 4), tried(&realm, 2)), (Ok(1), Ok(1)));
    let (owners, _) = invited(&realm, 1, "owner@x.org", terms(Role::Owner));
    let mut commit = commit(NOW_S);
    assert_eq!(revoke_email_invitation(&env(&owners, 2), 2, &mut commit), Err(PermissionError::OwnerRequired.into()));
    assert_eq!(revoke_email_invitation(&env(&owners, 2), 9, &mut commit), Err(InvitationError::NoSuchInvitation));
    assert!(commit.changes.is_empty() && commit.events.is_empty());
}

/// Returns the realm with a link that user 2 made, and the link.
fn linked() -> (RealmSnapshot, InvitationLink) {
    let realm = realm(RealmPermissionSettings::default());
    let mut commit = commit(NOW_S);
    let url = create_reusable_invitation_link(&env(&realm, 2), &terms(Role::Member), &secret(60), &mut commit).unwrap();
    let link = InvitationLink::parse(url.strip_prefix("https://chat.example.org/join/").unwrap()).unwrap();
    (after(&realm, &commit), link)
}

fn asked(
    realm: &RealmSnapshot,
    link: &InvitationLink,
    address: &str,
    number: u8,
    at_s: i64,
) -> Result<RealmCommit, JoinError> {
    let mut commit = commit(at_s);
    let secret = secret(number);
    send_personal_join_link(
        realm,
        &ReusableLinkJoinRequest { link, address, secret: &secret, base_url: URL, daily_limit: 3 },
        &mut commit,
    )?;
    Ok(commit)
}

#[test]
fn a_link_for_anybody_makes_accounts_at_confirmed_addresses_alone() {
    let (realm, link) = linked();
    assert_eq!(join_by_invitation(&realm, &joining(&link), &mut commit(NOW_S)), Err(JoinError::OtherKind));
    let taken = asked(&realm, &link, "user4@example.org", 1, NOW_S).unwrap_err();
    assert_eq!(taken.to_string(), "Email 'user4@example.org' already in use");
    let mut realm = realm;
    for (number, address) in [(1, "a@x.org"), (2, "b@x.org")] {
        let commit = asked(&realm, &link, address, number, NOW_S).unwrap();
        assert_eq!(commit.mail[0].to, address);
        realm = after(&realm, &commit);
        let own = link_in(&commit.mail[0]);
        assert_eq!(asked(&realm, &own, "c@x.org", 9, NOW_S).unwrap_err(), JoinError::OtherKind);
        let mut joined = self::commit(NOW_S);
        join_by_invitation(&realm, &joining(&own), &mut joined).unwrap();
        realm = after(&realm, &joined);
        assert!(realm.user_by_email(address).is_some());
        assert_eq!(find_invitation_by_link(&realm, &own, NOW_S), Err(JoinError::Used));
    }
    assert!(find_invitation_by_link(&realm, &link, NOW_S).is_ok());
}

#[test]
fn a_confirmation_asked_for_twice_is_one_letter_and_later_another() {
    let (realm, link) = linked();
    let first = asked(&realm, &link, "a@x.org", 1, NOW_S).unwrap();
    let realm = after(&realm, &first);
    let twice = asked(&realm, &link, "A@x.org", 2, NOW_S + 59).unwrap();
    assert!(twice.mail.is_empty() && twice.changes.is_empty());
    let later = asked(&realm, &link, "A@x.org", 3, NOW_S + 60).unwrap();
    let realm = after(&realm, &later);
    assert_eq!(find_invitation_by_link(&realm, &link_in(&first.mail[0]), NOW_S + 60), Err(JoinError::Unknown));
    assert!(find_invitation_by_link(&realm, &link_in(&later.mail[0]), NOW_S + 60).is_ok());
    assert_eq!(Invitation::all(&realm).count(), 2);
    let realm = after(&realm, &asked(&realm, &link, "b@x.org", 4, NOW_S + 61).unwrap());
    assert_eq!(asked(&realm, &link, "c@x.org", 5, NOW_S + 62).unwrap_err(), JoinError::DailyLimit);
}

#[test]
fn a_link_taken_back_takes_its_confirmations_with_it() {
    let (realm, link) = linked();
    let asked = asked(&realm, &link, "a@x.org", 1, NOW_S).unwrap();
    let realm = after(&realm, &asked);
    let mut back = commit(NOW_S);
    assert_eq!(
        revoke_email_invitation(&env(&realm, 2), link.number, &mut back),
        Err(InvitationError::NoSuchInvitation)
    );
    revoke_reusable_link(&env(&realm, 2), link.number, &mut back).unwrap();
    assert!(matches!(back.credentials[..], [CredentialChange::InvitationLink(1, None)]));
    let realm = after(&realm, &back);
    for link in [&link, &link_in(&asked.mail[0])] {
        assert_eq!(find_invitation_by_link(&realm, link, NOW_S), Err(JoinError::Revoked));
    }
    let again = revoke_reusable_link(&env(&realm, 2), link.number, &mut commit(NOW_S));
    assert_eq!(again, Err(InvitationError::AlreadyRevoked));
    assert_eq!(revoke_reusable_link(&env(&realm, 2), 99, &mut commit(NOW_S)), Err(InvitationError::NoSuchInvitation));
}

#[test]
fn links_for_anybody_are_made_by_administrators() {
    let realm = realm(RealmPermissionSettings::default());
    let tried = |caller| {
        create_reusable_invitation_link(&env(&realm, caller), &terms(Role::Member), &secret(1), &mut commit(NOW_S))
    };
    assert!(tried(1).is_ok() && tried(2).is_ok());
    assert_eq!(tried(3), Err(PermissionError::Insufficient.into()));
    assert_eq!(tried(6), Err(PermissionError::GuestRefused.into()));
    let owner = create_reusable_invitation_link(&env(&realm, 2), &terms(Role::Owner), &secret(1), &mut commit(NOW_S));
    assert_eq!(owner, Err(PermissionError::OwnerRequired.into()));
}

#[test]
fn administrators_see_all_invitations_and_others_their_own() {
    let (realm, link) = linked();
    let (realm, _) = invited(&realm, 4, "new@x.org", terms(Role::Guest));
    let secrets = [(link.number, link.secret.clone())];
    let seen = |caller| list_invitations(&env(&realm, caller), &secrets, NOW_S);
    assert_eq!(seen(3), Vec::<Value>::new());
    let own = json!({
        "id": 2, "invited_by_user_id": 4, "invited": NOW_S, "expiry_date": NOW_S + DEFAULT_INVITATION_VALIDITY_MINUTES * 60,
        "invited_as": 600, "is_multiuse": false, "notify_referrer_on_join": true, "email": "new@x.org",
    });
    assert_eq!(seen(4), std::slice::from_ref(&own));
    let all = seen(1);
    assert_eq!((all.len(), &all[1]), (2, &own));
    assert_eq!((&all[0]["link_url"], &all[0]["is_multiuse"]), (&json!(link.url(URL)), &json!(true)));
}

#[test]
fn what_is_long_over_is_forgotten_and_no_number_is_given_twice() {
    let (mut realm, link) = linked();
    (realm, _) = invited(&realm, 4, "a@x.org,b@x.org", terms(Role::Member));
    let mut back = commit(NOW_S);
    revoke_reusable_link(&env(&realm, 2), link.number, &mut back).unwrap();
    realm = after(&realm, &back);
    let late = NOW_S + 100 * SECONDS_PER_DAY;
    let mut commit = commit(late);
    invite_by_email(&env(&realm, 4), &inviting("c@x.org", terms(Role::Member)), &mut commit).unwrap();
    let realm = after(&realm, &commit);
    let numbers: Vec<_> = Invitation::all(&realm).map(|(number, _)| number).collect();
    assert_eq!(numbers, [3, 4]);
}

#[test]
fn nobody_joins_an_organization_that_is_closed() {
    let (realm, mail) = invited(&realm(RealmPermissionSettings::default()), 4, "new@x.org", terms(Role::Member));
    let closed =
        crate::model::realm::Realm { is_deactivated: true, ..testing::realm_of(RealmPermissionSettings::default()) };
    let realm = realm.after_record(&LogRecord::new(EventId(90), 0, vec![RealmChange::Realm(Box::new(closed))], None));
    assert_eq!(find_invitation_by_link(&realm, &link_in(&mail[0]), NOW_S), Err(JoinError::RealmClosed));
}

#[test]
fn no_secret_reaches_the_log() {
    let (realm, link) = linked();
    let mut commit = commit(NOW_S);
    invite_by_email(&env(&realm, 4), &inviting("new@x.org", terms(Role::Member)), &mut commit).unwrap();
    let written = serde_json::to_string(&commit.changes).unwrap() + &serde_json::to_string(&commit.events).unwrap();
    assert!(!written.contains(link_in(&commit.mail[0]).secret.expose()));
    let kept: Vec<_> = realm.realm_items(RealmItemKind::Invitation).map(|(_, document)| document.to_string()).collect();
    assert!(!kept.concat().contains(link.secret.expose()));
    assert!(!format!("{commit:?}").contains(link_in(&commit.mail[0]).secret.expose()));
}

#[test]
fn the_list_is_told_to_be_another_to_administrators_and_the_inviter() {
    let realm = realm(RealmPermissionSettings::default());
    let mut commit = commit(NOW_S);
    invite_by_email(&env(&realm, 4), &inviting("new@x.org", terms(Role::Member)), &mut commit).unwrap();
    let [event] = commit.events.as_slice() else { panic!("{:?}", commit.events) };
    assert_eq!(event.audience, EventAudience::Users(vec![UserId(1), UserId(2), UserId(4)]));
}

#[test]
fn a_realm_of_its_domains_alone_invites_and_lets_join_nobody_else() {
    let domain = |domain: &str, below: bool| Some(json!({"domain": domain, "allow_subdomains": below}));
    let restricted = |emails_restricted_to_domains: bool| {
        let items = [(1, "example.org", false), (2, "wide.org", true)];
        let items = items.map(|(id, name, below)| RealmChange::Item {
            kind: RealmItemKind::Domain,
            id,
            document: domain(name, below),
        });
        testing::realm(
            RealmPermissionSettings { emails_restricted_to_domains, ..RealmPermissionSettings::default() },
            items.into(),
        )
    };
    let realm = restricted(true);
    let text = "in@Example.org, in@wide.org, in@below.wide.org";
    assert_eq!(invited(&realm, 1, text, terms(Role::Member)).1.len(), 3);
    for (address, because) in [
        ("out@elsewhere.org", InviteeSkipReason::OutsideDomains),
        ("out@below.example.org", InviteeSkipReason::OutsideDomains),
        ("out@notwide.org", InviteeSkipReason::OutsideDomains),
        ("in+again@example.org", InviteeSkipReason::PlusSign),
    ] {
        let skipped = vec![SkippedInvitee { address: address.to_owned(), because }];
        let unsent = InvitationsNotSent { because: InvitationsNotSentReason::Malformed, skipped };
        let refused = refusal(&realm, 1, &format!("in@example.org, {address}"), terms(Role::Member));
        assert_eq!(refused, unsent.into(), "{address}");
    }
    // Nor does a letter that was sent before, or a link for anybody.
    let (before, letters) = invited(&restricted(false), 1, "out+x@elsewhere.org", terms(Role::Member));
    let now_restricted = |realm: &RealmSnapshot| {
        let mut chosen = realm.realm().unwrap().clone();
        chosen.rules.emails_restricted_to_domains = true;
        let changes = vec![RealmChange::Realm(Box::new(chosen))];
        realm.after_record(&LogRecord::new(EventId(realm.log_position().0 + 1), NOW_S, changes, None))
    };
    let refused =
        join_by_invitation(&now_restricted(&before), &joining(&link_in(&letters[0])), &mut commit(NOW_S)).unwrap_err();
    assert_eq!(refused.to_string(), "Email 'out+x@elsewhere.org' not allowed in this organization");
    let mut made = commit(NOW_S);
    let link = create_reusable_invitation_link(&env(&realm, 1), &terms(Role::Member), &secret(9), &mut made).unwrap();
    let link = InvitationLink::parse(link.rsplit('/').next().unwrap()).unwrap();
    let own = secret(10);
    let asked = |address| ReusableLinkJoinRequest { link: &link, address, secret: &own, base_url: URL, daily_limit: 5 };
    let with_link = after(&realm, &made);
    assert!(send_personal_join_link(&with_link, &asked("in@wide.org"), &mut commit(NOW_S)).is_ok());
    let mut refused = commit(NOW_S);
    assert!(send_personal_join_link(&with_link, &asked("out@elsewhere.org"), &mut refused).is_err());
    assert!(refused.mail.is_empty() && refused.changes.is_empty());
}
