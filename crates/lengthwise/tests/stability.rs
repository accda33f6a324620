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
        shuffled           exact      280 94e7345db5daa3f5
        shuffled           ladder:8    72 6d5366a685be6e2e
        sorted             exact       48 91e9da3f7e752d41
        sorted             ladder:8    72 78d9da87bc2c4f32
        neighbours         exact       53 3567887db2b6f5e4
        neighbours         ladder:8    72 c873513b463bef3b
        pooled:batches=50  exact       48 591e5d379b6a91e5
        pooled:batches=50  ladder:8    72 fc9a4c46ddad09fe
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
        shuffled                  e1adacb8d8e76845 8b96739fcc0bd71e 11cf61ee68d64a7a
        sorted                    47d1e57b4e6c35e5 21d4a3dc02b92841 0f8dfbeaa0175e01
        semi-sorted:noise=0.1     ad22226a6e783b76 8b60b429b36ff0e6 a345f4d7c7cbf814
        alternated:bins=64        fd997073094799a4 f5a15201f55cac30 0df501986625d940
        bucketed:size=1024        d158a26ad077ec2f a26d1e651cba6a4e 96b1fc79fb446385
        length-buckets:width=250  64425ce6fb156c49 4278732ba6aba623 5cfeb69449c7c3e1
        optimal-buckets:count=6   a3aef8deacadca0e 5f4e01255c4d2a64 ace0704b8c7cdd47
        neighbours                69838ef99bcf57a4 b6c498687fd42031 381bbc5a18cbbcbb
        pooled:batches=50         3a65e7b37434ba77 1419182796b11cee f1bde8f5a28b2f6d
        blurred:blur=0.02         fc77d3fb3c4689d0 cad11a5c7d680e74 9e7d17ccc4f93951
        rotating:epochs=16        901aa174823802c1 7d36c903fa75e980 1f510ac391be9111
        proportional              5cf4dfbdb97686d8 affc3df61aedd51c bc0cf6f058f9dbcf
        packed                    d9fcdf00112bafc1 93b7de8077b3f05a bb05c79dcbbbee30
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
        stratified split    65 56b19fc1673876f0   32 b77403ccdf140b21
        stratified repeat   65 29d181a8b3e9f272   32 8d78e58256afd139
        stratified drop     64 54a40f6d32510e54   31 84d24fb95defda29
        aligned    split    65 ddf2b01e817a89ad   33 4802d89cdcd785f6
        aligned    repeat   65 3d6fb8441f42c20b   32 2eee91cf936fcfc4
        aligned    drop     64 99287eb953fcee57   31 2252ab6792e255e6
        in-order   split    65 b07523fc0697e389   32 ca2d2febdc338e16
        in-order   repeat   65 1729bad3df360343   32 dea1e877bfc16efe
        in-order   drop     64 fb45b065509f6405   31 9bc8d096f6ca834e
    "#]]
    .assert_eq(&list);
}
