//! im.

use im::{HashMap, Vector};
use std::sync::{Arc, Mutex};
use std::thread;

#[test]
fn a_clone_does_not_see_changes() {
    let mut vector = Vector::from(vec![1, 2]);
    let child = {
        let vector = vector.clone();
        thread::spawn(move || vector.iter().sum::<i32>())
    };
    vector.push_back(3);
    assert_eq!(child.join().unwrap(), 3);
    assert_eq!(vector.len(), 3);
}

#[test]
fn both_versions_of_a_map_are_kept() {
    let map = HashMap::unit(0, 0);
    let versions = Arc::new(Mutex::new(Vec::new()));
    let child = {
        let (map, versions) = (map.clone(), Arc::clone(&versions));
        thread::spawn(move || versions.lock().unwrap().push(map.update(1, 1)))
    };
    versions.lock().unwrap().push(map.update(1, 2));
    child.join().unwrap();
    let sum: i32 = versions.lock().unwrap().iter().map(|version| version[&1]).sum();
    assert_eq!(sum, 3);
}
