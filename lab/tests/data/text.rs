//! Texts with tags or classes.

use std::fs;

use lengthwise_lab::data::text::{Form, Settings, load};
use lengthwise_lab::data::{Inputs, Targets, Task};
use tempfile::TempDir;

use super::flat::real;

const TAGGED: &str = "#doc\tmail\tm1\nThe\tDET\ndog\tNOUN\nbarks\tVERB\n\nthe\tDET\ndog\tNOUN\n\n\
    #doc\tblog\tb1\nbarks\tNOUN\n\n";

struct Folder(TempDir);

impl Folder {
    fn new(training: &str, validation: &str) -> Self {
        let folder = Self(TempDir::new().unwrap());
        fs::write(folder.0.path().join("train.tsv"), training).unwrap();
        fs::write(folder.0.path().join("dev.tsv"), validation).unwrap();
        folder
    }

    fn settings(&self, form: Form) -> Settings {
        Settings {
            path: self.0.path().join("train.tsv"),
            validation: Some(self.0.path().join("dev.tsv")),
            hold_out: 0.1,
            seed: 0,
            form,
            least: 1,
            lowercase: true,
        }
    }

    fn said(&self, settings: &Settings) -> String {
        let error = load(settings).unwrap_err();
        assert!(!error.hint().is_empty());
        error.to_string().replace(&format!("{}/", self.0.path().display()), "")
    }
}

/// The sequences of the training part, in words.
fn words(task: &Task) -> Vec<String> {
    let Inputs::Symbols { names, values } = &task.training.inputs else { panic!() };
    let word = |&symbol: &u32| names[symbol as usize].as_str();
    (0..values.len())
        .map(|at| values.get(at).iter().map(word).collect::<Vec<_>>().join(" "))
        .collect()
}

#[test]
fn sentences_with_tags() {
    let folder = Folder::new(TAGGED, "The\tDET\ncat\tNOUN\n");
    let task = load(&folder.settings(Form::Sentences)).unwrap();
    assert_eq!(words(&task), ["the dog barks", "the dog", "barks"]);
    let Targets::Labels { names, values, words: None } = &task.training.targets else { panic!() };
    assert_eq!(names.join(" "), "DET NOUN VERB");
    assert_eq!((values.get(0), values.get(2)), (&[0, 1, 2][..], &[1][..]));
    let Inputs::Symbols { names, values } = &task.validation.inputs else { panic!() };
    assert_eq!((names[0].as_str(), values.get(0)[1]), ("<unknown>", 0));
}

#[test]
fn whole_documents_with_tags_or_classes() {
    let folder = Folder::new(TAGGED, "#doc\tblog\tb2\r\nThe\tDET\r\n\r\ndog\tNOUN\r\n");
    let task = load(&folder.settings(Form::Documents)).unwrap();
    assert_eq!(words(&task), ["the dog barks the dog", "barks"]);
    assert_eq!(task.validation.inputs.lengths().collect::<Vec<_>>(), [2]);
    let task = load(&folder.settings(Form::Classes)).unwrap();
    let Targets::Classes { names, values } = &task.training.targets else { panic!() };
    assert_eq!((names.join(" "), &values[..]), ("blog mail".into(), &[1, 0][..]));
}

#[test]
fn lines_with_classes() {
    let folder = Folder::new("good\tWell done\n\nbad\tnot  well\n", "bad\tnot done\n");
    let task = load(&folder.settings(Form::Lines)).unwrap();
    assert_eq!(words(&task), ["well done", "not well"]);
    let Targets::Classes { names, values } = &task.validation.targets else { panic!() };
    assert_eq!((names.join(" "), &values[..]), ("bad good".into(), &[0][..]));
}

#[test]
fn rare_words_are_unknown_and_capitals_can_count() {
    let folder = Folder::new(TAGGED, "The\tDET\n");
    let rare = Settings { least: 2, ..folder.settings(Form::Sentences) };
    assert_eq!(words(&load(&rare).unwrap())[0], "the dog barks");
    let rare = Settings { least: 2, lowercase: false, ..rare };
    assert_eq!(words(&load(&rare).unwrap())[0], "<unknown> dog barks");
}

#[test]
fn a_share_is_held_out() {
    let lines: Vec<String> = (0..200).map(|line| format!("{}\tword{line}", line % 2)).collect();
    let folder = Folder::new(&lines.join("\n"), "");
    let alone = Settings { validation: None, hold_out: 0.25, ..folder.settings(Form::Lines) };
    let task = load(&alone).unwrap();
    let (training, out) = (task.training.inputs.len(), task.validation.inputs.len());
    assert_eq!(training + out, 200);
    assert!((30..70).contains(&out), "{out}");
    assert_eq!(task, load(&alone).unwrap());
    assert_ne!(task, load(&Settings { seed: 1, ..alone.clone() }).unwrap());
    let nothing = Settings { hold_out: 0.0, ..alone };
    assert_eq!(
        folder.said(&nothing),
        "train.tsv: the validation part is empty: of 200 sequences a share of 0 was held out"
    );
    let all = Settings { hold_out: 1.0, ..nothing };
    assert_eq!(folder.said(&all), "train.tsv: `hold_out` is 1");
}

#[test]
fn a_folder_has_its_own_split() {
    let folder = Folder::new(TAGGED, "The\tDET\n\ndog\tNOUN\n");
    let path = folder.0.path();
    let whole =
        Settings { path: path.to_owned(), validation: None, ..folder.settings(Form::Sentences) };
    let task = load(&whole).unwrap();
    let expected = load(&folder.settings(Form::Sentences)).unwrap();
    assert_eq!((&task.training, &task.validation), (&expected.training, &expected.validation));
    assert_eq!(task.name, path.file_name().unwrap().to_str().unwrap());
    assert_eq!(task.source, path.to_str().unwrap());
    let examined = |settings: &Settings| load(settings).unwrap().validation.inputs.len();
    fs::write(path.join("test.tsv"), "dog\tNOUN\n").unwrap();
    assert_eq!(examined(&whole), 2);
    let test = Settings { validation: Some(path.join("test.tsv")), ..whole.clone() };
    assert_eq!(examined(&test), 1);
    fs::remove_file(path.join("dev.tsv")).unwrap();
    assert_eq!(examined(&whole), 1);
    // With nothing to be examined on, a share is held out.
    fs::remove_file(path.join("test.tsv")).unwrap();
    let share = Settings { hold_out: 0.0, ..whole.clone() };
    assert!(folder.said(&share).starts_with("train.tsv: the validation part is empty"));
    fs::remove_file(path.join("train.tsv")).unwrap();
    assert_eq!(folder.said(&whole), "train.tsv: no such file or directory");
}

#[test]
fn lines_that_are_wrong() {
    let said = |training: &str, validation: &str, form| {
        let folder = Folder::new(training, validation);
        folder.said(&folder.settings(form))
    };
    let right = "a\tX\n";
    for wrong in ["b", "b\tX\tY", "\tX", "b\t"] {
        let text = format!("{right}\n{wrong}\n");
        let said = said(right, &text, Form::Sentences);
        assert_eq!(
            said,
            format!("dev.tsv:3: `{}` is not a word, a tab and a tag", wrong.replace('\t', "\\t"))
        );
    }
    assert_eq!(
        said(right, "b\tY\n", Form::Sentences),
        "dev.tsv:1: the tag `Y` is not in the training part"
    );
    assert_eq!(said("\n", right, Form::Sentences), "train.tsv: holds no words");
    assert_eq!(said(right, right, Form::Documents), "train.tsv:1: `a` is in no document");
    let document = "#doc\tmail\t1\na\tX\n";
    assert_eq!(
        said(document, "\n#doc\tblog\t1\na\tX\n", Form::Classes),
        "dev.tsv:3: the class `blog` is not in the training part"
    );
    assert_eq!(
        said("a\tb\nonly words\n", right, Form::Lines),
        "train.tsv:2: `only words` has no tab"
    );
    assert_eq!(said("a\tb\na\t \n", right, Form::Lines), "train.tsv:2: the text has no words");
}

#[test]
fn files_that_are_wrong() {
    let folder = Folder::new("a\tX\n", "b\tX\n");
    let mut settings = folder.settings(Form::Sentences);
    fs::write(folder.0.path().join("dev.tsv"), b"a\tX\nb\xff\tX\n").unwrap();
    assert_eq!(folder.said(&settings), "dev.tsv:2: the line is not valid UTF-8");
    settings.validation = Some(folder.0.path().join("test.tsv"));
    assert_eq!(folder.said(&settings), "test.tsv: no such file or directory");
}

#[test]
fn real_sentences_and_documents() {
    let Some(folder) = real("tagging_ewt") else { return };
    let settings = Settings {
        path: folder.join("train.tsv"),
        validation: Some(folder.join("dev.tsv")),
        hold_out: 0.1,
        seed: 0,
        form: Form::Sentences,
        least: 2,
        lowercase: true,
    };
    let task = load(&settings).unwrap();
    assert_eq!((task.training.inputs.len(), task.validation.inputs.len()), (12_544, 2001));
    assert_eq!(task.training.inputs.lengths().sum::<usize>(), 204_577);
    let Targets::Labels { names, .. } = &task.training.targets else { panic!() };
    assert_eq!(names.len(), 17);
    let documents = load(&Settings { form: Form::Classes, ..settings }).unwrap();
    assert_eq!(documents.training.inputs.lengths().sum::<usize>(), 204_577);
}
