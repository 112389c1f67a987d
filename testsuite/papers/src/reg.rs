//! Reg(n): `n` clients enter themselves in a registry.
//!
//! Each client gets two messages, its name and the registry's address, in any order; the registry gets `n` entries in
//! any order: 2^n n! orders, as published for Source-DPOR.

use crate::{Actor, wait};

/// A client.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub struct Client {
    /// Its name.
    pub name: u64,
    /// Whether it has sent its entry.
    pub has_entered: bool,
}

/// Who is registered, by number; and the clients.
pub fn run(n: usize) -> (Vec<bool>, Vec<Client>) {
    let registry = Actor::new(vec![false; n]);
    let clients: Vec<_> = (0..n).map(|_| Actor::new(Client::default())).collect();
    let tasks: Vec<_> = clients
        .iter()
        .enumerate()
        .map(|(i, client)| {
            let registry = registry.clone();
            let name = client.send(move |client| client.name = 100 + i as u64);
            let entry = client.send(move |client| {
                client.has_entered = true;
                registry.send(move |entries| entries[i] = true)
            });
            (name, entry)
        })
        .collect();
    for (name, entry) in tasks {
        wait(name);
        wait(wait(entry));
    }
    let entries = registry.step(|entries| entries.clone());
    (
        entries,
        clients.iter().map(|client| client.step(|client| *client)).collect(),
    )
}
