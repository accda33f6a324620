//! The page of a study.

use std::fmt::Write as _;

use crate::figures::bars::{epoch_time, padding, rows};
use crate::figures::batches::{batches, order};
use crate::figures::curves::{frontier, idle, tuning};
use crate::figures::distribution::distribution;
use crate::figures::rungs::rungs;
use crate::figures::shared::Styles;
use crate::figures::steps::steps;
use crate::html::figure::{
    Width, figure, frontier_legend, idle_legend, lengths_legend, nothing, panels,
};
use crate::html::page::{TABLE_HINT, document, section};
use crate::html::table::table;
use crate::html::verdict::answer;
use crate::html::words::{ANDERSON, DOETSCH, GE, KHOMENKO, references, words};
use crate::study::{AtEqualMixing, Study};
use crate::text::{counted, escaped, grouped, mixing, plural};

impl Study {
    /// The report as one HTML file.
    pub fn to_html(&self) -> String {
        let styles = Styles::of(self);
        let mut main = self.head();
        self.table_section(&mut main, &styles);
        main.push_str("<div class=\"figures\">\n");
        self.lengths_section(&mut main);
        self.padding_section(&mut main, &styles);
        self.rungs_section(&mut main);
        self.time_section(&mut main, &styles);
        main.push_str("</div>\n");
        self.steps_section(&mut main, &styles);
        self.batches_section(&mut main, &styles);
        if self.papers {
            self.paper_sections(&mut main, &styles);
        }
        main += &words();
        main += &references();
        _ = write!(
            main,
            "<footer>\n<p>Made by lengthwise {} with</p>\n<pre>{}</pre>\n</footer>\n",
            env!("CARGO_PKG_VERSION"),
            escaped(&self.command)
        );
        let json = serde_json::to_string(self).unwrap_or_default();
        document(&self.source(), &main, ("study", "application/json", &json))
    }

    /// What the lengths are. Examples and columns are named in code marks, which a page does not show.
    fn source(&self) -> String {
        self.comparison.input.source.replace('`', "")
    }

    fn head(&self) -> String {
        let (input, settings) = (&self.comparison.input, &self.comparison.settings);
        let mut page = format!(
            "<header>\n<p class=\"brand\">lengthwise report</p>\n<h1>{}</h1>\n</header>\n{}",
            escaped(&self.source()),
            answer(&self.comparison)
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
        facts.extend(settings.of_groups().map(|(name, value)| (name, value.to_owned())));
        page.push_str("<dl class=\"facts\">\n");
        for (name, value) in facts {
            _ = writeln!(page, "<div><dt>{name}</dt><dd>{}</dd></div>", escaped(&value));
        }
        page + "</dl>\n"
    }

    fn table_section(&self, page: &mut String, styles: &Styles) {
        let mut text = match self.comparison.settings.epochs {
            1 => "Measured in one epoch.".to_owned(),
            epochs => {
                format!(
                    "Means over {epochs} epochs, ± the standard deviation between epochs; of mixing, the standard error."
                )
            }
        };
        if self.comparison.recommended.is_some() {
            text += " The recommended plan has its own shapes; the others have those of the settings \
                     above.";
        }
        section(page, "strategies", "All strategies", &(text + TABLE_HINT), &table(self, styles));
    }

    fn lengths_section(&self, page: &mut String) {
        let what = if self.lengths.recommended {
            "The vertical lines are the batch lengths that the recommended plan pads to."
        } else {
            "The vertical lines are the rungs of a ladder: the batch lengths that pad least."
        };
        section(
            page,
            "lengths",
            "Lengths and batch lengths",
            &format!("{what} Optimal batch lengths: {}.", KHOMENKO.cite()),
            &figure("lengths", Width::Small, &distribution(self), &lengths_legend(self)),
        );
    }

    fn padding_section(&self, page: &mut String, styles: &Styles) {
        let (title, text) = match &self.frontier.at_equal_mixing {
            None => ("Padding", "In % of all cells, as in the table.".to_owned()),
            Some(equal) => ("Padding at equal mixing", self.equal_text(equal)),
        };
        let svg = padding(self, styles).map_or_else(
            || nothing("there is no padding"),
            |svg| figure("padding", Width::Small, &svg, ""),
        );
        section(page, "padding", title, &text, &svg);
    }

    fn equal_text(&self, equal: &AtEqualMixing) -> String {
        let mut text = format!(
            "Every method is set so that its batch-mates change as freely as those of the {}: {} mixing.",
            if equal.strategy == "recommended" {
                "recommended plan".to_owned()
            } else {
                format!("<code>{}</code> plan", escaped(&equal.strategy))
            },
            mixing(equal.mixing, equal.mixing_error)
        );
        let own = self.comparison.recommended.as_ref();
        if own.is_some_and(|own| own.shapes != self.comparison.settings.shapes) {
            text += " It pads to few batch lengths, which saves shapes; the others do not.";
        }
        let biased = self.comparison.rows.iter().find(|row| row.recommended);
        if biased.is_some_and(|row| row.mean.micro_batches > 1.5 && row.mean.step_mix < 0.9) {
            text += " Methods that pad less make biased optimizer steps: see the step mix.";
        }
        if rows(self).any(|(_, row)| row.label() == "shuffled") {
            text += " * Random shuffling mixes fully.";
        }
        if self.frontier.sequences < self.comparison.input.sequences {
            let measured = grouped(self.frontier.sequences as u64);
            _ = write!(text, " The other methods are measured on {measured} random sequences.");
        }
        text
    }

    fn rungs_section(&self, page: &mut String) {
        let svg = rungs(self).map_or_else(
            || nothing("there are too few different lengths or batches for two ladders"),
            |svg| figure("rungs", Width::Small, &svg, ""),
        );
        section(
            page,
            "rungs",
            "What the number of rungs buys",
            &format!(
                "Padding of <code>{}</code> on ladders of 1 to 64 batch lengths. More rungs pad less; fewer \
                 rungs make fewer shapes and mix more.",
                escaped(&self.rungs.strategy)
            ),
            &svg,
        );
    }

    fn time_section(&self, page: &mut String, styles: &Styles) {
        let Some(svg) = epoch_time(self, styles) else { return };
        let text = if self.comparison.settings.cost_model.is_some() {
            "Predicted by the cost model, without the time that new shapes take."
        } else {
            "Estimated for the kind of model you named (attention by default); 1 is random batches. It \
             counts padding, the launch of every batch and new shapes. Name your own measurements with \
             <code>--cost-model</code> for seconds."
        };
        let figure = figure("time", Width::Small, &svg, "");
        section(page, "time", "Predicted epoch time", text, &figure);
    }

    fn steps_section(&self, page: &mut String, styles: &Styles) {
        let settings = &self.comparison.settings;
        let ranks = idle(self, styles);
        let mut text =
            "Left: how much optimizer steps differ in length. Far right of the line, a step \
                        sees only short or only long sequences."
                .to_owned();
        if ranks.is_some() {
            _ = write!(
                text,
                " Right: how long ranks wait for the slowest one, with {} steps; time follows the {}. A curve \
                 ends where an epoch would have fewer than two steps.",
                escaped(&settings.steps),
                escaped(&settings.time)
            );
        }
        let legend = if ranks.is_some() { idle_legend(self, styles) } else { String::new() };
        let missing = || nothing("there are too few batches for two ranks");
        let right = ranks.map_or_else(missing, |svg| svg + &legend);
        let pictures = format!("{}<div>{right}</div>", self::steps(self, styles));
        let drawn = panels("steps", "Optimizer steps and ranks", "two", &pictures, "");
        section(page, "steps", "Optimizer steps and ranks", &text, &drawn);
    }

    fn batches_section(&self, page: &mut String, styles: &Styles) {
        let mut content = String::new();
        for (number, _) in rows(self) {
            content += &batches(&self.pictures[number], styles.row(number));
        }
        let paired = rows(self).any(|(_, row)| row.mean.second_padding_rate.is_some());
        let most = self.pictures.iter().map(|picture| picture.batches.len()).max();
        let text = format!(
            "{} in a row from the first epoch of each plan: those whose padding (“here”) is nearest to that \
             of the whole epoch{}. Width is batch size, height is length; the sequences of a batch are sorted, \
             and grey is padding. Pictures of this kind: {}, {}.",
            counted(most.unwrap_or(0) as u64, "batch").replace("batchs", "batches"),
            if paired { ", by the first length" } else { "" },
            GE.cite(),
            ANDERSON.cite()
        );
        let figure = panels("batches", "Batches of every plan", "grid", &content, "");
        section(page, "batches", "Real batches", &text, &figure);
    }

    /// The figures that only readers of the papers need.
    fn paper_sections(&self, page: &mut String, styles: &Styles) {
        if !self.frontier.curves.is_empty() {
            self.frontier_section(page, styles);
            self.tuning_section(page, styles);
        }
        self.orders_section(page, styles);
    }

    fn frontier_section(&self, page: &mut String, styles: &Styles) {
        let mut more = String::new();
        if self.frontier.sequences < self.comparison.input.sequences {
            let measured = grouped(self.frontier.sequences as u64);
            _ = write!(more, " Curves are measured on {measured} random sequences.");
        }
        section(
            page,
            "frontier",
            "Padding against mixing",
            &format!(
                "Every family of strategies is a curve from sorted to random; the large dots with an \
                 outline are the strategies of the table. Down and to the right is better. Every pair of \
                 batch-mates counts the same.{more}"
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
            &format!(
                "What the parameter of each family does to two measures of {}: ZPR, the mean padding rate of \
                 a batch, and ABL, the mean batch length.",
                GE.cite()
            ),
            &charts,
        );
    }

    fn orders_section(&self, page: &mut String, styles: &Styles) {
        let mut content = String::new();
        for own in &self.orders {
            let svg = order(self, own, styles.named(&own.strategy, self));
            let (name, heading) = (format!("order-{}", own.strategy), escaped(&own.strategy));
            let figure = figure(&name, Width::Small, &svg, "");
            _ = writeln!(content, "<div class=\"order\"><h3>{heading}</h3>{figure}</div>");
        }
        section(
            page,
            "orders",
            "Orders",
            &format!(
                "The order of the sequences as each strategy builds it ({}, Fig. 1).",
                DOETSCH.cite()
            ),
            &format!("<div class=\"pair\">{content}</div>"),
        );
    }
}
