//! Workers as processes of MPI, over the loopback.

use std::{
    fs,
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

use crate::shell::{
    checkpoint, folder, lines, once_each, once_each_of_two, signal, text, wait_for,
};

/// So many processes of the command.
fn mpirun(folder: &Path, processes: usize) -> Command {
    let mut command = Command::new("mpirun");
    command
        .args(["--oversubscribe", "-n", &processes.to_string()])
        .args(
            "--mca btl tcp,self --mca btl_tcp_if_include lo --mca oob_tcp_if_include lo".split(' '),
        )
        .arg(env!("CARGO_BIN_EXE_lengthwise-lab"))
        .current_dir(folder)
        .stdin(Stdio::null())
        .envs([
            ("OMPI_ALLOW_RUN_AS_ROOT", "1"),
            ("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1"),
            ("OMPI_MCA_mpi_yield_when_idle", "1"),
        ]);
    command
}

const EVERY: u64 = 4;

#[test]
fn processes_come_to_the_parameters_of_threads() {
    let folder = folder();
    let path = folder.path();
    let average = format!("average:every={EVERY}");
    for workers in [2, 4] {
        for (run, mode) in [("sync", "sync"), ("average", average.as_str())] {
            // The run says its mode itself.
            let file = fs::read_to_string(path.join("small.toml")).unwrap();
            fs::write(path.join("x.toml"), file.replace("\"average\"\n", "\"NAME\"\n")).unwrap();
            let file = fs::read_to_string(path.join("x.toml")).unwrap();
            let file = file.replacen("\"NAME\"", "\"average\"", 1).replacen("NAME", mode, 1);
            fs::write(path.join("x.toml"), file).unwrap();
            let out = |by: &str| PathBuf::from(format!("{by}-{workers}-{run}"));
            let arguments = |by: &str| {
                let out = out(by).display().to_string();
                let trace = format!("{out}/trace");
                ["run", "x.toml", "--only", run, "--out", &out, "--trace", &trace]
                    .map(str::to_owned)
            };
            let threads = crate::shell::lab(path)
                .args(arguments("threads"))
                .args(["--workers", &workers.to_string()])
                .output()
                .unwrap();
            assert!(threads.status.success(), "{}", text(&threads.stderr));
            let processes = mpirun(path, workers).args(arguments("processes")).output().unwrap();
            assert!(processes.status.success(), "{}", text(&processes.stderr));
            assert!(text(&processes.stderr).contains(&format!("on {workers} processes")));
            let of = |by: &str, rank| lines(&path.join(out(by)).join("trace"), rank);
            let first = of("processes", 0);
            assert!(first.len() >= 2 * 7, "{}", first.len());
            let mut apart = 0;
            for rank in 0..workers {
                let (threads, processes) = (of("threads", rank), of("processes", rank));
                assert_eq!(threads.len(), processes.len());
                let last = processes.iter().map(|line| line.step).max().unwrap();
                for ((one, other), first) in threads.iter().zip(&processes).zip(&first) {
                    assert_eq!((one.epoch, one.step), (other.epoch, other.step));
                    assert_eq!((&one.sequences, one.length), (&other.sequences, other.length));
                    assert_eq!(one.parameters, other.parameters, "{run}: threads and processes");
                    let together = run == "sync" || one.step % EVERY == 0 || one.step == last;
                    if together {
                        assert_eq!(other.parameters, first.parameters, "{run}: ranks 0 and {rank}");
                    } else if rank > 0 {
                        apart += usize::from(other.parameters != first.parameters);
                    }
                }
            }
            // Between means, each goes its own way: the digests tell parameters apart.
            assert_eq!(apart > 0, run == "average");
            for epoch in [1, 2] {
                once_each(&path.join(out("processes")).join("trace"), workers, run, epoch, |_| {
                    true
                });
            }
        }
    }
}

/// The process of a rank, among those that work in a folder.
fn process_of(folder: &Path, rank: usize) -> Option<u32> {
    let wanted = format!("OMPI_COMM_WORLD_RANK={rank}");
    fs::read_dir("/proc").unwrap().flatten().find_map(|entry| {
        let process: u32 = entry.file_name().to_str()?.parse().ok()?;
        let there = fs::read_link(entry.path().join("cwd")).ok()?;
        let variables = fs::read(entry.path().join("environ")).ok()?;
        let ours =
            there == folder && variables.split(|byte| *byte == 0).any(|v| v == wanted.as_bytes());
        ours.then_some(process)
    })
}

#[test]
fn one_of_four_processes_is_killed_and_three_go_on_with_shared_gradients() {
    one_of_four_processes_is_killed_and_three_go_on("sync", 0);
}

#[test]
fn one_of_four_processes_is_killed_and_three_go_on_with_means() {
    one_of_four_processes_is_killed_and_three_go_on("average", 1);
}

/// Every other of twenty trials.
fn one_of_four_processes_is_killed_and_three_go_on(run: &str, first: u64) {
    let folder = folder();
    let path = folder.path().canonicalize().unwrap();
    // About thirty steps of four workers: all in two epochs.
    let (mut within, mut told) = (0, 0);
    for trial in (first..20).step_by(2) {
        let name = format!("killed-{trial}");
        let trace = path.join(&name).join("trace-4");
        // Ranks and steps in no order that the training knows of.
        let (rank, step) = ((trial * 7 % 4) as usize, 1 + (trial * 11 + 3) % 14);
        let arguments = ["run", "small.toml", "--only", run, "--out", &name, "--save-every", "0"];
        let killed = mpirun(&path, 4)
            .args(arguments)
            .args(["--trace", trace.to_str().unwrap()])
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        wait_for(|| lines(&trace, rank).len() as u64 >= step);
        signal("-KILL", process_of(&path, rank).unwrap());
        let output = killed.wait_with_output().unwrap();
        let log = text(&output.stderr);
        assert!(!output.status.success(), "{log}");
        assert!(log.contains(&format!("process rank {rank} with PID")), "{log}");
        told += u32::from(
            log.contains(&format!("{name}: a worker is lost"))
                && log.contains("continues from the last checkpoint"),
        );
        let place = checkpoint(&path.join(&name));
        let over = place["epochs"].as_array().unwrap().len() as u32;
        let steps = |taken: &serde_json::Value| taken["steps"].as_u64().unwrap();
        let cut: u64 = place["taken"].as_array().unwrap().iter().map(steps).sum();
        assert!(over < 2, "it was done already");
        within += u32::from(cut > 0);
        let rest = path.join(&name).join("trace-3");
        let output = mpirun(&path, 3)
            .args(arguments)
            .args(["--trace", rest.to_str().unwrap()])
            .output()
            .unwrap();
        assert!(output.status.success(), "{}", text(&output.stderr));
        let epoch = over + 1;
        once_each_of_two((&trace, 4), (&rest, 3), run, epoch, cut);
        for whole in 1..=over {
            once_each(&trace, 4, run, whole, |_| true);
        }
        for whole in epoch + 1..=2 {
            once_each(&rest, 3, run, whole, |_| true);
        }
    }
    // MPI may end all processes before they can say a word.
    assert!(told >= 7, "only {told} of 10 said what to do");
    assert!(within >= 5, "only {within} of 10 were killed within an epoch");
}

#[test]
fn all_say_what_is_wrong_once() {
    let folder = folder();
    let output = mpirun(folder.path(), 4).args(["run", "nothing.toml"]).output().unwrap();
    let log = text(&output.stderr);
    assert!(!output.status.success());
    assert_eq!(log.matches("nothing.toml: No such file").count(), 1, "{log}");
    let output =
        mpirun(folder.path(), 2).args(["run", "small.toml", "--workers", "3"]).output().unwrap();
    let log = text(&output.stderr);
    assert!(log.contains("has 3 workers, and there are 2") && log.contains("mpirun -n 3"), "{log}");
}
