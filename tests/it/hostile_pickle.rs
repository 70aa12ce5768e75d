//! A pickle is read as tensors or refused with one error: nothing is run, nothing grows beyond the pickle, nothing panics.

use std::time::Instant;

use airlock::formats::pickle::{self, PickleError, Value};
use airlock::graph::Dtype;
use proptest::prelude::*;

/// The pickle with the header of protocol 2 and the end.
fn program(body: &[u8]) -> Vec<u8> {
    [b"\x80\x02", body, b"."].concat()
}

fn text(text: &str) -> Vec<u8> {
    [b"X", &u32::try_from(text.len()).unwrap().to_le_bytes()[..], text.as_bytes()].concat()
}

fn storage(kind: &str, elements: &[u8]) -> Vec<u8> {
    [b"(", &text("storage")[..], b"c", kind.as_bytes(), b"\n", &text("0"), &text("cpu"), elements, b"tQ"].concat()
}

/// A call of a rebuilding function with `operands` after the storage.
fn rebuilt(function: &str, storage: &[u8], operands: &[u8]) -> Vec<u8> {
    [b"ctorch._utils\n", function.as_bytes(), b"\n(", storage, operands, b"tR"].concat()
}

fn float() -> Vec<u8> {
    storage("torch\nFloatStorage", b"K\x06")
}

/// Offset 0, sizes (2, 3), strides (3, 1), no gradient, no hooks.
const PLAIN: &[u8] = b"K\x00K\x02K\x03\x86K\x03K\x01\x86\x89ccollections\nOrderedDict\n)R";

fn error(body: &[u8]) -> PickleError {
    pickle::read(&program(body)).expect_err("this should be refused")
}

#[track_caller]
fn says(body: &[u8], parts: &[&str]) {
    let message = error(body).to_string();
    for part in parts {
        assert!(message.contains(part), "{message}\nlacks: {part}");
    }
}

#[test]
fn a_tensor_is_its_place_in_a_storage() {
    let bytes = program(&rebuilt("_rebuild_tensor_v2", &float(), PLAIN));
    let pickle = pickle::read(&bytes).unwrap();
    let Value::Tensor(tensor) = pickle.root() else { panic!("{:?}", pickle.root()) };
    assert_eq!((tensor.dtype, tensor.offset, tensor.is_parameter), (Dtype::F32, 0, false));
    assert_eq!((&*tensor.storage.key, &*tensor.storage.location, tensor.storage.elements), ("0", "cpu", 6));
    assert_eq!(pickle.sizes(tensor).collect::<Vec<_>>(), [2, 3]);
    assert_eq!(pickle.strides(tensor).collect::<Vec<_>>(), [3, 1]);
}

#[test]
fn dtypes_without_a_storage_type_come_with_the_tensor() {
    let untyped = storage("torch.storage\nUntypedStorage", b"K\x06");
    let typed = [PLAIN, b"ctorch\nfloat8_e4m3fn\n"].concat();
    let bytes = program(&rebuilt("_rebuild_tensor_v3", &untyped, &typed));
    let pickle = pickle::read(&bytes).unwrap();
    let Value::Tensor(tensor) = pickle.root() else { panic!() };
    assert_eq!(tensor.dtype, Dtype::F8E4m3fn);
    says(&rebuilt("_rebuild_tensor_v2", &untyped, PLAIN), &["a storage with a dtype", "UntypedStorage"]);
}

#[test]
fn attributes_of_tensors_are_left_aside_and_are_data_too() {
    let tensor = rebuilt("_rebuild_tensor_v2", &float(), PLAIN);
    let with = |state: &[u8]| rebuilt("_rebuild_parameter_with_state", &tensor, &[b"\x88}", state].concat());
    let bytes = program(&with(&[b"}", &text("is_special")[..], b"\x88s"].concat()));
    let pickle = pickle::read(&bytes).unwrap();
    assert!(matches!(pickle.root(), Value::Tensor(t) if t.is_parameter && t.requires_grad));
    says(&with(b"cos\ngetcwd\n)R"), &["`os.getcwd`"]);

    let typed = |function: &str, kind: &str| {
        let operands = [b"(", &float()[..], PLAIN, b"t"].concat();
        let head = [b"ctorch._tensor\n_rebuild_from_type_v2\n(c", function.as_bytes(), b"\nc", kind.as_bytes(), b"\n"]
            .concat();
        [&head[..], &operands, b"}tR"].concat()
    };
    let bytes = program(&typed("torch._utils\n_rebuild_tensor_v2", "torch\nTensor"));
    assert!(matches!(pickle::read(&bytes).unwrap().root(), Value::Tensor(t) if !t.is_parameter));
    says(&typed("torch._utils\n_rebuild_tensor_v2", "torch\nFloatStorage"), &["expected `torch.Tensor`"]);
    says(&typed("torch._tensor\n_rebuild_from_type_v2", "torch\nTensor"), &["expected one that rebuilds a tensor"]);
    says(&typed("torch._utils\n_rebuild_tensor_v2", "mine\nTensor"), &["`mine.Tensor`"]);
}

#[test]
fn any_other_name_is_refused_before_anything_uses_it() {
    for (module, name) in [
        ("os", "system"),
        ("posix", "system"),
        ("builtins", "eval"),
        ("__builtin__", "exec"),
        ("subprocess", "Popen"),
        ("torch.serialization", "load"),
        ("torch._utils", "_rebuild_wrapper_subclass"),
        ("torch._utils", "_rebuild_device_tensor_from_numpy"),
        ("torch", "os.system"),
        ("collections", "Counter"),
        ("numpy.core.multiarray", "_reconstruct"),
    ] {
        let body = [b"c", module.as_bytes(), b"\n", name.as_bytes(), b"\n"].concat();
        says(&body, &[&format!("asks for `{module}.{name}` (byte 2); only tensors are read")]);
    }
    // A name that does not end, is no text, or is long, is shown cut.
    let long = [b"c", &b"a".repeat(1000)[..], b"\n\x1b[31m\xff\n"].concat();
    let message = error(&long).to_string();
    assert!(message.len() < 200 && !message.contains('\x1b'), "{message}");
}

#[test]
fn opcodes_that_make_or_fill_objects_are_refused_by_name() {
    let cases: &[(&[u8], &str)] = &[
        (b"}}b", "BUILD"),
        (b"ccollections\nOrderedDict\n)\x81", "NEWOBJ"),
        (b"(ios\nsystem\n", "INST"),
        (b"(o", "OBJ"),
        (b"\x8c\x02os\x8c\x06system\x93", "SHORT_BINUNICODE"),
        (b"\x93", "STACK_GLOBAL"),
        (b"\x82\x01", "EXT1"),
        (b"P0\n", "PERSID"),
        (b"\x95\0\0\0\0\0\0\0\0", "FRAME"),
        (b"\xfe", "0xfe"),
    ];
    for (body, name) in cases {
        says(body, &[&format!("uses opcode {name} (byte ")]);
    }
}

#[test]
fn only_protocol_2_is_read() {
    for (bytes, found) in [
        (&b""[..], "begins with nothing"),
        (b"\x80\x04N.", "protocol 4"),
        (b"}.", "byte 0x7d"),
        (b"PK\x03\x04", "byte 0x50"),
    ] {
        let message = pickle::read(bytes).unwrap_err().to_string();
        assert!(message.contains(found), "{message}");
    }
}

#[test]
fn names_are_called_only_as_pytorch_calls_them() {
    let v2 = |operands: &[u8]| rebuilt("_rebuild_tensor_v2", &float(), operands);
    says(b"ctorch\nFloatStorage\n)R", &["expected a function that rebuilds a tensor"]);
    says(b"K\x01)R", &["REDUCE", "found the integer 1"]);
    says(b"ccollections\nOrderedDict\nK\x01R", &["expected a tuple", "the integer 1"]);
    says(b"ccollections\nOrderedDict\n]\x85R", &["expected no operands", "a tuple of 1"]);
    says(&rebuilt("_rebuild_tensor_v2", b"K\x01", PLAIN), &["expected a storage", "the integer 1"]);
    says(&v2(b"K\x00"), &["a tuple of 2"]);
    says(&v2(&[PLAIN, b"}", &text("conj")[..], b"\x88s"].concat()), &["conjugate or negative view", "a dictionary"]);
    says(&v2(b"K\x00K\x02\x85K\x03K\x01\x86\x89}"), &["1 sizes, 2 strides"]);
    says(&v2(b"J\xff\xff\xff\xffK\x02\x85K\x01\x85\x89}"), &["offset", "not negative", "-1"]);
    says(&v2(b"K\x00K\x02\x85J\xff\xff\xff\xff\x85\x89}"), &["strides", "-1"]);
    says(&v2(b"K\x00]]\x89}"), &["sizes", "expected a tuple, found a list"]);
    let many = [b"K\x00(", &b"K\x01".repeat(65)[..], b"t(", &b"K\x01".repeat(65), b"t\x89}"].concat();
    says(&v2(&many), &["at most 64 dimensions", "65"]);
    says(&v2(b"K\x00K\x02\x85K\x01\x85K\x01}"), &["requires_grad", "boolean"]);
    says(b"K\x01Q", &["a persistent id", "expected a tuple"]);
    says(&storage("torch\nfloat32", b"K\x01"), &["a storage type", "`float32`"]);
    says(&storage("torch\nFloatStorage", b"J\xff\xff\xff\xff"), &["number of elements", "-1"]);
    says(&rebuilt("_rebuild_parameter", b"K\x01", b"\x88}"), &["expected a tensor"]);
    says(&rebuilt("_rebuild_parameter_with_state", b"K\x01", b"\x88}"), &["attributes", "a tuple of 3"]);
}

#[test]
fn the_stack_and_the_memo_have_bottoms() {
    for (body, part) in [
        (&b""[..], "STOP (byte 2) finds an empty stack"),
        (b"(", "STOP (byte 3) finds a mark"),
        (b"t", "TUPLE (byte 2) finds no mark"),
        (b"N(\x85", "TUPLE1 (byte 4) finds a mark"),
        (b"q\x00", "BINPUT (byte 2) finds an empty stack"),
        (b"h\x00", "entry 0 of the memo"),
        (b"j\xff\xff\xff\xff", "entry 4294967295 of the memo"),
        (b"}(Nu", "a key without a value"),
        (b"NNNs", "expected a dictionary, found None"),
        (b"}Na", "expected a list, found a dictionary"),
        (b"\x8a\x09\x00\x00\x00\x00\x00\x00\x00\x00\x01", "more than 64 bits"),
        (b"X\x02\x00\x00\x00\xff\xff", "not UTF-8"),
    ] {
        says(body, &[part]);
    }
}

#[test]
fn a_pickle_that_ends_early_says_within_what() {
    let whole = program(&rebuilt("_rebuild_tensor_v2", &float(), PLAIN));
    for end in 2..whole.len() {
        let error = pickle::read(&whole[..end]).unwrap_err();
        assert!(matches!(error, PickleError::Truncated { .. }), "{end}: {error}");
    }
    // A text that claims 4 GB.
    says(b"X\xff\xff\xff\xff", &["ends within BINUNICODE"]);
    says(b"\x8a\xff", &["ends within LONG1"]);
}

#[test]
fn integers_of_every_width_are_read_with_their_sign() {
    for (bytes, value) in [
        (&b"K\xff"[..], 255),
        (b"M\xff\xff", 65535),
        (b"J\xff\xff\xff\xff", -1),
        (b"\x8a\x00", 0),
        (b"\x8a\x01\x80", -128),
        (b"\x8a\x06\x00\x00\x00\x00\x00\x01", 1 << 40),
        (b"\x8a\x08\xff\xff\xff\xff\xff\xff\xff\x7f", i64::MAX),
        (b"\x8a\x08\x00\x00\x00\x00\x00\x00\x00\x80", i64::MIN),
    ] {
        let bytes = program(bytes);
        assert!(matches!(pickle::read(&bytes).unwrap().root(), Value::Int(v) if *v == value), "{value}");
    }
}

#[test]
fn nesting_sharing_and_cycles_cost_no_more_than_their_bytes() {
    let start = Instant::now();
    let deep = program(&[b"N", &b"\x85".repeat(1 << 20)[..]].concat());
    assert!(matches!(pickle::read(&deep).unwrap().root(), Value::Tuple(_)));
    // Each tuple holds the one before twice: 2^100000 leaves if anybody walked them.
    let mut doubling = b"Nq\x00".to_vec();
    for _ in 0..100_000 {
        doubling.extend(b"h\x00\x86q\x00");
    }
    assert!(pickle::read(&program(&doubling)).is_ok());
    assert!(pickle::read(&program(b"]q\x00h\x00a")).is_ok(), "a list that holds itself");
    // Marks without end, and a memo of large and scattered numbers.
    assert!(pickle::read(&program(&b"(".repeat(1 << 20))).is_err());
    let mut memo = b"N".to_vec();
    for i in 0..100_000_u32 {
        memo.extend(b"r");
        memo.extend(i.wrapping_mul(0x9e37_79b9).to_le_bytes());
    }
    assert!(pickle::read(&program(&memo)).is_ok());
    assert!(start.elapsed().as_secs() < 20, "{:?}", start.elapsed());
    assert!(matches!(pickle::read(&vec![0x80; pickle::LARGEST + 1]), Err(PickleError::TooLarge { .. })));
}

/// A pickle of PyTorch's own, from the archives.
fn good() -> Vec<u8> {
    let tensor = rebuilt("_rebuild_tensor_v2", &float(), PLAIN);
    let parameter =
        [b"ctorch._utils\n_rebuild_parameter\n(", &tensor[..], b"\x88ccollections\nOrderedDict\n)RtR"].concat();
    program(&[b"}q\x00(", &text("weight")[..], &parameter, b"q\x01", &text("tied"), b"h\x01u"].concat())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn random_bytes_are_read_or_refused(bytes in proptest::collection::vec(any::<u8>(), 0..400)) {
        let _ = pickle::read(&bytes);
        let _ = pickle::read(&program(&bytes));
    }

    /// Only opcodes that are known, so that programs run far.
    #[test]
    fn random_programs_are_read_or_refused(picks in proptest::collection::vec((0_usize..28, any::<u8>()), 0..200)) {
        let opcodes: [&[u8]; 28] = [
            b"(", b"N", b"\x88", b"\x89", b"}", b"]", b")", b"K\x02", b"M\x01\x00", b"J\xfe\xff\xff\xff", b"\x8a\x01\x03", b"t",
            b"\x85", b"\x86", b"\x87", b"Q", b"R", b"s", b"u", b"a", b"e", b"ctorch._utils\n_rebuild_tensor_v2\n",
            b"ctorch._utils\n_rebuild_parameter\n", b"ccollections\nOrderedDict\n", b"ctorch\nFloatStorage\n",
            b"X\x07\x00\x00\x00storage", b"h", b"q",
        ];
        let mut body = Vec::new();
        for (pick, byte) in picks {
            body.extend(opcodes[pick]);
            if pick >= 26 {
                body.push(byte % 4);
            }
        }
        let _ = pickle::read(&program(&body));
    }

    #[test]
    fn a_damaged_pickle_is_read_or_refused(changes in proptest::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..5)) {
        let mut bytes = good();
        prop_assert!(pickle::read(&bytes).is_ok());
        for (at, byte) in changes {
            let at = at.index(bytes.len());
            bytes[at] = byte;
        }
        let Ok(pickle) = pickle::read(&bytes) else { return Ok(()) };
        let Value::Dict(pairs) = pickle.root() else { return Ok(()) };
        for (_, value) in pairs {
            let Value::Tensor(tensor) = pickle.value(*value) else { continue };
            prop_assert_eq!(pickle.sizes(tensor).len(), pickle.strides(tensor).len());
            prop_assert!(pickle.sizes(tensor).chain(pickle.strides(tensor)).all(|v| v >= 0));
        }
    }
}
