//! A report as one page that needs nothing else: no network, and without scripts all can be read.

mod figure;
mod table;
mod verdict;

pub use self::figure::{
    Width, button, dots_legend, figure, lines_legend, lines_legend_and, nothing, plain_legend,
};

use std::fmt::Write as _;

use self::figure::{frontier_legend, lengths_legend, row_legend};
use crate::{
    Study,
    figures::{self, Looks},
    svg::escaped,
    text::{counted, grouped},
};

const STYLE: &str = include_str!("page.css");
const SCRIPT: &str = include_str!("page.js");

/// What the page may run and show: its own style and script by their SHA-256, and nothing else. A
/// test recomputes them.
const STYLE_HASH: &str = "sha256-kNZsblfr3DrZZx14ebEisDtXaPdQctYgLx8CIHmNJ9A=";
const SCRIPT_HASH: &str = "sha256-3QxskizFDFXW8U5IQjagl1Dq5RI17eM0e85wyPH+04Q=";

/// What can be done with a table.
pub const TABLE_HINT: &str = "<span class=\"act\"> Choose a heading to sort, a strategy to follow it through all figures.</span>\
     <span class=\"narrow\"> The table is wider than the window: scroll it sideways.</span>";

impl Study {
    /// The report as one HTML file.
    pub fn to_html(&self) -> String {
        let looks = Looks::of(self);
        let mut main = String::new();
        self.head(&mut main);
        self.table_section(&mut main, &looks);
        self.figure_sections(&mut main, &looks);
        self.strategy_sections(&mut main, &looks);
        self.foot(&mut main);
        let json = serde_json::to_string(self).unwrap_or_default();
        document(&self.comparison.input.source, &main, ("study", "application/json", &json))
    }

    fn head(&self, page: &mut String) {
        let (input, settings) = (&self.comparison.input, &self.comparison.settings);
        _ = write!(
            page,
            "<header>\n<p class=\"brand\">lengthwise report</p>\n<h1>{}</h1>\n\
             <p class=\"verdict\">{}</p>\n<dl>\n",
            escaped(&input.source),
            escaped(&verdict::verdict(&self.comparison))
        );
        let epochs = if settings.epochs == 1 { "epoch" } else { "epochs" };
        let mut facts = vec![
            ("sequences", grouped(input.sequences as u64)),
            (
                "lengths",
                if input.min < input.max {
                    format!("{} to {}, mean {:.1}", input.min, input.max, input.mean)
                } else {
                    input.max.to_string()
                },
            ),
            ("budget", settings.budget.clone()),
            ("shapes", settings.shapes.clone()),
            ("order", settings.arrange.clone()),
            ("measured", format!("{} {epochs}, seed {}", settings.epochs, settings.seed)),
        ];
        if settings.world_size > 1 {
            let each = match settings.accumulate {
                1 => String::new(),
                each => format!(" of {each} batches"),
            };
            facts.push((
                "ranks",
                format!(
                    "{}{each}, {} steps, tail {}",
                    settings.world_size, settings.steps, settings.tail
                ),
            ));
        }
        if let Some(model) = &settings.cost_model {
            facts.push(("cost model", model.clone()));
        }
        for (name, value) in facts {
            _ = writeln!(page, "<div><dt>{name}</dt><dd>{}</dd></div>", escaped(&value));
        }
        page.push_str("</dl>\n</header>\n");
    }

    fn table_section(&self, page: &mut String, looks: &Looks) {
        let epochs = match self.comparison.settings.epochs {
            1 => "Measured in one epoch.".to_owned(),
            epochs => {
                format!("Means over {epochs} epochs, ± the standard deviation between epochs.")
            }
        };
        section(
            page,
            "strategies",
            "Strategies",
            &format!("{epochs}{TABLE_HINT}"),
            &table::table(&self.comparison, looks),
        );
    }

    fn figure_sections(&self, page: &mut String, looks: &Looks) {
        section(
            page,
            "lengths",
            "Lengths",
            "How many sequences have which length. The rungs of a ladder are the batch lengths that \
             pad least; an optimal bucket (paper 3) pads all its sequences to its end.",
            &figure("lengths", Width::Wide, &figures::distribution(self), &lengths_legend(self)),
        );
        if !self.frontier.curves.is_empty() {
            self.frontier_section(page, looks);
            self.tuning_section(page, looks);
        }
        self.ranks_section(page, looks);
        if let Some(seconds) = figures::seconds(self, looks) {
            section(
                page,
                "seconds",
                "Time of an epoch",
                "Predicted by the cost model.",
                &figure("seconds", Width::Wide, &seconds, ""),
            );
        }
    }

    fn frontier_section(&self, page: &mut String, looks: &Looks) {
        let measured = if self.frontier.sequences < self.comparison.input.sequences {
            format!(
                " Curves are measured on {} sequences at random.",
                grouped(self.frontier.sequences as u64)
            )
        } else {
            String::new()
        };
        let apart = |row: &&crate::Row| row.mean.effective_mates.is_some_and(f64::is_infinite);
        let apart: Vec<String> =
            self.comparison.rows.iter().filter(apart).map(|row| escaped(&row.strategy)).collect();
        let apart = if apart.is_empty() {
            String::new()
        } else {
            format!(" Without a dot, since nobody met twice: {}.", apart.join(", "))
        };
        section(
            page,
            "frontier",
            "Padding against company",
            &format!(
                "Effective mates say from how many others the company of a sequence is in effect \
                 drawn; they are estimated from few epochs, and chance can put them above 100 %. \
                 Every family of strategies is a curve from sorted to random; the large dots with \
                 an outline are the strategies of the table. Down and to the right is \
                 better.{measured}{apart}"
            ),
            &figures::frontier(self, looks).map_or_else(
                || nothing("there is no padding, or no sequence has company"),
                |svg| figure("frontier", Width::Wide, &svg, &frontier_legend(self, looks)),
            ),
        );
    }

    fn tuning_section(&self, page: &mut String, looks: &Looks) {
        let mut charts = String::new();
        let input = &self.comparison.input;
        let curves = if input.min < input.max { figures::tuning(self, looks) } else { Vec::new() };
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

    fn ranks_section(&self, page: &mut String, looks: &Looks) {
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
            &figures::idle(self, looks).map_or_else(
                || nothing("there are too few batches for two ranks"),
                |svg| figure("ranks", Width::Wide, &svg, &row_legend(self, looks)),
            ),
        );
    }

    fn strategy_sections(&self, page: &mut String, looks: &Looks) {
        let mut content = String::new();
        for (number, picture) in self.pictures.iter().enumerate() {
            let look = looks.row(number);
            let name = escaped(&picture.strategy);
            let note = if picture.sample_strategy == picture.strategy {
                String::new()
            } else {
                format!(
                    "<p class=\"note\">Batches as <code>{}</code>, since there are few.</p>",
                    escaped(&picture.sample_strategy)
                )
            };
            _ = writeln!(
                content,
                "<article class=\"series {}\" data-series=\"{name}\"><h3>{}{name}</h3>{}{}{note}\
                 </article>",
                look.classes(),
                look.key(),
                figure(
                    &format!("order-{}", picture.strategy),
                    Width::Small,
                    &figures::order(self, picture, look),
                    ""
                ),
                figure(
                    &format!("batches-{}", picture.strategy),
                    Width::Wide,
                    &figures::batches(picture),
                    ""
                ),
            );
        }
        let sequences = self.pictures.first().and_then(|picture| picture.epochs.first());
        let sequences = sequences
            .map_or(0, |batches| batches.iter().map(|batch| batch.sequences.len()).sum::<usize>());
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

    fn foot(&self, page: &mut String) {
        _ = write!(
            page,
            "<footer>\n<p>Made by lengthwise {} with</p>\n<pre>{}</pre>\n</footer>\n",
            env!("CARGO_PKG_VERSION"),
            escaped(&self.command)
        );
    }
}

/// A page of its own: with this title, this in the middle, and data as an element of this name and
/// type, which is JSON or lines of it.
pub fn document(title: &str, main: &str, (id, kind, data): (&str, &str, &str)) -> String {
    let mut page = format!(
        "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src \
         '{STYLE_HASH}'; script-src '{SCRIPT_HASH}'; img-src data: blob:\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <meta name=\"color-scheme\" content=\"light dark\">\n\
         <title>lengthwise: {}</title>\n<style>{STYLE}</style>\n</head>\n<body>\n\
         <main>\n{main}</main>\n",
        escaped(title)
    );
    _ = writeln!(page, "<script type=\"{kind}\" id=\"{id}\">{}</script>", enclosed(data));
    _ = writeln!(page, "<script>{SCRIPT}</script>\n</body>\n</html>");
    page
}

/// JSON that ends no script element, whatever names it contains.
fn enclosed(json: &str) -> String {
    let mut safe = String::with_capacity(json.len());
    for character in json.chars() {
        match character {
            '<' | '>' | '&' | '\u{2028}' | '\u{2029}' => {
                _ = write!(safe, "\\u{:04x}", character as u32);
            }
            other => safe.push(other),
        }
    }
    safe
}

/// A part of the page. Its heading and what is said about it stay with what comes first in it.
pub fn section(page: &mut String, id: &str, title: &str, text: &str, content: &str) {
    _ = write!(
        page,
        "<section id=\"{id}\">\n<div class=\"head\"><h2>{title}</h2>\n<p>{text}</p></div>\n\
         {content}\n</section>\n"
    );
}

#[cfg(test)]
mod tests {
    use base64::prelude::*;
    use sha2::{Digest, Sha256};

    use super::*;

    /// A browser refuses a style or a script that differs from what the policy of the page names.
    #[test]
    fn the_policy_names_the_style_and_the_script() {
        for (text, hash) in [(STYLE, STYLE_HASH), (SCRIPT, SCRIPT_HASH)] {
            let expected = format!("sha256-{}", BASE64_STANDARD.encode(Sha256::digest(text)));
            assert_eq!(hash, expected, "put this one into html/mod.rs");
        }
    }
}
