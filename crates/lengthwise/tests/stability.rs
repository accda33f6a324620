//! The same plans for ever: a changed digest is a breaking change, and belongs in the changelog
//! under "Plans change". `UPDATE_EXPECT=1 cargo test` rewrites the lists.

#![expect(clippy::unwrap_used, reason = "a test may panic")]

use std::fmt::Write as _;

use expect_test::expect;
use lengthwise::{Arrange, Budget, Example, Planner, Shapes, Strategy};

fn digests(budget: &str, shapes: &str, arrange: Arrange, example: Example) -> String {
    let lengths = example.lengths();
    let budget: Budget = budget.parse().unwrap();
    let shapes: Shapes = shapes.parse().unwrap();
    let mut list = String::new();
    for strategy in Strategy::all() {
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
    "#]]
    .assert_eq(&digests("sequences:16", "exact", Arrange::AsBuilt, Example::Speech));
}

#[test]
fn plans_under_a_padded_budget_never_change() {
    let budget = "padded:48000,at-most=256,multiple-of=8";
    expect![[r#"
        shuffled                  941e7ed35acb625f 56a2d25877fca0e8 52eab0f64ba08cb5
        sorted                    30658e40c826e456 b133fa2320291a43 7888af261ff5a43d
        semi-sorted:noise=0.1     11a4fd705ef930d8 1bb477d7e8d4ed2f 7dee9b780bc4cd18
        alternated:bins=64        b5d9ea897b95ee15 e2d7f77d882845ff 6a2067304b1eea32
        bucketed:size=1024        552c96a35380968b 669273c0f0d1b7a6 8363acfdd71504e8
        length-buckets:width=250  e611c167ecabf309 8daade025ad23168 49a48902b94a6207
        optimal-buckets:count=6   bc543ac00c0fbb8a 2a3dbbff0fb3d174 102927596a9c0882
        neighbours                62a073021bb5eda4 2b9ee51b097cc25d f4992702ef2488a7
        pooled:batches=50         6b70ca56808db7f9 17afc43f7c998ac5 d1a341d6d4005304
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
        shuffled           exact      280 ec7fddad85a10dc2
        shuffled           ladder:8    88 2ffacc5b8d5d1900
        sorted             exact       48 9149dc07d3800f5d
        sorted             ladder:8    88 686e1147f80f1bb0
        neighbours         exact       53 ea5f0baa3c11d906
        neighbours         ladder:8    88 b77f121feb386d1d
        pooled:batches=50  exact       48 7e15d4b40b224ef6
        pooled:batches=50  ladder:8    88 e464d18acfee2686
    "#]]
    .assert_eq(&list);
}

#[test]
fn plans_on_a_ladder_never_change() {
    expect![[r#"
        shuffled                  44537abe1e2e6a22 74929447892a07a6 e67a3b0ca7530714
        sorted                    a9f46d5ce2afe3fe 9950e66fd62ae200 7a951f7241452413
        semi-sorted:noise=0.1     39b77059b5aa4f8a ab42086a71a58ddd 5352af28ae799935
        alternated:bins=64        03a20d4b3c3b14be c7dd329cfc1c2bca 0cdb0f91e481a658
        bucketed:size=1024        66422601c44a0713 a6c495f823bb9c4a 42e76a784899feae
        length-buckets:width=250  ee9d12b8c63cdac8 eefb7756fc99dce5 ede80a5a766d2622
        optimal-buckets:count=6   cc0662c9a2d12778 e1db8b7c8841b4b1 76d110eaabe3b803
        neighbours                06d07010e4d8d44f 4eb0aa68757c918e 1842ae745a98ddbe
        pooled:batches=50         6bb0aaf052207d93 7c77d88b49e14773 ed4a960ad1f215ae
    "#]]
    .assert_eq(&digests("dynamic:16", "ladder:8", Arrange::LongFirst, Example::Bimodal));
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
