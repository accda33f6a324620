//! The same plans for ever: a changed digest is a breaking change, and belongs in the changelog
//! under "Plans change". `UPDATE_EXPECT=1 cargo test` rewrites the lists.

#![expect(clippy::unwrap_used, reason = "a test may panic")]

use std::fmt::Write as _;

use expect_test::expect;
use lengthwise::{
    Arrange, Budget, Example, Planner, Shapes, Steps, Strategy, Tail, strategy::Blurred,
};

fn digests(budget: &str, shapes: &str, arrange: Arrange, example: Example) -> String {
    let lengths = example.lengths();
    let budget: Budget = budget.parse().unwrap();
    let shapes: Shapes = shapes.parse().unwrap();
    let mut list = String::new();
    for strategy in Strategy::all_of_one_length() {
        let name = strategy.to_string();
        let planner = Planner::new(strategy, budget).shapes(shapes.clone()).arrange(arrange);
        let digest = |seed: u64, epoch: u64| {
            planner.clone().seed(seed).plan(&lengths, epoch).unwrap().digest()
        };
        _ = writeln!(
            list,
            "{name:25} {:016x} {:016x} {:016x}",
            digest(0, 0),
            digest(0, 1),
            digest(0x0123_4567_89ab_cdef, 1 << 40)
        );
    }
    list
}

#[test]
fn examples_never_change() {
    let mut list = String::new();
    for example in Example::ALL {
        let lengths = example.lengths();
        let first = &lengths.as_slice()[..6];
        _ = writeln!(
            list,
            "{example}: {} sequences, {} in all, {first:?}",
            lengths.len(),
            lengths.total()
        );
    }
    expect![[r#"
        speech: 10480 sequences, 5504155 in all, [729, 789, 691, 463, 120, 282]
        documents: 6000 sequences, 3098632 in all, [1256, 257, 134, 49, 268, 635]
        bimodal: 8000 sequences, 4125212 in all, [1115, 65, 104, 71, 32, 112]
    "#]]
    .assert_eq(&list);
}

#[test]
fn plans_of_sequences_never_change() {
    expect![[r#"
        shuffled                  d2d5a117965d6467 268d04066a4e98ee 58901d2ae835230c
        sorted                    33e904a4b353460c e352b42aec2267ce eb047983db0a4186
        semi-sorted:noise=0.1     4197752f701fc545 03a2c9a448077ebb 0c210ce7dab48875
        alternated:bins=64        2f7fc392bb9ca70d 5027a5aeea2252b1 05fc172e3a4ed533
        bucketed:size=1024        f56ed9b2b48399f6 27937d9fa5108e3a 4a1a9888ba033f74
        length-buckets:width=250  79920b4878910a87 888905baa1fd038a 45241451364441bd
        optimal-buckets:count=6   3a0824b0333e9879 05f61eca63193f1f 1e7b68f7573fbb1e
        neighbours                c0e0fa06292eed14 7f416627f0150ab8 14528513d4f405a6
        pooled:batches=50         02311a79908ab2f9 d31da2ec732ae25f ce09b36cb5f6ec6f
        blurred:blur=0.02         740bdbe75ce158fd 1741c347a932f78b ea5f585ca32ea491
        rotating:epochs=16        489567075b29be4d cec02cc6a8211bd4 8ef084d73c7f3253
        proportional              fa7d2bd7b1798989 c8ffc60ab47cd2e0 6b09db8e7ab2451d
        packed                    a49f6bb18f56b988 d11303d6d2e58a4b eeb140552ada7e57
    "#]]
    .assert_eq(&digests("sequences:16", "exact", Arrange::AsBuilt, Example::Speech));
}

#[test]
fn plans_under_a_padded_budget_never_change() {
    let budget = "padded:48000,at-most=256,multiple-of=8";
    expect![[r#"
        shuffled                  941e7ed35acb625f 56a2d25877fca0e8 52eab0f64ba08cb5
        sorted                    e4cd5bcbed4b9770 6c7d416c1112f558 2ed693ef3892d32a
        semi-sorted:noise=0.1     47bc3888dd559172 5ff0faf4bc46b603 46bfa9773b010cff
        alternated:bins=64        1d85b4d612c34338 199bcd7700006c47 fcb807a982b330c9
        bucketed:size=1024        552c96a35380968b 669273c0f0d1b7a6 8363acfdd71504e8
        length-buckets:width=250  e611c167ecabf309 8daade025ad23168 49a48902b94a6207
        optimal-buckets:count=6   bc543ac00c0fbb8a 2a3dbbff0fb3d174 102927596a9c0882
        neighbours                62a073021bb5eda4 2b9ee51b097cc25d f4992702ef2488a7
        pooled:batches=50         4135aa6bc2959462 a5248546f2336649 dbb02c3e78bd4f59
        blurred:blur=0.02         fc899d3f8a08bf34 4787ed3e2b2f72c1 9af8303f31206087
        rotating:epochs=16        9cd24ba6a10236b6 4efe3b14b2a153b8 330d5ad78ff713e4
        proportional              db845cd573ea7fb6 46e3e5856d7b8f4f 8f485a75ba659cef
        packed                    f9e2f3d88abda735 ae91a64385cdda61 58051ea701295fcd
    "#]]
    .assert_eq(&digests(budget, "multiple:8", Arrange::Shuffled, Example::Documents));
}

#[test]
fn plans_under_a_budget_of_seconds_never_change() {
    let lengths = Example::Documents.lengths();
    let mut list = String::new();
    for strategy in ["shuffled", "sorted", "neighbours", "pooled:batches=50"] {
        for shapes in ["exact", "ladder:8"] {
            let budget: Budget = "cost:a=0.001,b=1e-6,c=1e-7,d=1e-10,limit=0.03".parse().unwrap();
            let planner = Planner::new(strategy.parse::<Strategy>().unwrap(), budget);
            let plan = planner.shapes(shapes.parse().unwrap()).plan(&lengths, 1).unwrap();
            let (batches, digest) = (plan.len(), plan.digest());
            _ = writeln!(list, "{strategy:18} {shapes:9} {batches:4} {digest:016x}");
        }
    }
    expect![[r#"
        shuffled           exact      280 fe10f312e4e652fc
        shuffled           ladder:8    72 4f74bd7eb1c7de33
        sorted             exact       48 d2333cc9d193279a
        sorted             ladder:8    72 bd8b6c487a409695
        neighbours         exact       53 4814c08d10be682e
        neighbours         ladder:8    72 234bce7ea327c1b8
        pooled:batches=50  exact       48 dfa1f2c04f3300f8
        pooled:batches=50  ladder:8    72 d51ed16a7a01aaca
    "#]]
    .assert_eq(&list);
}

#[test]
fn plans_on_a_ladder_never_change() {
    expect![[r#"
        shuffled                  2671e83f4d76f18b 06f067815a9f7169 9b9c3e991ec3d753
        sorted                    7e75b7a883496de9 8bb1ea849d3ee450 a14e27ae973b58fa
        semi-sorted:noise=0.1     f86e67200e0f2d67 0ad597ce4e3f46f5 04f418fa95cbbab4
        alternated:bins=64        02420b3874c3f81b ee77989dda36209f 9ffad6f3117c530d
        bucketed:size=1024        22e9d276796bba08 ed05a477b8d2a03b adcfefe0f699ea7b
        length-buckets:width=250  5257c1868c706c1f 657bc1904a4f0010 82d188e96fb9d182
        optimal-buckets:count=6   4093398c1927de3c 7eedcbebb79c387c 9e654c835bf0b422
        neighbours                e7406168943bc1e2 b48905af4177231d f83838afefce2244
        pooled:batches=50         c4791e6e115ae67a c868c5173e975c56 e0ad57a5b3c5ceb4
        blurred:blur=0.02         4dac3dec1d08f321 0cb9551ab63f4072 28a305222b199df0
        rotating:epochs=16        c91a9803d188c7cf 1adf7b0700307a2c dcc824b02facae78
        proportional              d44d38ce6e9785ac f766dc3196bb8e23 8427f9aa7b6f5a9a
        packed                    2117bc0cf7c34518 9668124dc4680758 9de5ed359cd48e0d
    "#]]
    .assert_eq(&digests("dynamic:16", "ladder:8", Arrange::LongFirst, Example::Bimodal));
}

#[test]
fn spread_plans_never_change() {
    expect![[r#"
        shuffled                  a67c49f250ad5acf 257c0c67c48f652b f16a29e505825cf3
        sorted                    c6b1bd69de46f9cb af5291097d090e7c 65d1fd593ca349bd
        semi-sorted:noise=0.1     62d02bcc036ddce9 58c92703923e37b2 cd198245d30ce774
        alternated:bins=64        2cba439c9cab1451 755ea85c483d6eed c10d5a7ae270ed33
        bucketed:size=1024        3b91b0ec0987fc74 033ca76facfcae67 14d404b2c6eb4afb
        length-buckets:width=250  dc3c9b5891f023c3 d1e4293865597ccb bf5c4c176b8cc0c2
        optimal-buckets:count=6   358c29bd3d3ab120 f37c1b7bc974959a 8b069aaf40045359
        neighbours                df47ead8b4b78d2c 7d8f519074aa0362 29ecbb683d573012
        pooled:batches=50         7eebcd053efefa9e 45d428a23a6b4dfe 526d3471916e04e5
        blurred:blur=0.02         e73a630773f9c6db 2dfb32edb0ebedd6 ad40e756473e0514
        rotating:epochs=16        8ef87dc8689dff7c 714d60de4503e7f4 224bee87c8d9b6cb
        proportional              5cf4dfbdb97686d8 affc3df61aedd51c bc0cf6f058f9dbcf
        packed                    ea48b0366baee505 05ff7afb9bb6fa18 279db27fb01b40ef
    "#]]
    .assert_eq(&digests("padded:9000", "exact", Arrange::Spread, Example::Speech));
}

#[test]
fn ladders_never_change() {
    let rungs = Example::ALL.map(|example| lengthwise::ladder(&example.lengths(), 8));
    expect![[r#"
        [
            "[248, 344, 437, 515, 590, 662, 732, 800]",
            "[133, 242, 480, 1018, 1689, 3037, 5738, 11795]",
            "[84, 120, 180, 469, 1027, 1195, 1329, 1500]",
        ]
    "#]]
    .assert_debug_eq(&rungs.map(|rungs| format!("{rungs:?}")));
}

/// The digests of all ranks' batches, and of what is left for other ranks after ten steps.
#[test]
fn schedules_never_change() {
    let mut list = String::new();
    let lengths = Example::Speech.lengths();
    for steps in Steps::ALL {
        for tail in Tail::ALL {
            let planner = Planner::new(Blurred::default(), Budget::padded(12_800));
            let planner = planner.steps(steps).tail(tail).constant_steps(&lengths).unwrap();
            let plan = planner.plan(&lengths, 1).unwrap();
            let schedule = plan.schedule(7).unwrap();
            let rest = plan.resume(&schedule.cursor(10).unwrap(), 12).unwrap();
            _ = writeln!(
                list,
                "{steps:10} {tail:6} {:4} {:016x} {:4} {:016x}",
                schedule.len(),
                schedule.all_ranks().digest(),
                rest.len(),
                rest.all_ranks().digest()
            );
        }
    }
    expect![[r#"
        stratified split    65 65f38049cfa08e92   32 b97422612efa5be9
        stratified repeat   65 6116387bf22cd319   32 38bad8fef2324b8a
        stratified drop     64 7b357c0728625c29   31 ee348d60bfe1f5a4
        aligned    split    65 1c25e7163acc71b9   32 42dade063298b7a6
        aligned    repeat   65 3681e94971dde74f   32 52d7896ef07c6407
        aligned    drop     64 ea31b15088c683cd   31 1adc4202f60d15d3
        in-order   split    65 dd3d94ff7397531c   32 8a4a9ada317fa4c2
        in-order   repeat   65 0e23027e3c90a98d   32 0f6b1237200194e9
        in-order   drop     64 ad83c14360675d93   31 80454ecea47c9341
    "#]]
    .assert_eq(&list);
}
