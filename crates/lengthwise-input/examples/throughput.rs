fn main() {
    let path = std::env::args().nth(1).unwrap();
    let path = std::path::Path::new(&path);
    let size = std::fs::metadata(path).unwrap().len() as f64;
    for _ in 0..3 {
        let start = std::time::Instant::now();
        let c = lengthwise_input::read_path(path, &Default::default()).unwrap();
        let s = start.elapsed().as_secs_f64();
        println!("{} {:.0} MB/s", c.lengths.len(), size / s / 1e6);
    }
}
