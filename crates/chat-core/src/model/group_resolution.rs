//! Which groups lie within each group, and which groups each user is in: resolved once, so that a decision does not walk
//! through nested groups.

use std::collections::HashMap;
use std::sync::Arc;

use crate::id::{UserGroupId, UserId};
use crate::model::group::{SystemGroup, UserGroup};

/// Bits of one word of a [`GroupSet`].
const WORD_BITS: usize = 64;

/// The groups of a realm, with everything that lies within them.
///
/// **Cost**: made in time proportional to the members of all groups; a set of n groups takes n bits, and there is a set
/// for each group and for each user who is a member of any.
#[derive(Debug, Default)]
pub(crate) struct GroupResolution {
    places: HashMap<UserGroupId, usize>,
    systems: HashMap<SystemGroup, UserGroupId>,
    groups: Vec<ResolvedGroup>,
    direct: HashMap<UserId, GroupSet>,
}

/// A group, by what lies within it.
#[derive(Debug)]
struct ResolvedGroup {
    /// The group itself and all its subgroups, direct and indirect.
    within: GroupSet,
    /// The widest system group among them, which contains the others.
    widest_system: Option<SystemGroup>,
}

/// A set of groups, one bit for each place.
#[derive(Debug, Clone)]
struct GroupSet(Box<[u64]>);

impl GroupSet {
    fn of_size(groups: usize) -> Self {
        Self(vec![0; groups.div_ceil(WORD_BITS)].into())
    }

    /// Adds the group at the place. Returns whether it is new.
    fn insert(&mut self, place: usize) -> bool {
        let bit = 1 << (place % WORD_BITS);
        let Some(word) = self.0.get_mut(place / WORD_BITS) else { return false };
        let is_new = *word & bit == 0;
        *word |= bit;
        is_new
    }

    fn meets(&self, other: &Self) -> bool {
        self.0.iter().zip(&other.0).any(|(one, other)| one & other != 0)
    }
}

impl GroupResolution {
    /// Resolves the groups of a realm.
    pub(crate) fn of(groups: &HashMap<UserGroupId, Arc<UserGroup>>) -> Self {
        let places: HashMap<UserGroupId, usize> = groups.keys().copied().zip(0..).collect();
        let mut resolution = Self { places, ..Self::default() };
        let mut resolved: Vec<_> =
            groups.values().map(|group| (resolution.place(group.id), resolution.resolve(group, groups))).collect();
        resolved.sort_unstable_by_key(|(place, _)| *place);
        resolution.groups = resolved.into_iter().map(|(_, group)| group).collect();
        for group in groups.values() {
            let place = resolution.place(group.id);
            for member in &group.members {
                let inside = resolution.direct.entry(*member).or_insert_with(|| GroupSet::of_size(groups.len()));
                inside.insert(place);
            }
            resolution.systems.extend(group.system.map(|system| (system, group.id)));
        }
        resolution
    }

    fn place(&self, id: UserGroupId) -> usize {
        self.places.get(&id).copied().unwrap_or(usize::MAX)
    }

    fn resolve(&self, outer: &UserGroup, groups: &HashMap<UserGroupId, Arc<UserGroup>>) -> ResolvedGroup {
        let mut resolved = ResolvedGroup { within: GroupSet::of_size(groups.len()), widest_system: None };
        let mut open = vec![outer.id];
        while let Some(id) = open.pop() {
            let Some(group) = groups.get(&id).filter(|_| resolved.within.insert(self.place(id))) else { continue };
            resolved.widest_system = resolved.widest_system.max(group.system);
            open.extend(&group.subgroups);
        }
        resolved
    }

    /// Returns the group of the realm for that system group.
    pub(crate) fn system_group_id(&self, system: SystemGroup) -> Option<UserGroupId> {
        self.systems.get(&system).copied()
    }

    /// Returns whether the user is a member of the group or of a group within it, system groups aside.
    pub(crate) fn has_named_member(&self, id: UserGroupId, user: UserId) -> bool {
        let group = self.places.get(&id).and_then(|place| self.groups.get(*place));
        group.zip(self.direct.get(&user)).is_some_and(|(group, inside)| group.within.meets(inside))
    }

    /// Returns the widest system group that is the group or lies within it.
    pub(crate) fn widest_system_group(&self, id: UserGroupId) -> Option<SystemGroup> {
        self.places.get(&id).and_then(|place| self.groups.get(*place))?.widest_system
    }

    /// Returns whether the inner group is the outer one, or lies within it.
    pub(crate) fn is_within(&self, inner: UserGroupId, outer: UserGroupId) -> bool {
        let (Some(outer), Some(place)) = (self.places.get(&outer), self.places.get(&inner)) else { return false };
        let word = self.groups.get(*outer).and_then(|group| group.within.0.get(place / WORD_BITS));
        word.is_some_and(|word| word & (1 << (place % WORD_BITS)) != 0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing;

    #[test]
    fn members_are_found_through_any_number_of_groups_and_around_a_circle() {
        // 1 contains 2, … 199 contains 200, and 200 contains 1; the user is in 150.
        let groups = (1..=200).map(|id| {
            let members = if id == 150 { vec![UserId(7)] } else { Vec::new() };
            let group = UserGroup { members, subgroups: vec![UserGroupId(id % 200 + 1)], ..testing::group(id, None) };
            (group.id, Arc::new(group))
        });
        let mut groups: HashMap<_, _> = groups.collect();
        let circle = GroupResolution::of(&groups);
        assert!((1..=200).all(|id| circle.has_named_member(UserGroupId(id), UserId(7))));
        assert!((1..=200).all(|id| circle.is_within(UserGroupId(id), UserGroupId(9))));
        groups.insert(UserGroupId(200), Arc::new(testing::group(200, None)));
        let chain = GroupResolution::of(&groups);
        let found: Vec<i64> = (1..=201).filter(|id| chain.has_named_member(UserGroupId(*id), UserId(7))).collect();
        assert_eq!(found, (1..=150).collect::<Vec<_>>());
        assert!(!chain.has_named_member(UserGroupId(1), UserId(8)));
        assert!(chain.is_within(UserGroupId(200), UserGroupId(1)) && !chain.is_within(UserGroupId(1), UserGroupId(2)));
    }

    #[test]
    fn the_widest_system_group_within_a_group_is_found_through_other_groups() {
        let mut club = testing::group(10, None);
        club.subgroups = vec![UserGroupId(11), UserGroupId(1)];
        let mut inner = testing::group(11, None);
        inner.subgroups = vec![UserGroupId(2)];
        let all = [
            club,
            inner,
            testing::group(1, Some(SystemGroup::Owners)),
            testing::group(2, Some(SystemGroup::Moderators)),
        ];
        let resolution = GroupResolution::of(&all.into_iter().map(|group| (group.id, Arc::new(group))).collect());
        assert_eq!(resolution.widest_system_group(UserGroupId(10)), Some(SystemGroup::Moderators));
        assert_eq!(resolution.widest_system_group(UserGroupId(1)), Some(SystemGroup::Owners));
        assert_eq!(resolution.system_group_id(SystemGroup::Moderators), Some(UserGroupId(2)));
        assert_eq!(resolution.system_group_id(SystemGroup::Members), None);
    }
}
