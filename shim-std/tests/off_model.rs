//! Off model threads, everything behaves as in std: each test runs on std as well.

#[expect(clippy::needless_late_init, reason = "the order of the drops is tested")]
mod locks_on_std {
    use std as lib;
    include!("common/locks.rs");
}

#[expect(clippy::needless_late_init, reason = "the order of the drops is tested")]
mod locks_on_shim {
    use shim_std as lib;
    include!("common/locks.rs");
}

mod arc_on_std {
    use std as lib;
    include!("common/arc.rs");
}

mod arc_on_shim {
    use shim_std as lib;
    include!("common/arc.rs");
}

mod atomics_on_std {
    use std as lib;
    include!("common/atomics.rs");
}

mod atomics_on_shim {
    use shim_std as lib;
    include!("common/atomics.rs");
}

#[expect(clippy::into_iter_on_ref, reason = "the implementation is tested")]
mod channels_on_std {
    use std as lib;
    include!("common/channels.rs");
}

mod channels_on_shim {
    use shim_std as lib;
    include!("common/channels.rs");
}

#[expect(clippy::missing_const_for_thread_local, reason = "both forms are tested")]
mod threads_on_std {
    use std as lib;
    include!("common/threads.rs");
}

mod threads_on_shim {
    use shim_std as lib;
    include!("common/threads.rs");
}
