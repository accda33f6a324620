//! Words to write and to say.

/// Common English words of 1 to 12 letters, the shortest first.
const WORDS: &str = "\
a i as at be by do go he in is it my no of on or so to up us we all and any are boy but can day \
did for get had has her him his how its let man new not now old one our out put say see she the \
too two use was way who you back been city come cozy exam exit fish from good hand have here \
home jazz join jump just kind king know lazy left life like line live long look make many milk \
mind more move much name need next only open over page part play quit quiz read real ride ship \
some such take than that them they this time very want wave well were what when will with year \
your zero about after again among below black brown could every first found great green happy \
heart horse house large learn light money music never night ocean other paper party piece place \
plant point queen quick right river seven sharp sleep small sound spell still study sugar table \
their there these thing think three water where which white world would write young always \
animal answer around become before better bridge change circle decide enough family father \
figure finger flower forest friend garden ground island letter listen market middle moment \
mother number object people person picnic pocket silver simple single spring square street \
strong summer system travel winter yellow another because between brother company country \
evening example explain feather freezes general history hundred kitchen machine morning nothing \
outside perhaps picture problem quality quickly science several special strange subject teacher \
through weather without although anything building children complete continue distance exercise \
favorite language mountain notebook possible question remember sentence surprise thousand \
together tomorrow adventure beautiful breakfast different difficult important newspaper \
something vegetable wonderful yesterday basketball everything friendship government understand \
university celebration handwriting imagination information temperature conversation neighborhood";

/// The words that have no more letters than this, which is at least 1.
pub(crate) fn words_up_to(letters: usize) -> Vec<&'static str> {
    WORDS.split(' ').filter(|word| word.len() <= letters).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_letter_is_in_words_of_every_length() {
        let words = words_up_to(12);
        assert_eq!(words_up_to(1), ["a", "i"]);
        assert!(words.is_sorted_by_key(|word| word.len()));
        for length in 1..=12 {
            assert!(words.iter().any(|word| word.len() == length), "{length}");
        }
        for letter in 'a'..='z' {
            let count = words.iter().filter(|word| word.contains(letter)).count();
            assert!(count >= 4, "{letter}: {count}");
        }
        assert!(words.iter().all(|word| word.bytes().all(|letter| letter.is_ascii_lowercase())));
    }
}
