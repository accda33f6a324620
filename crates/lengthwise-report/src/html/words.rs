//! The words of the page, and the papers that it cites.

use std::fmt::Write as _;

/// Terms that the page uses.
const WORDS: [(&str, &str); 9] = [
    (
        "padding",
        "cells of a batch that hold no data, as a share of all cells. Cells are batch size × batch length.",
    ),
    (
        "shape",
        "a pair of batch size and batch length. Compilers and kernel tuners pay for each new one.",
    ),
    ("ladder, rung", "a small, fixed set of batch lengths; one of them."),
    (
        "mixing",
        "how freely batch-mates change between epochs. 100 % is random shuffling; near 0 % every epoch has \
         the same batches.",
    ),
    (
        "step mix",
        "how much the lengths of optimizer steps vary, compared with random steps of as many sequences. 1 is \
         as random, 0 means that all steps are alike, and above 1 steps are biased.",
    ),
    ("optimizer steps", "updates of the weights in an epoch, per rank."),
    ("micro-batch", "a batch whose gradients are accumulated with others into one optimizer step."),
    (
        "sequential steps",
        "the sum of the batch lengths: how many time steps a recurrent network takes in an epoch.",
    ),
    ("idle", "the share of the ranks’ time spent waiting for the slowest rank of each step."),
];

pub(super) fn words() -> String {
    let mut html = "<section id=\"words\">\n<h2>Words</h2>\n<dl class=\"words\">\n".to_owned();
    for (word, meaning) in WORDS {
        _ = writeln!(html, "<div><dt>{word}</dt><dd>{meaning}</dd></div>");
    }
    html + "</dl>\n</section>\n"
}

/// A paper: how it is cited, and its entry in the list.
pub(super) struct Paper {
    id: &'static str,
    cited: &'static str,
    entry: &'static str,
}

pub(super) const DOETSCH: Paper = Paper {
    id: "doetsch",
    cited: "Doetsch et al. 2017",
    entry: "P. Doetsch, P. Golik, H. Ney: <i>A comparative study of batch construction strategies for \
            recurrent neural networks in MXNet</i>, 2017",
};
pub(super) const GE: Paper = Paper {
    id: "ge",
    cited: "Ge et al. 2021",
    entry: "Z. Ge, L. Kaushik, M. Omote, S. Kumar: <i>Speed up training with variable length inputs by \
            efficient batching strategies</i>, Interspeech 2021",
};
pub(super) const KHOMENKO: Paper = Paper {
    id: "khomenko",
    cited: "Khomenko et al. 2016",
    entry: "V. Khomenko, O. Shyshkov, O. Radyvonenko, K. Bokhan: <i>Accelerating recurrent neural network \
            training using sequence bucketing and multi-GPU data parallelization</i>, 2016",
};
pub(super) const ANDERSON: Paper = Paper {
    id: "anderson",
    cited: "Anderson 2020",
    entry: "C. Anderson: <i>Smart document batching</i>, 2020",
};

impl Paper {
    /// The citation, linked to the list.
    pub(super) fn cite(&self) -> String {
        format!("<a href=\"#{}\">{}</a>", self.id, self.cited)
    }
}

pub(super) fn references() -> String {
    let mut html = "<section id=\"references\">\n<h2>References</h2>\n<ul>\n".to_owned();
    for paper in [ANDERSON, DOETSCH, GE, KHOMENKO] {
        _ = writeln!(html, "<li id=\"{}\">{}.</li>", paper.id, paper.entry);
    }
    html + "</ul>\n</section>\n"
}
