//! smol, which waits by way of rustix.

use smol::channel;

#[test]
fn nobody_sends() {
    smol::block_on(async {
        let (sender, receiver) = channel::bounded::<u8>(1);
        let _ = receiver.recv().await;
        drop(sender);
    });
}
