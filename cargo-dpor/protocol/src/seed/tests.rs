use super::*;
use crate::ModelOption;

fn step(thread: u32, alternative: u32, operation: u8) -> SeedStep {
    SeedStep {
        transition: Transition {
            thread: ThreadId(thread),
            alternative,
        },
        operation,
    }
}

fn creation(parent: u32, nth: u32) -> Creation {
    Creation {
        parent: ThreadId(parent),
        nth,
    }
}

fn empty() -> Seed {
    Seed {
        test: 0,
        strategy: "source".into(),
        options: Options::NONE,
        threads: vec![],
        refinements: vec![],
        steps: vec![],
    }
}

fn rich() -> Seed {
    Seed {
        test: test_hash("demo/lib/demo tests::a"),
        strategy: "random".into(),
        options: Options::NONE.with(ModelOption::SpuriousWakeups, true),
        threads: vec![
            creation(0, 0),
            creation(0, 1),
            creation(2, 0),
            creation(0, 2),
            creation(0, u32::MAX),
        ],
        refinements: vec![0, 0x7000_0000_1234, u64::MAX],
        steps: vec![
            step(0, 0, 1),
            step(0, 0, 1),
            step(1, 2, 1),
            step(2, 0, 255),
            step(0, 1 << 23, 0),
            step(9, 0, 3),
        ],
    }
}

fn samples() -> Vec<Seed> {
    let long = Seed {
        steps: (0..5000).map(|i| step(i / 7 % 3, 0, (i % 5) as u8)).collect(),
        ..rich()
    };
    vec![
        empty(),
        rich(),
        Seed {
            strategy: "späte".into(),
            options: ModelOption::ALL
                .iter()
                .copied()
                .filter(|option| option.is_in_seeds())
                .collect(),
            ..rich()
        },
        long,
    ]
}

#[test]
fn every_seed_survives_the_journey() {
    for seed in samples() {
        assert_eq!(Seed::decode(&seed.encode()), Ok(seed.clone()));
        assert_eq!(format!("  {seed}\n").parse(), Ok(seed));
    }
}

#[test]
fn seeds_are_short() {
    let mut steps: Vec<_> = (0..20).map(|_| step(0, 0, 2)).collect();
    steps.extend((0..20).map(|_| step(1, 0, 2)));
    let seed = Seed {
        threads: vec![creation(0, 0), creation(0, 1)],
        steps,
        ..empty()
    };
    assert_eq!(seed.encode().len(), 38, "{seed}");
}

#[test]
fn every_wrong_character_is_noticed() {
    for seed in samples().into_iter().take(3) {
        let text = seed.encode();
        for at in 0..text.len() {
            for other in (0x21..0x7f)
                .map(char::from)
                .filter(|&c| c != text.as_bytes()[at] as char)
            {
                let mut damaged = text.clone();
                damaged.replace_range(at..=at, &other.to_string());
                let error = Seed::decode(&damaged).expect_err(&damaged);
                if at >= text.find('-').unwrap() + 4 {
                    assert_eq!(error, SeedError::Damaged, "{damaged}");
                }
            }
        }
    }
}

#[test]
fn every_truncation_is_named() {
    for seed in samples().into_iter().take(3) {
        let text = seed.encode();
        for end in 0..text.len() {
            let error = Seed::decode(&text[..end]).expect_err(&text[..end]);
            let expected = if end < "dpor1-".len() {
                SeedError::NotASeed
            } else {
                SeedError::Truncated
            };
            assert_eq!(error, expected, "{}", &text[..end]);
        }
    }
}

#[test]
fn every_swap_of_neighbours_and_every_addition_is_noticed() {
    let text = rich().encode();
    for at in 0..text.len() - 1 {
        let mut bytes = text.clone().into_bytes();
        bytes.swap(at, at + 1);
        let swapped = String::from_utf8(bytes).unwrap();
        assert!(swapped == text || Seed::decode(&swapped).is_err(), "{swapped}");
    }
    assert_eq!(Seed::decode(&format!("{text}A")), Err(SeedError::Damaged));
    assert_eq!(Seed::decode(&format!("{text}AAAA")), Err(SeedError::Damaged));
    assert_eq!(Seed::decode(&format!("{text} x")), Err(SeedError::Damaged));
}

#[test]
fn foreign_texts_get_the_right_name() {
    for text in [
        "",
        "hello",
        "dpor",
        "dpor-",
        "dporX-AAAA",
        "dpor+1-AAAA",
        "DPOR1-AAAA",
        "dpor1",
        "ü",
    ] {
        assert_eq!(Seed::decode(text), Err(SeedError::NotASeed), "{text}");
    }
    let newer = rich().encode().replacen("dpor1-", "dpor12-", 1);
    assert_eq!(Seed::decode(&newer), Err(SeedError::UnknownVersion(12)));
    assert!(SeedError::UnknownVersion(12).to_string().contains("format 12"));
}

#[test]
fn a_crafted_seed_does_no_harm() {
    for body in [vec![], vec![0xff; 40], vec![0; 40], (0..=255).collect::<Vec<u8>>()] {
        let mut out = Writer::default();
        out.number(body.len() as u64 + 4);
        out.raw(&body);
        let mut bytes = out.into_bytes();
        let checksum = crc32(&bytes);
        bytes.extend_from_slice(&checksum.to_le_bytes());
        assert_eq!(
            Seed::decode(&format!("dpor1-{}", base64::encode(&bytes))),
            Err(SeedError::Damaged)
        );
    }
}

#[test]
fn a_seed_knows_its_test() {
    assert_eq!(rich().check_test("demo/lib/demo tests::a"), Ok(()));
    let error = rich().check_test("demo/lib/demo tests::b").unwrap_err();
    assert_eq!(
        error.to_string(),
        "this seed is of another test than `demo/lib/demo tests::b`"
    );
}

#[test]
fn the_digests_are_the_published_ones() {
    assert_eq!(crc32(b"123456789"), 0xcbf4_3926);
    // FNV-1a of "a" is af63dc4c8601ec8c.
    assert_eq!(test_hash("a"), 0xaf63_dc4c ^ 0x8601_ec8c);
}
