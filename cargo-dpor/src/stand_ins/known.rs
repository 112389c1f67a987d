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

/// A version of a library that has a stand-in with all its features.
const fn library(package: &'static str, version: &'static str, digest: u64, folder: &'static str) -> StandIn {
    StandIn {
        package,
        version,
        digest,
        folder,
        as_written_with: &[],
    }
}

/// A version of parking_lot. Its own detection of deadlocks looks into its locks.
const fn parking_lot(version: &'static str, digest: u64, folder: &'static str) -> StandIn {
    StandIn {
        as_written_with: &["deadlock_detection"],
        ..library("parking_lot", version, digest, folder)
    }
}

const fn parking_lot_core(version: &'static str, digest: u64) -> StandIn {
    library("parking_lot_core", version, digest, "parking_lot_core")
}

const fn crossbeam_utils(version: &'static str, digest: u64) -> StandIn {
    library("crossbeam-utils", version, digest, "crossbeam-utils-0.8")
}

const fn kanal(version: &'static str, digest: u64) -> StandIn {
    library("kanal", version, digest, "kanal-0.1")
}

/// A version of saa. With its feature for loom, it looks once by itself.
const fn saa(version: &'static str, digest: u64, folder: &'static str) -> StandIn {
    StandIn {
        as_written_with: &["loom"],
        ..library("saa", version, digest, folder)
    }
}

const fn rayon_core(version: &'static str, digest: u64) -> StandIn {
    library("rayon-core", version, digest, "rayon-core-1")
}

const fn append_only_vec(version: &'static str, digest: u64) -> StandIn {
    library("append-only-vec", version, digest, "append-only-vec-0.1")
}

const fn crossbeam_epoch(version: &'static str, digest: u64) -> StandIn {
    library("crossbeam-epoch", version, digest, "crossbeam-epoch-0.9")
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
    parking_lot_core("0.8.0", 0x9ccf_fa5d_b37e_f178),
    parking_lot_core("0.8.1", 0x2d24_61e3_792a_4063),
    parking_lot_core("0.8.2", 0x3d0e_3081_1af8_6eec),
    parking_lot_core("0.8.3", 0x3d0e_3081_1af8_6eec),
    parking_lot_core("0.8.4", 0xd5cf_4fd5_1723_92c0),
    parking_lot_core("0.8.5", 0x968f_3793_6804_2cc9),
    parking_lot_core("0.8.6", 0xbba6_0178_d0f6_3587),
    parking_lot_core("0.9.0", 0xbde5_a596_7b14_819d),
    parking_lot_core("0.9.1", 0xf159_4a4c_b7b9_7b70),
    parking_lot_core("0.9.2", 0xde3e_6e3a_0bd8_8e6f),
    parking_lot_core("0.9.3", 0xde3e_6e3a_0bd8_8e6f),
    parking_lot_core("0.9.4", 0x9a01_bf37_28a6_848d),
    parking_lot_core("0.9.5", 0x6251_0634_f4d9_2b11),
    parking_lot_core("0.9.6", 0xd9da_cbe3_b25d_0a92),
    parking_lot_core("0.9.7", 0xd9da_cbe3_b25d_0a92),
    parking_lot_core("0.9.8", 0x0d71_d2ef_af0c_d236),
    parking_lot_core("0.9.9", 0x2c78_706a_3a4b_5f6e),
    parking_lot_core("0.9.10", 0xf502_175c_56bb_115a),
    parking_lot_core("0.9.11", 0x9bfc_99fe_6d68_b9b3),
    parking_lot_core("0.9.12", 0x0012_800c_14ca_0360),
    parking_lot_core("0.10.0", 0x92d8_5fa1_dfb8_18d7),
    crossbeam_utils("0.8.0", 0xb522_f74c_e486_0f58),
    crossbeam_utils("0.8.1", 0x22c9_a1c8_917e_ecff),
    crossbeam_utils("0.8.2", 0xdbe0_96aa_77f7_41f8),
    crossbeam_utils("0.8.3", 0xdbe0_96aa_77f7_41f8),
    crossbeam_utils("0.8.4", 0xdbe0_96aa_77f7_41f8),
    crossbeam_utils("0.8.5", 0xe4b4_e543_7668_35e3),
    crossbeam_utils("0.8.6", 0xbf9c_5ef1_c07e_5aa7),
    crossbeam_utils("0.8.7", 0x14fd_6886_567b_a671),
    crossbeam_utils("0.8.8", 0x8f19_d0ba_ad55_9382),
    crossbeam_utils("0.8.9", 0x13b5_ea80_3f2c_5da7),
    crossbeam_utils("0.8.10", 0xb985_883d_98f5_3294),
    crossbeam_utils("0.8.11", 0x8e40_b247_d0b6_d6e6),
    crossbeam_utils("0.8.12", 0xbd17_1a8c_fefb_504e),
    crossbeam_utils("0.8.13", 0xbd17_1a8c_fefb_504e),
    crossbeam_utils("0.8.14", 0xbd17_1a8c_fefb_504e),
    crossbeam_utils("0.8.15", 0x1bfa_e756_dac2_e375),
    crossbeam_utils("0.8.16", 0x0750_5304_2a64_6397),
    crossbeam_utils("0.8.17", 0xda63_e541_79d5_91d9),
    crossbeam_utils("0.8.18", 0x072e_5f96_261f_bbcf),
    crossbeam_utils("0.8.19", 0x7bc1_37eb_57b1_8479),
    crossbeam_utils("0.8.20", 0xd9b2_d399_9e4b_0a08),
    crossbeam_utils("0.8.21", 0x3268_b4ef_5c45_c050),
    crossbeam_utils("0.8.22", 0x7764_7ca4_590d_ae9b),
    crossbeam_utils("0.8.23", 0xe3d3_243c_6109_19a4),
    kanal("0.1.0", 0xef74_8629_b774_1592),
    kanal("0.1.1", 0x2914_d40a_66d3_2c75),
    saa("5.5.0", 0x432a_49a4_7939_bbb6, "saa-5.5"),
    saa("5.5.1", 0x3c40_dbf6_84cf_3b9e, "saa-5.5"),
    saa("5.6.0", 0xbb97_7490_57aa_536e, "saa-5.5"),
    saa("5.6.1", 0x2309_5842_ad93_0853, "saa-5.6"),
    saa("5.6.2", 0x7ffd_1dff_483a_c49e, "saa-5.6"),
    rayon_core("1.8.0", 0x7b62_ab8e_1d2f_c9db),
    rayon_core("1.8.1", 0xfb15_6be4_7781_78b1),
    rayon_core("1.9.0", 0xd5c9_c4d1_a027_0810),
    rayon_core("1.9.1", 0x0197_9e4e_6252_d0e5),
    rayon_core("1.9.2", 0xe073_58c2_947a_c136),
    rayon_core("1.9.3", 0x692f_c495_51ec_cac8),
    rayon_core("1.10.0", 0x5bfe_407b_0e01_138f),
    rayon_core("1.10.1", 0xf070_556e_aa34_740b),
    rayon_core("1.10.2", 0x9329_dc4d_4602_6582),
    rayon_core("1.11.0", 0x736e_0902_bb18_357e),
    rayon_core("1.12.0", 0xdd07_b9c2_20de_80c5),
    rayon_core("1.12.1", 0xc566_58f5_3c6a_b20d),
    rayon_core("1.13.0", 0x1fba_0ef2_7605_1e42),
    append_only_vec("0.1.8", 0x1d1a_3bd5_e3d2_75a1),
    append_only_vec("0.1.10", 0xbc2d_3372_c819_e3ef),
    crossbeam_epoch("0.9.0", 0x4b22_29d0_99b0_0da7),
    crossbeam_epoch("0.9.1", 0xd151_1fa0_9e52_4b44),
    crossbeam_epoch("0.9.2", 0x35f7_5e71_c127_f4dc),
    crossbeam_epoch("0.9.3", 0x478c_5588_ade6_03ab),
    crossbeam_epoch("0.9.4", 0x0fd5_9c81_8a3f_5d6d),
    crossbeam_epoch("0.9.5", 0x0c45_bcca_59d7_0287),
    crossbeam_epoch("0.9.6", 0x6c86_a491_8778_4b07),
    crossbeam_epoch("0.9.7", 0x2c40_6640_6fc0_bb16),
    crossbeam_epoch("0.9.8", 0xede0_6ab1_671a_cf7f),
    crossbeam_epoch("0.9.9", 0xe929_3617_2587_f1f1),
    crossbeam_epoch("0.9.10", 0x50c9_4e3e_7709_58d9),
    crossbeam_epoch("0.9.11", 0xe64b_ec8e_792d_6bf7),
    crossbeam_epoch("0.9.12", 0xe64b_ec8e_792d_6bf7),
    crossbeam_epoch("0.9.13", 0xe64b_ec8e_792d_6bf7),
    crossbeam_epoch("0.9.14", 0xe64b_ec8e_792d_6bf7),
    crossbeam_epoch("0.9.15", 0x6b33_1ae3_81dc_da13),
    crossbeam_epoch("0.9.16", 0xd72a_5efc_2c15_8a60),
    crossbeam_epoch("0.9.17", 0x64c6_dd56_4be6_ac35),
    crossbeam_epoch("0.9.18", 0x93cf_0523_a418_9c76),
    crossbeam_epoch("0.9.19", 0xed7d_223a_7bf6_8b9b),
    crossbeam_epoch("0.9.20", 0x2287_df57_eba4_cac1),
    crossbeam_epoch("0.9.21", 0xba48_478d_e4f6_8cb7),
];
