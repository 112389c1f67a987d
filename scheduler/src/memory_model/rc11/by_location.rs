//! Values by location, copied often.

use dpor_explorer::Location;
use std::ops::Index;

/// A map in the order of locations. A copy takes the storage of what it replaces, also that of the values.
#[derive(Debug)]
pub(super) struct ByLocation<V> {
    /// Ascending.
    locations: Vec<Location>,
    values: Vec<V>,
}

impl<V> Default for ByLocation<V> {
    fn default() -> Self {
        ByLocation {
            locations: Vec::new(),
            values: Vec::new(),
        }
    }
}

impl<V: Clone> Clone for ByLocation<V> {
    fn clone(&self) -> Self {
        ByLocation {
            locations: self.locations.clone(),
            values: self.values.clone(),
        }
    }

    fn clone_from(&mut self, other: &Self) {
        self.locations.clone_from(&other.locations);
        self.values.clone_from(&other.values);
    }
}

impl<V> ByLocation<V> {
    pub fn clear(&mut self) {
        self.locations.clear();
        self.values.clear();
    }

    pub fn is_empty(&self) -> bool {
        self.locations.is_empty()
    }

    pub fn get(&self, location: Location) -> Option<&V> {
        let at = self.locations.binary_search(&location).ok()?;
        Some(&self.values[at])
    }

    pub fn get_mut(&mut self, location: Location) -> Option<&mut V> {
        let at = self.locations.binary_search(&location).ok()?;
        Some(&mut self.values[at])
    }

    /// Sets the value of a location.
    pub fn insert(&mut self, location: Location, value: V) {
        match self.locations.binary_search(&location) {
            Ok(at) => self.values[at] = value,
            Err(at) => {
                self.locations.insert(at, location);
                self.values.insert(at, value);
            }
        }
    }

    /// The value of a location, which becomes the default one if it has none.
    pub fn entry(&mut self, location: Location) -> &mut V
    where
        V: Default,
    {
        let found = self.locations.binary_search(&location);
        let at = found.unwrap_or_else(|at| {
            self.locations.insert(at, location);
            self.values.insert(at, V::default());
            at
        });
        &mut self.values[at]
    }

    /// Removes the values for which `keeps` says so, after it has changed them.
    pub fn retain(&mut self, mut keeps: impl FnMut(Location, &mut V) -> bool) {
        let mut kept = 0;
        for at in 0..self.values.len() {
            if keeps(self.locations[at], &mut self.values[at]) {
                self.locations.swap(kept, at);
                self.values.swap(kept, at);
                kept += 1;
            }
        }
        self.locations.truncate(kept);
        self.values.truncate(kept);
    }

    pub fn locations(&self) -> impl Iterator<Item = Location> + '_ {
        self.locations.iter().copied()
    }

    pub fn values(&self) -> impl Iterator<Item = &V> {
        self.values.iter()
    }

    pub fn values_mut(&mut self) -> impl Iterator<Item = &mut V> {
        self.values.iter_mut()
    }

    /// The locations, ascending, with their values.
    pub fn iter(&self) -> impl Iterator<Item = (Location, &V)> {
        self.locations().zip(&self.values)
    }
}

impl<V> Index<Location> for ByLocation<V> {
    type Output = V;

    fn index(&self, location: Location) -> &V {
        self.get(location).expect("the location has a value")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use dpor_explorer::SplitMix64;
    use std::collections::BTreeMap;

    #[test]
    fn it_is_a_map_in_order() {
        let mut random = SplitMix64::new(1);
        let (mut map, mut known) = (ByLocation::<Vec<usize>>::default(), BTreeMap::new());
        let mut copy = map.clone();
        for step in 0..2000 {
            let location = Location(random.below(20) as u64);
            match random.below(4) {
                0 => {
                    map.insert(location, vec![step]);
                    known.insert(location, vec![step]);
                }
                1 => {
                    map.entry(location).push(step);
                    known.entry(location).or_insert_with(Vec::new).push(step);
                }
                2 => {
                    let keeps = |at: Location, value: &mut Vec<usize>| {
                        value.push(step);
                        !(at.0 + step as u64).is_multiple_of(5)
                    };
                    map.retain(keeps);
                    known.retain(|&at, value| keeps(at, value));
                }
                _ => {
                    let value = map.get_mut(location).map(std::mem::take);
                    assert_eq!(value, known.get_mut(&location).map(std::mem::take));
                }
            }
            copy.clone_from(&map);
            for map in [&map, &copy] {
                assert!(map.iter().eq(known.iter().map(|(&location, value)| (location, value))));
                assert_eq!(map.get(location), known.get(&location));
                assert_eq!(map.is_empty(), known.is_empty());
            }
        }
    }
}
