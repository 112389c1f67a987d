//! The versions of libraries that have a stand-in.

/// A version of a library that has a stand-in.
pub struct StandIn {
    pub package: &'static str,
    pub version: &'static str,
    /// The digest of its sources.
    pub digest: u64,
    /// The folder of the stand-in.
    pub folder: &'static str,
    /// The features with which the library is as written.
    pub as_written_with: &'static [&'static str],
}

/// A version of parking_lot. Its own detection of deadlocks looks into its locks.
const fn parking_lot(version: &'static str, digest: u64, folder: &'static str) -> StandIn {
    StandIn {
        package: "parking_lot",
        version,
        digest,
        folder,
        as_written_with: &["deadlock_detection"],
    }
}

/// All of them.
pub const KNOWN: &[StandIn] = &[
    parking_lot("0.11.0", 0x2856_f0c5_69f9_21cd, "parking_lot-0.12"),
    parking_lot("0.11.1", 0xd843_c3c8_e4fe_de45, "parking_lot-0.12"),
    parking_lot("0.11.2", 0xdc5f_6d22_b4d1_7d84, "parking_lot-0.12"),
    parking_lot("0.12.0", 0x5b38_5041_e0fb_bf10, "parking_lot-0.12"),
    parking_lot("0.12.1", 0x524c_745e_1b43_62f3, "parking_lot-0.12"),
    parking_lot("0.12.2", 0xf4b5_f9d9_0f06_bb8d, "parking_lot-0.12"),
    parking_lot("0.12.3", 0x3ce9_7dfb_a01e_41ed, "parking_lot-0.12"),
    parking_lot("0.12.4", 0xcbcf_146a_0df7_8be7, "parking_lot-0.12"),
    parking_lot("0.12.5", 0xcd08_3f12_deb7_cf11, "parking_lot-0.12"),
    parking_lot("0.13.0", 0x7418_c4ac_3503_3893, "parking_lot-0.13"),
];
