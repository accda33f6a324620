//! NPZ files: what is in them, and those that are made to do harm.

use std::io::{Cursor, Read, Write};

use crate::files::common::{kinds, named, refusal, said, small, written};
use expect_test::expect;
use lengthwise_io::{Form, PlanFile, read_plan_from};
use xxhash_rust::xxh3::xxh3_64;
use zip::{CompressionMethod, ZipArchive, ZipWriter, write::SimpleFileOptions};

/// The arrays of a file, by name.
type Arrays = Vec<(String, Vec<u8>)>;

fn arrays(bytes: &[u8]) -> Arrays {
    let mut zip = ZipArchive::new(Cursor::new(bytes)).unwrap();
    (0..zip.len())
        .map(|at| {
            let mut entry = zip.by_index(at).unwrap();
            let mut bytes = Vec::new();
            entry.read_to_end(&mut bytes).unwrap();
            (entry.name().unwrap().into_owned(), bytes)
        })
        .collect()
}

fn zipped(arrays: &Arrays) -> Vec<u8> {
    let mut zip = ZipWriter::new(Cursor::new(Vec::new()));
    let options = SimpleFileOptions::default().compression_method(CompressionMethod::Stored);
    for (name, bytes) in arrays {
        zip.start_file(name, options).unwrap();
        zip.write_all(bytes).unwrap();
    }
    zip.finish().unwrap().into_inner()
}

fn data(array: &[u8]) -> &[u8] {
    &array[10 + usize::from(u16::from_le_bytes([array[8], array[9]]))..]
}

fn npy(about: &str, numbers: &[u8]) -> Vec<u8> {
    let mut bytes = b"\x93NUMPY\x01\x00".to_vec();
    bytes.extend((about.len() as u16 + 1).to_le_bytes());
    bytes.extend(about.as_bytes());
    bytes.push(b'\n');
    bytes.extend(numbers);
    bytes
}

fn list(kind: &str, count: usize, numbers: &[u8]) -> Vec<u8> {
    npy(&format!("{{'descr': '{kind}', 'fortran_order': False, 'shape': ({count},), }}"), numbers)
}

/// The arrays with another header, and a right checksum.
fn sealed(mut arrays: Arrays, from: &str, to: &str) -> Vec<u8> {
    let (_, header) = arrays.pop().unwrap();
    let header = String::from_utf8(data(&header).to_vec()).unwrap();
    let header = &header[..header.rfind(",\"checksum\"").unwrap()];
    assert!(header.contains(from), "{from} in {header}");
    let header = header.replacen(from, to, 1);
    let mut all: Vec<u8> = arrays.iter().flat_map(|(_, array)| data(array)).copied().collect();
    all.extend(header.as_bytes());
    let header = format!("{header},\"checksum\":\"{:016x}\"}}\n", xxh3_64(&all));
    arrays.push(("header.npy".to_owned(), list("|u1", header.len(), header.as_bytes())));
    zipped(&arrays)
}

/// The small file with one array in place of another, and a right checksum.
fn with(name: &str, array: Vec<u8>) -> Vec<u8> {
    with_in(&small(), name, array)
}

fn with_in(file: &PlanFile, name: &str, array: Vec<u8>) -> Vec<u8> {
    let mut all = arrays(&written(file, Form::Npz));
    let place = all.iter_mut().find(|(there, _)| *there == format!("{name}.npy"));
    place.unwrap().1 = array;
    sealed(all, "", "")
}

#[test]
fn the_arrays_keep_their_contract() {
    let said = |file: &PlanFile| {
        let bytes = written(file, Form::Npz);
        assert_eq!(bytes, written(file, Form::Npz), "the same whenever it is written");
        let mut said = String::new();
        for (name, array) in arrays(&bytes) {
            let numbers = data(&array);
            assert_eq!((array.len() - numbers.len()) % 64, 0, "{name}");
            let about = array[10..].split(|&byte| byte == b' ').collect::<Vec<_>>();
            let about = [about[1], about[5]].map(String::from_utf8_lossy).concat();
            let content = match name.as_str() {
                "header.npy" => String::from_utf8(numbers.to_vec()).unwrap(),
                _ => format!("{numbers:?}\n"),
            };
            said += &[&name, " ", &about, " ", &content].concat();
        }
        said
    };
    let all = kinds();
    expect![[r#"
        indices.npy '<u4',(10,), [9, 0, 0, 0, 1, 0, 0, 0, 6, 0, 0, 0, 8, 0, 0, 0, 7, 0, 0, 0, 5, 0, 0, 0, 0, 0, 0, 0, 2, 0, 0, 0, 4, 0, 0, 0, 3, 0, 0, 0]
        ends.npy '<u4',(8,), [1, 0, 0, 0, 2, 0, 0, 0, 3, 0, 0, 0, 6, 0, 0, 0, 7, 0, 0, 0, 8, 0, 0, 0, 9, 0, 0, 0, 10, 0, 0, 0]
        batch_lengths.npy '<u4',(8,), [3, 0, 0, 0, 5, 0, 0, 0, 5, 0, 0, 0, 1, 0, 0, 0, 5, 0, 0, 0, 3, 0, 0, 0, 5, 0, 0, 0, 4, 0, 0, 0]
        positions.npy '<u8',(8,), [3, 0, 0, 0, 0, 0, 0, 0, 5, 0, 0, 0, 0, 0, 0, 0, 5, 0, 0, 0, 0, 0, 0, 0, 3, 0, 0, 0, 0, 0, 0, 0, 5, 0, 0, 0, 0, 0, 0, 0, 3, 0, 0, 0, 0, 0, 0, 0, 5, 0, 0, 0, 0, 0, 0, 0, 4, 0, 0, 0, 0, 0, 0, 0]
        piece_sequences.npy '<u4',(10,), [0, 0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0, 2, 0, 0, 0, 3, 0, 0, 0, 3, 0, 0, 0, 4, 0, 0, 0, 4, 0, 0, 0, 5, 0, 0, 0, 6, 0, 0, 0]
        piece_offsets.npy '<u4',(10,), [0, 0, 0, 0, 0, 0, 0, 0, 6, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 6, 0, 0, 0, 0, 0, 0, 0, 6, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]
        piece_lengths.npy '<u4',(10,), [5, 0, 0, 0, 6, 0, 0, 0, 3, 0, 0, 0, 4, 0, 0, 0, 6, 0, 0, 0, 1, 0, 0, 0, 6, 0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0, 3, 0, 0, 0]
        over_long.npy '<u4',(3,), [1, 0, 0, 0, 4, 0, 0, 0, 6, 0, 0, 0]
        header.npy '|u1',(406,), {"version":1,"digest":"ba7462e0e9d4c965","made":{"strategy":"sorted","budget":"padded:5","shapes":"exact","arrange":"spread","over_long":"truncate","steps":"stratified","tail":"split","accumulate":1,"seed":0,"epoch":0,"lengths":"5207fbf33c8e92c3"},"ranks":{"world_size":2,"accumulate":1,"steps":4,"step_counts":{"sequences":[2,4,2,2],"positions":[8,8,8,9]},"step_mix":2.088},"checksum":"d92713f74675f25d"}
    "#]].assert_eq(&said(&small()));
    expect![[r#"
         '<u4',(3,), [1, 0, 0, 0, 4, 0, 0, 0, 6, 0, 0, 0]
        id_bytes.npy '|u1',(123,), [92, 92, 110, 92, 117, 48, 48, 48, 48, 34, 113, 117, 111, 116, 101, 100, 34, 44, 32, 97, 110, 100, 10, 108, 105, 110, 101, 115, 13, 10, 27, 91, 50, 74, 127, 194, 133, 226, 128, 168, 195, 164, 240, 159, 152, 128, 239, 191, 189, 27, 91, 50, 74, 127, 194, 133, 226, 128, 168, 0, 122, 101, 114, 111, 115, 32, 97, 116, 32, 116, 104, 101, 32, 101, 110, 100, 0, 0, 117, 116, 116, 45, 49, 34, 113, 117, 111, 116, 101, 100, 34, 44, 32, 97, 110, 100, 10, 108, 105, 110, 101, 115, 13, 10, 0, 122, 101, 114, 111, 115, 32, 97, 116, 32, 116, 104, 101, 32, 101, 110, 100, 0, 0]
        id_ends.npy '<u8',(10,), [9, 0, 0, 0, 0, 0, 0, 0, 30, 0, 0, 0, 0, 0, 0, 0, 40, 0, 0, 0, 0, 0, 0, 0, 49, 0, 0, 0, 0, 0, 0, 0, 59, 0, 0, 0, 0, 0, 0, 0, 78, 0, 0, 0, 0, 0, 0, 0, 83, 0, 0, 0, 0, 0, 0, 0, 104, 0, 0, 0, 0, 0, 0, 0, 123, 0, 0, 0, 0, 0, 0, 0, 123, 0, 0, 0, 0, 0, 0, 0]
        header.npy '|u1',(406,), {"version":2,"digest":"ba7462e0e9d4c965","made":{"strategy":"sorted","budget":"padded:5","shapes":"exact","arrange":"spread","over_long":"truncate","steps":"stratified","tail":"split","accumulate":1,"seed":0,"epoch":0,"lengths":"5207fbf33c8e92c3"},"ranks":{"world_size":2,"accumulate":1,"steps":4,"step_counts":{"sequences":[2,4,2,2],"positions":[8,8,8,9]},"step_mix":2.088},"checksum":"caf0e1fc74c74326"}
    "#]].assert_eq(said(&named(small())).split_once("over_long.npy").unwrap().1);
    assert!(said(&all[0]).starts_with("indices.npy"));
    assert!(!said(&all[0]).contains("piece") && !said(&all[0]).contains("over_long.npy"));
}

#[test]
fn what_is_wrong_with_arrays_is_said() {
    let whole = arrays(&written(&small(), Form::Npz));
    assert_eq!(read_plan_from(&zipped(&whole), Form::Npz).unwrap(), small());
    assert_eq!(read_plan_from(&sealed(whole.clone(), "", ""), Form::Npz).unwrap(), small());
    let without = |name: &str| {
        let mut all = whole.clone();
        all.retain(|(there, _)| *there != format!("{name}.npy"));
        zipped(&all)
    };
    let mut more = whole.clone();
    more.insert(0, ("extra.npy".to_owned(), list("<u4", 0, &[])));
    let mut altered = whole.clone();
    altered[0].1[128] ^= 1;
    let mut unsealed = whole.clone();
    unsealed.pop();
    unsealed.push(("header.npy".to_owned(), list("|u1", 13, b"{\"version\":1}")));
    let order = "{'descr': '<u4', 'fortran_order': True, 'shape': (1,), }";
    let matrix = "{'descr': '<u4', 'fortran_order': False, 'shape': (1, 1), }";
    let fields = "{'descr': [('a', '<u4')], 'fortran_order': False, 'shape': (1,), }";
    let said: String = [
        b"PK\x05\x06".to_vec(),
        zipped(&Vec::new()),
        without("header"),
        without("indices"),
        without("piece_sequences"),
        without("piece_lengths"),
        without("over_long"),
        zipped(&more),
        zipped(&altered),
        zipped(&unsealed),
        sealed(whole.clone(), "padded:5", "padded:x"),
        sealed(whole.clone(), "\"digest\":\"b", "\"digest\":\"a"),
        sealed(whole.clone(), "\"world_size\":2", "\"world_size\":0"),
        with("ends", b"\x93NUMPY\x02\x00\x00\x00".to_vec()),
        with("ends", list("<i4", 1, &[1, 0, 0, 0])),
        with("ends", list(">u4", 1, &[0, 0, 0, 1])),
        with("ends", list("|O", 1, b"\x80\x04.")),
        with("ends", npy(order, &[1, 0, 0, 0])),
        with("ends", npy(matrix, &[1, 0, 0, 0])),
        with("ends", npy(fields, &[1, 0, 0, 0])),
        with("ends", list("<u4", 2, &[1, 0, 0, 0])),
        with("ends", list("<u4", usize::MAX, &[1, 0, 0, 0])),
        with("ends", list("<u4", 1, &[1, 0, 0, 0])),
        with("positions", list("<u8", 0, &[])),
        with("indices", list("<u4", 0, &[])),
        with("piece_offsets", list("<u4", 0, &[])),
    ]
    .iter()
    .map(|bytes| refusal(bytes, Form::Npz))
    .collect();
    expect![[r#"
        the plan is cut off or not a plan: its zip is cut off or damaged
        the plan is cut off or not a plan: it has no array `header`
        the plan is cut off or not a plan: it has no array `header`
        the plan is cut off or not a plan: it has no array `indices`
        the plan is cut off or not a plan: it has no array `piece_sequences`
        the plan is cut off or not a plan: it has no array `piece_lengths`
        the plan has been altered: its checksum is d92713f74675f25d, its content has a9dc0f869eee00a0
        the plan is cut off or not a plan: it has `extra.npy`, which is not part of a plan
        the plan has been altered: its checksum is d92713f74675f25d, its content has 9b8a36f17cd25759
        the plan has no checksum
        the plan is cut off or not a plan: budget `padded` cannot be `x` at line 1 column 88
        the plan has been altered: its digest is aa7462e0e9d4c965, its batches have ba7462e0e9d4c965
        the plan is cut off or not a plan: it has no ranks, or no batches for them
        the plan is cut off or not a plan: array `ends` is not an array of version 1.0
        the plan is cut off or not a plan: array `ends` has type `<i4`, expected `<u4`
        the plan is cut off or not a plan: array `ends` has type `>u4`, expected `<u4`
        the plan is cut off or not a plan: array `ends` has type `|O`, expected `<u4`
        the plan is cut off or not a plan: array `ends` is in Fortran order
        the plan is cut off or not a plan: array `ends` has shape `(1, 1)`, expected one dimension
        the plan is cut off or not a plan: array `ends` has type `[('a', '<u4')]`, expected `<u4`
        the plan is cut off or not a plan: array `ends` should have 2 numbers, but has 4 bytes
        the plan is cut off or not a plan: array `ends` should have 18446744073709551615 numbers, but has 4 bytes
        the plan is cut off or not a plan: the plan is not valid: 1 batches and 8 batch lengths
        the plan is cut off or not a plan: 8 batches and positions of 0
        the plan is cut off or not a plan: the plan is not valid: the last batch ends at 10 of 0 sequences
        the plan is cut off or not a plan: the chunks are not parts of the sequences
    "#]].assert_eq(
        &said.replace("\n  make the plan again, or copy the file again from where it was made", ""),
    );
}

#[test]
fn what_is_wrong_with_ids_is_said() {
    let file = named(small());
    let whole = arrays(&written(&file, Form::Npz));
    assert_eq!(read_plan_from(&sealed(whole.clone(), "", ""), Form::Npz).unwrap(), file);
    let without = |names: &[&str]| {
        let mut all = whole.clone();
        all.retain(|(there, _)| !names.contains(&there.as_str()));
        sealed(all, "", "")
    };
    let ends = |ends: &[u64]| {
        let bytes: Vec<u8> = ends.iter().flat_map(|end| end.to_le_bytes()).collect();
        with_in(&file, "id_ends", list("<u8", ends.len(), &bytes))
    };
    let bytes = data(&whole[8].1).len() as u64;
    let said: String = [
        without(&["id_bytes.npy"]),
        without(&["id_ends.npy"]),
        without(&["id_bytes.npy", "id_ends.npy"]),
        sealed(whole.clone(), "\"version\":2", "\"version\":1"),
        sealed(arrays(&written(&small(), Form::Npz)), "\"version\":1", "\"version\":2"),
        ends(&[]),
        ends(&[bytes]),
        ends(&[bytes, bytes - 1]),
        ends(&[bytes + 1]),
        ends(&[u64::MAX; 10]),
        ends(&[0, 0, 0, 0, 0, 0, 0, 0, 0, 0, bytes]),
        with_in(&file, "id_ends", list("<u4", 1, &[0; 4])),
        with_in(&file, "id_bytes", list("|u1", 1, &[0xff])),
        with_in(&file, "id_bytes", list("|u1", 0, &[])),
        with_in(&file, "id_bytes", list("<U1", 1, b"a\0\0\0")),
    ]
    .iter()
    .map(|bytes| refusal(bytes, Form::Npz))
    .collect();
    expect![[r#"
        the plan is cut off or not a plan: it has no array `id_bytes`
        the plan is cut off or not a plan: it has no array `id_ends`
        the plan is cut off or not a plan: it has no ids, which version 2 has
        the plan is cut off or not a plan: it has ids, which version 1 has not
        the plan is cut off or not a plan: it has no ids, which version 2 has
        the plan is cut off or not a plan: its ids end at 0 of 123
        the plan is cut off or not a plan: it has 1 ids for 10 sequences
        the plan is cut off or not a plan: an id ends at 122, after 123 of 123
        the plan is cut off or not a plan: an id ends at 124, after 0 of 123
        the plan is cut off or not a plan: an id ends at 18446744073709551615, after 0 of 123
        the plan is cut off or not a plan: it has 11 ids for 10 sequences
        the plan is cut off or not a plan: array `id_ends` has type `<u4`, expected `<u8`
        the plan is cut off or not a plan: its ids are not valid UTF-8
        the plan is cut off or not a plan: an id ends at 9, after 0 of 0
        the plan is cut off or not a plan: array `id_bytes` has type `<U1`, expected `|u1`
    "#]]
    .assert_eq(
        &said.replace("\n  make the plan again, or copy the file again from where it was made", ""),
    );
}

/// A later version may have other arrays, and other types.
#[test]
fn other_versions_are_refused_by_number() {
    let header = b"{\"version\":5,\"checksum\":7}";
    let later = vec![
        ("header.npy".to_owned(), list("|u1", header.len(), header)),
        ("batches.npy".to_owned(), Vec::new()),
    ];
    let error = read_plan_from(&zipped(&later), Form::Npz).unwrap_err();
    assert!(!error.is_damaged());
    expect![[r#"
        the plan has version 5, but this release reads versions 1 to 4
          use the release of lengthwise that wrote it
    "#]]
    .assert_eq(&said(&error));
}

/// Sizes that are declared, and far from true.
#[test]
fn bombs_are_refused() {
    let bytes = written(&small(), Form::Npz);
    let entry = bytes.windows(4).position(|bytes| bytes == b"PK\x01\x02").unwrap();
    // In the list of contents: how it is packed, and the sizes packed and unpacked.
    for (at, size) in [(10, 2), (20, 4), (24, 4)] {
        for number in [1, 8, 12, 93, 0x7fff_ffff, 0xffff_fffe_u32, u32::MAX] {
            let mut bomb = bytes.clone();
            bomb[entry + at..entry + at + size].copy_from_slice(&number.to_le_bytes()[..size]);
            refusal(&bomb, Form::Npz);
            bomb[entry + 20..entry + 24].copy_from_slice(&number.to_le_bytes());
            bomb[entry + 24..entry + 28].copy_from_slice(&number.to_le_bytes());
            refusal(&bomb, Form::Npz);
        }
    }
}
