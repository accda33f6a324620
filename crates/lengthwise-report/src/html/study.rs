//! The page of a study.

use std::fmt::Write as _;

use crate::figures::bars::seconds;
use crate::figures::batches::{batches, order};
use crate::figures::curves::{frontier, idle, tuning};
use crate::figures::distribution::distribution;
use crate::figures::shared::Styles;
use crate::html::figure::{Width, figure, frontier_legend, lengths_legend, nothing, row_legend};
use crate::html::page::{TABLE_HINT, document, section};
use crate::html::table::table;
use crate::html::verdict::verdict;
use crate::study::Study;
use crate::text::{counted, escaped, grouped, plural};

impl Study {
    /// The report as one HTML file.
    pub fn to_html(&self) -> String {
        let styles = Styles::of(self);
        let mut main = self.head();
        self.table_section(&mut main, &styles);
        self.figure_sections(&mut main, &styles);
        self.strategy_sections(&mut main, &styles);
        _ = write!(
            main,
            "<footer>\n<p>Provenance by lengthwise {} with</p>\n<pre>{}</pre>\n</footer>\n",
            env!("CARGO_PKG_VERSION"),
            escaped(&self.command)
        );
        let json = serde_json::to_string(self).unwrap_or_default();
        document(&self.comparison.input.source, &main, ("study", "application/json", &json))
    }

    fn head(&self) -> String {
        let (input, settings) = (&self.comparison.input, &self.comparison.settings);
        let mut page = format!(
            "<header>\n<p class=\"brand\">lengthwise report</p>\n<h1>{}</h1>\n\
             <p class=\"verdict\">{}</p>\n<dl>\n",
            escaped(&input.source),
            escaped(&verdict(&self.comparison))
        );
        let lengths = if input.min < input.max {
            format!("{} to {}, mean {:.1}", input.min, input.max, input.mean)
        } else {
            input.max.to_string()
        };
        let (epochs, seed) = (settings.epochs, settings.seed);
        let measured = format!("{epochs} epoch{}, seed {seed}", plural(epochs as usize));
        let mut facts = vec![
            ("sequences", grouped(input.sequences as u64)),
            ("lengths", lengths),
            ("budget", settings.budget.clone()),
            ("shapes", settings.shapes.clone()),
            ("order", settings.arrange.clone()),
            ("measured", measured),
        ];
        if settings.world_size > 1 {
            let (ranks, each) = (settings.world_size, settings.batches_of_a_rank());
            let (steps, tail) = (&settings.steps, &settings.tail);
            facts.push(("ranks", format!("{ranks}{each}, {steps} steps, tail {tail}")));
        }
        facts.extend(settings.cost_model.clone().map(|model| ("cost model", model)));
        for (name, value) in facts {
            _ = writeln!(page, "<div><dt>{name}</dt><dd>{}</dd></div>", escaped(&value));
        }
        page + "</dl>\n</header>\n"
    }

    fn table_section(&self, page: &mut String, styles: &Styles) {
        let text = match self.comparison.settings.epochs {
            1 => format!("Measured in one epoch.{TABLE_HINT}"),
            epochs => format!(
                "Means over {epochs} epochs, ± the standard deviation between epochs.{TABLE_HINT}"
            ),
        };
        section(page, "strategies", "Strategies", &text, &table(&self.comparison, styles));
    }

    fn figure_sections(&self, page: &mut String, styles: &Styles) {
        section(
            page,
            "lengths",
            "Lengths",
            "How many sequences have which length. The rungs of a ladder are the batch lengths that \
             pad least; an optimal bucket (paper 3) pads all its sequences to its end.",
            &figure("lengths", Width::Wide, &distribution(self), &lengths_legend(self)),
        );
        if !self.frontier.curves.is_empty() {
            self.frontier_section(page, styles);
            self.tuning_section(page, styles);
        }
        self.ranks_section(page, styles);
        if let Some(svg) = seconds(self, styles) {
            let figure = figure("seconds", Width::Wide, &svg, "");
            section(page, "seconds", "Time of an epoch", "Predicted by the cost model.", &figure);
        }
    }

    fn frontier_section(&self, page: &mut String, styles: &Styles) {
        let mut more = String::new();
        if self.frontier.sequences < self.comparison.input.sequences {
            let measured = grouped(self.frontier.sequences as u64);
            _ = write!(more, " Curves are measured on {measured} sequences at random.");
        }
        section(
            page,
            "frontier",
            "Padding against mixing",
            &format!(
                "Mixing says how freely batch-mates change between epochs: 100 % is random shuffling. \
                 Every pair of batch-mates counts the same. Every family of strategies is a curve from \
                 sorted to random; the large dots with an outline are the strategies of the table. \
                 Down and to the right is better.{more}"
            ),
            &frontier(self, styles).map_or_else(
                || nothing("there is no padding, or no sequence has batch-mates"),
                |svg| figure("frontier", Width::Wide, &svg, &frontier_legend(self, styles)),
            ),
        );
    }

    fn tuning_section(&self, page: &mut String, styles: &Styles) {
        let mut charts = String::new();
        let input = &self.comparison.input;
        let curves = if input.min < input.max { tuning(self, styles) } else { Vec::new() };
        for (family, [padding, length]) in curves {
            _ = writeln!(
                charts,
                "<div class=\"pair\"><h3>{}</h3>{}{}</div>",
                escaped(&family),
                figure(&format!("tuning-padding-{family}"), Width::Small, &padding, ""),
                figure(&format!("tuning-length-{family}"), Width::Small, &length, "")
            );
        }
        if charts.is_empty() {
            charts = nothing("all sequences are equally long, and no parameter matters");
        }
        section(
            page,
            "tuning",
            "Tuning curves",
            "What the parameter of each family does to paper 2’s two measures: ZPR, the mean \
             padding rate of a batch, and ABL, the mean batch length.",
            &charts,
        );
    }

    fn ranks_section(&self, page: &mut String, styles: &Styles) {
        let settings = &self.comparison.settings;
        section(
            page,
            "ranks",
            "Waiting of ranks",
            &format!(
                "The share of the ranks’ time that is spent waiting for the slowest rank of each step, \
                 with {} steps; time follows the {}. A curve ends where the batches of its strategy \
                 would not make two steps.",
                escaped(&settings.steps),
                escaped(&settings.time)
            ),
            &idle(self, styles).map_or_else(
                || nothing("there are too few batches for two ranks"),
                |svg| figure("ranks", Width::Wide, &svg, &row_legend(self, styles)),
            ),
        );
    }

    fn strategy_sections(&self, page: &mut String, styles: &Styles) {
        let mut content = String::new();
        for (number, picture) in self.pictures.iter().enumerate() {
            let style = styles.row(number);
            let name = escaped(&picture.strategy);
            let mut note = String::new();
            if picture.sample_strategy != picture.strategy {
                let small = escaped(&picture.sample_strategy);
                _ = write!(
                    note,
                    "<p class=\"note\">Batches as <code>{small}</code>, since there are few.</p>"
                );
            }
            let drawn = |what: &str, width, svg: &str| {
                figure(&format!("{what}-{}", picture.strategy), width, svg, "")
            };
            _ = writeln!(
                content,
                "<article class=\"series {}\" data-series=\"{name}\"><h3>{}{name}</h3>{}{}{note}\
                 </article>",
                style.classes(),
                style.key(),
                drawn("order", Width::Small, &order(self, picture, style)),
                drawn("batches", Width::Wide, &batches(picture)),
            );
        }
        let sample = self.pictures.first().and_then(|picture| picture.epochs.first());
        let sequences: usize = sample.iter().copied().flatten().map(|b| b.sequences.len()).sum();
        section(
            page,
            "pictures",
            "What each strategy does",
            &format!(
                "The order of the sequences as the strategy builds it (paper 1, Fig. 1), and {} at \
                 random in batches, in several epochs: colours by batch, padding grey \
                 (paper 2, Figs. 1 and 3; note 4).",
                counted(sequences as u64, "sequence")
            ),
            &content,
        );
    }
}
