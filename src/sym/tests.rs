//! Laws of symbolic integers, on random expressions and random values.

use proptest::prelude::*;

use super::*;

/// An expression by recipe: so that it can be built, and computed directly, and shrinks.
#[derive(Clone, Debug)]
enum Recipe {
    Number(i64),
    Symbol(usize),
    Add(Box<Recipe>, Box<Recipe>),
    Sub(Box<Recipe>, Box<Recipe>),
    Mul(Box<Recipe>, Box<Recipe>),
    FloorDiv(Box<Recipe>, Box<Recipe>),
    Mod(Box<Recipe>, Box<Recipe>),
    Max(Box<Recipe>, Box<Recipe>),
    Min(Box<Recipe>, Box<Recipe>),
    Square(Box<Recipe>),
}

const NAMES: [&str; 3] = ["s10", "s77", "u0"];
const RANGES: [(i64, i64); 3] = [(1, 6), (2, 5), (-3, 4)];

fn recipe() -> impl Strategy<Value = Recipe> {
    let leaf = prop_oneof![(-6i64..10).prop_map(Recipe::Number), (0usize..3).prop_map(Recipe::Symbol)];
    leaf.prop_recursive(4, 24, 2, |inner| {
        let pair = (inner.clone().prop_map(Box::new), inner.clone().prop_map(Box::new));
        prop_oneof![
            3 => pair.clone().prop_map(|(a, b)| Recipe::Add(a, b)),
            2 => pair.clone().prop_map(|(a, b)| Recipe::Sub(a, b)),
            3 => pair.clone().prop_map(|(a, b)| Recipe::Mul(a, b)),
            3 => pair.clone().prop_map(|(a, b)| Recipe::FloorDiv(a, b)),
            2 => pair.clone().prop_map(|(a, b)| Recipe::Mod(a, b)),
            1 => pair.clone().prop_map(|(a, b)| Recipe::Max(a, b)),
            1 => pair.prop_map(|(a, b)| Recipe::Min(a, b)),
            1 => inner.prop_map(|a| Recipe::Square(Box::new(a))),
        ]
    })
}

fn build(symbols: &mut Symbols, recipe: &Recipe) -> Result<Dim, SymError> {
    let mut two = |a: &Recipe, b: &Recipe| Ok::<_, SymError>((build(symbols, a)?, build(symbols, b)?));
    match recipe {
        Recipe::Number(value) => Ok(Dim::Fixed(*value)),
        Recipe::Symbol(index) => Ok(symbols.symbol(NAMES[*index])),
        Recipe::Add(a, b) => two(a, b).and_then(|(a, b)| symbols.add(a, b)),
        Recipe::Sub(a, b) => two(a, b).and_then(|(a, b)| symbols.sub(a, b)),
        Recipe::Mul(a, b) => two(a, b).and_then(|(a, b)| symbols.mul(a, b)),
        Recipe::FloorDiv(a, b) => two(a, b).and_then(|(a, b)| symbols.floordiv(a, b)),
        Recipe::Mod(a, b) => two(a, b).and_then(|(a, b)| symbols.modulo(a, b)),
        Recipe::Max(a, b) => two(a, b).and_then(|(a, b)| symbols.max(a, b)),
        Recipe::Min(a, b) => two(a, b).and_then(|(a, b)| symbols.min(a, b)),
        Recipe::Square(a) => build(symbols, a).and_then(|a| symbols.pow(a, Dim::Fixed(2))),
    }
}

/// What Python computes; `None` where it raises (or a step is larger than sizes are).
fn compute(recipe: &Recipe, values: &[i64; 3]) -> Option<i64> {
    let two = |a: &Recipe, b: &Recipe| Some((compute(a, values)?, compute(b, values)?));
    match recipe {
        Recipe::Number(value) => Some(*value),
        Recipe::Symbol(index) => Some(values[*index]),
        Recipe::Add(a, b) => two(a, b).and_then(|(a, b)| a.checked_add(b)),
        Recipe::Sub(a, b) => two(a, b).and_then(|(a, b)| a.checked_sub(b)),
        Recipe::Mul(a, b) => two(a, b).and_then(|(a, b)| a.checked_mul(b)),
        Recipe::FloorDiv(a, b) => two(a, b).and_then(|(a, b)| floor_div(a, b)),
        Recipe::Mod(a, b) => two(a, b).and_then(|(a, b)| floor_mod(a, b)),
        Recipe::Max(a, b) => two(a, b).map(|(a, b)| a.max(b)),
        Recipe::Min(a, b) => two(a, b).map(|(a, b)| a.min(b)),
        Recipe::Square(a) => compute(a, values).and_then(|a| a.checked_mul(a)),
    }
}

fn symbols_with_ranges() -> Symbols {
    let mut symbols = Symbols::new();
    for (name, (min, max)) in NAMES.iter().zip(RANGES) {
        symbols.set_range(name, Range::new(min, max)).unwrap();
    }
    symbols
}

fn bind(symbols: &mut Symbols, values: &[i64; 3]) -> Bindings {
    let mut bindings = Bindings::new();
    for (name, value) in NAMES.iter().zip(values) {
        symbols.bind(&mut bindings, name, *value);
    }
    bindings
}

fn range() -> impl Strategy<Value = Range> {
    (-4i64..4, 0i64..6, 0u8..4).prop_map(|(low, length, open)| Range {
        min: (open != 1).then_some(low),
        max: (open != 2 && open != 3).then_some(low + length),
    })
}

/// Some values of each range: all of a short one, of an open one those at its end and some far from it.
fn values_in(ranges: &[Range; 3]) -> Vec<[i64; 3]> {
    let some = |range: &Range| -> Vec<i64> {
        let near = range.min.or(range.max).unwrap_or(0);
        (near - 4..=near + 4).chain([-1000, 1000]).filter(|value| range.contains(*value)).collect()
    };
    let [a, b, c] = ranges.each_ref().map(some);
    let mut all = Vec::new();
    for x in a {
        for y in &b {
            all.extend(c.iter().map(|z| [x, *y, *z]));
        }
    }
    all
}

/// Whether `a` divides `b`.
fn divides(a: i64, b: i64) -> bool {
    if a == 0 { b == 0 } else { b % a == 0 }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 250, ..ProptestConfig::default() })]

    #[test]
    fn canonical_arithmetic_agrees_with_direct_evaluation(recipe in recipe(), x in -20i64..40, y in -20i64..40, z in -20i64..40) {
        let mut symbols = symbols_with_ranges();
        let Ok(dim) = build(&mut symbols, &recipe) else { return Ok(()) };
        let values = [x, y, z];
        let bindings = bind(&mut symbols, &values);
        if let Some(expected) = compute(&recipe, &values) {
            prop_assert_eq!(symbols.eval(dim, &bindings).unwrap(), expected, "{}", symbols.print_python(dim));
        }
    }

    #[test]
    fn what_is_known_holds_for_all_values_in_range(left in recipe(), right in recipe(), ranges in [range(), range(), range()]) {
        let mut symbols = Symbols::new();
        for (name, range) in NAMES.iter().zip(&ranges) {
            symbols.set_range(name, *range).unwrap();
        }
        let (Ok(a), Ok(b)) = (build(&mut symbols, &left), build(&mut symbols, &right)) else { return Ok(()) };
        let range = symbols.range_of(a);
        let equal = symbols.known(a, Relation::Equal, b);
        let less = symbols.known(a, Relation::Less, b);
        let divided = symbols.known(a, Relation::Divides, b);
        for values in values_in(&ranges) {
            let (Some(x), Some(y)) = (compute(&left, &values), compute(&right, &values)) else { continue };
            prop_assert!(range.contains(x), "{} is {x} at {values:?}, not in {range}", symbols.print_python(a));
            let shown = (symbols.print_python(a), symbols.print_python(b), values, x, y);
            prop_assert!(equal.is_none_or(|known| known == (x == y)), "equal: {:?}", shown);
            prop_assert!(less.is_none_or(|known| known == (x < y)), "less: {:?}", shown);
            prop_assert!(divided.is_none_or(|known| known == divides(x, y)), "divides: {:?}", shown);
        }
    }

    #[test]
    fn printing_then_reading_is_the_identity(recipe in recipe()) {
        let mut symbols = symbols_with_ranges();
        let Ok(dim) = build(&mut symbols, &recipe) else { return Ok(()) };
        let text = symbols.print_python(dim);
        prop_assert_eq!(symbols.parse_dim(&text).unwrap(), dim, "{}", text);
        let srepr = symbols.print_srepr(SymValue::Int(dim));
        prop_assert_eq!(symbols.parse_srepr(&srepr).unwrap(), SymValue::Int(dim), "{}", srepr);
        prop_assert_eq!(srepr_to_python(&srepr).unwrap(), text);
    }

    #[test]
    fn importing_keeps_text_and_the_ranges_of_symbols(recipe in recipe()) {
        let mut source = symbols_with_ranges();
        let Ok(dim) = build(&mut source, &recipe) else { return Ok(()) };
        let mut target = Symbols::new();
        let imported = target.import_dim(&source, dim).unwrap();
        prop_assert_eq!(target.print_python(imported), source.print_python(dim));
        for name in target.symbols_in(SymValue::Int(imported)) {
            prop_assert_eq!(target.declared_range(&name), source.declared_range(&name));
        }
    }

    #[test]
    fn substituting_then_evaluating_is_evaluating(recipe in recipe(), inner in recipe(), x in 1i64..6, y in 2i64..5, z in -3i64..4) {
        let mut symbols = symbols_with_ranges();
        let (Ok(dim), Ok(instead)) = (build(&mut symbols, &recipe), build(&mut symbols, &inner)) else { return Ok(()) };
        let (Some(_), Some(replaced)) = (compute(&recipe, &[x, y, z]), compute(&inner, &[x, y, z])) else { return Ok(()) };
        let Some(expected) = compute(&recipe, &[replaced, y, z]) else { return Ok(()) };
        let with = |name: &str| (name == NAMES[0]).then_some(instead);
        let Ok(SymValue::Int(substituted)) = symbols.substitute(SymValue::Int(dim), &with) else { return Ok(()) };
        let bindings = bind(&mut symbols, &[x, y, z]);
        prop_assert_eq!(symbols.eval(substituted, &bindings).unwrap(), expected);
    }

    #[test]
    fn any_text_reads_or_is_an_error(text in "[su0-9+*/%()., <>=&|~A-Za-z'-]{0,40}") {
        let _ = Symbols::new().parse_python(&text);
        let _ = srepr_to_python(&text);
    }
}

fn known(ranges: &[(&str, i64, Option<i64>)], a: &str, relation: Relation, b: &str) -> Option<bool> {
    let mut symbols = Symbols::new();
    for (name, min, max) in ranges {
        symbols.set_range(name, Range::new(*min, *max)).unwrap();
    }
    let (a, b) = (symbols.parse_dim(a).unwrap(), symbols.parse_dim(b).unwrap());
    symbols.known(a, relation, b)
}

#[test]
fn the_greater_of_sizes_is_the_one_that_it_always_is() {
    let mut symbols = Symbols::new();
    symbols.set_range("s", Range::new(4, None)).unwrap();
    symbols.set_range("z", Range::new(3, None)).unwrap();
    for (given, expected) in [
        ("Max(0, s - 4)", "s - 4"),
        ("Min(s, 4)", "4"),
        ("s - Max(0, s - 4)", "4"),
        ("2*Max(0, s - 4) + s", "3*s - 8"),
        ("Max(0, z - 4)", "Max(0, z - 4)"),
        ("z - Max(0, z - 4)", "z - Max(0, z - 4)"),
        ("Max(1, s - 4)", "Max(1, s - 4)"),
    ] {
        let (given, expected) = (symbols.parse_dim(given).unwrap(), symbols.parse_dim(expected).unwrap());
        assert_eq!(symbols.taken(given), expected);
    }
}

#[test]
fn sizes_are_compared_for_all_values_in_their_ranges() {
    let sizes = [("s", 1, None), ("t", 1, None), ("b", 1, Some(64)), ("z", 0, None), ("u", 1, Some(7))];
    use Relation::{Divides, Equal, Less};
    for (a, relation, b, expected) in [
        ("s", Less, "2*s", Some(true)),
        ("z", Less, "2*z", None),
        ("s", Less, "s//2", Some(false)),
        ("s//2", Less, "s", Some(true)),
        ("z//2", Less, "z", None),
        ("z", Less, "z//2", Some(false)),
        ("0", Less, "s*t", Some(true)),
        ("0", Less, "z*t", None),
        ("s*t", Less, "s", Some(false)),
        ("z*t", Less, "z", Some(false)),
        ("z*t", Less, "t", None),
        ("s - (s % 8)", Less, "0", Some(false)),
        ("s % 8", Less, "8", Some(true)),
        ("s % 8", Less, "7", None),
        ("s % 8", Less, "s + 1", Some(true)),
        ("64*s - b*s", Less, "0", Some(false)),
        ("63*s - b*s", Less, "0", None),
        ("Max(s, t)", Less, "s", Some(false)),
        ("Min(s, t)", Less, "s + 1", Some(true)),
        ("Min(s, t)", Less, "s", None),
        ("0", Less, "s - Max(0, s - 4)", Some(true)),
        ("s - Max(0, s - 4)", Less, "5", Some(true)),
        ("s - Max(0, s - 4)", Less, "4", None),
        ("s", Equal, "s", Some(true)),
        ("s", Equal, "t", None),
        ("s", Equal, "s + 1", Some(false)),
        ("2*s", Equal, "2*t + 1", Some(false)),
        ("2*s", Equal, "2*t + 2", None),
        ("s*(t + 1)", Equal, "s*t + s", Some(true)),
        ("(3*s + 1)//2", Equal, "s + (s + 1)//2", Some(true)),
        ("s - s % 8", Equal, "8*(s//8)", Some(true)),
        ("(s + 8) % 8", Equal, "s % 8", Some(true)),
        ("(s*t + t)//(s + 1)", Equal, "t", Some(true)),
        ("Max(1, s)", Equal, "s", Some(true)),
        ("Max(1, z)", Equal, "z", None),
        ("Max(1, s//(s//2))", Equal, "s//(s//2)", None),
        ("u//8", Equal, "0", Some(true)),
        ("u % 8", Equal, "u", Some(true)),
        ("b % 8", Equal, "b", None),
        ("s//t//2", Equal, "s//(2*t)", Some(true)),
        ("s//2//t", Equal, "s//(2*t)", Some(true)),
        ("(4*s) % 2", Equal, "0", Some(true)),
        ("(4*s + 1) % 2", Equal, "1", Some(true)),
        ("(s*t) % s", Equal, "0", Some(true)),
        ("2", Divides, "4*s", Some(true)),
        ("2", Divides, "4*s + 1", Some(false)),
        ("2", Divides, "3*s", None),
        ("s", Divides, "s*t", Some(true)),
        ("s*t", Divides, "s", None),
        ("s + 1", Divides, "s*t + t", Some(true)),
        ("8", Divides, "s - s % 8", Some(true)),
        ("8", Divides, "u", Some(false)),
        ("8", Divides, "b", None),
        ("s + t", Divides, "s", Some(false)),
        ("0", Divides, "s", Some(false)),
        ("0", Divides, "z", None),
        ("s", Divides, "0", Some(true)),
    ] {
        assert_eq!(known(&sizes, a, relation, b), expected, "{a} {relation:?} {b}");
    }
}

#[test]
fn a_new_range_changes_what_is_known() {
    let mut symbols = Symbols::new();
    let half = symbols.parse_dim("s77//2").unwrap();
    assert_eq!(symbols.known(Dim::Fixed(0), Relation::Less, half), None);
    symbols.set_range("s77", Range::new(2, None)).unwrap();
    assert_eq!(symbols.known(Dim::Fixed(0), Relation::Less, half), Some(true));
    symbols.set_range("s77", Range::new(4, 4)).unwrap();
    assert_eq!(symbols.equal(half, Dim::Fixed(2)), Some(true));
    assert_eq!(
        symbols.set_range("s77", Range::new(4, 3)),
        Err(SymError::EmptyRange { name: "s77".into(), min: 4, max: 3 })
    );
}

#[test]
fn asking_interns_nothing() {
    let mut symbols = Symbols::new();
    let (a, b) = (symbols.parse_dim("s - s % 8").unwrap(), symbols.parse_dim("8*(s//8)").unwrap());
    let before = symbols.len();
    assert_eq!(symbols.equal(a, b), Some(true));
    assert_eq!(symbols.len(), before);
}

#[test]
fn large_expressions_are_errors_not_crashes() {
    let mut symbols = Symbols::new();
    for text in [
        "(".repeat(100_000),
        "-".repeat(100_000),
        "f(".repeat(100_000),
        format!("s{}", "//2//t".repeat(10_000)),
        format!("s{}", "**s".repeat(10_000)),
        (0..5_000).map(|i| format!("s{i}")).collect::<Vec<_>>().join(" + "),
        (0..5_000).map(|i| format!("s{i}")).collect::<Vec<_>>().join("*"),
        format!("Max({})", (0..10_000).map(|i| format!("s{i}")).collect::<Vec<_>>().join(", ")),
        "(a + b + c + d + e + f + g + h)**12".to_owned(),
        "9223372036854775807*s + 9223372036854775807*s".to_owned(),
        "99999999999999999999".to_owned(),
        "s//0".to_owned(),
        "s % 0".to_owned(),
    ] {
        let error = symbols.parse_python(&text);
        assert!(error.is_err(), "{:.40} gave {error:?}", text);
    }
    let mut deep = symbols.symbol("s");
    let other = symbols.symbol("t");
    let failed = (0..300).find_map(|_| {
        let next = symbols.max(deep, other).and_then(|next| symbols.floordiv(next, other));
        match next {
            Ok(next) => {
                deep = next;
                None
            }
            Err(error) => Some(error),
        }
    });
    assert!(matches!(failed, Some(SymError::TooLarge { .. })));
}

#[test]
fn errors_say_where_and_what_was_expected() {
    let mut symbols = Symbols::new();
    let message = |symbols: &mut Symbols, text: &str| symbols.parse_python(text).unwrap_err().to_string();
    assert_eq!(
        message(&mut symbols, "2*s77 + "),
        "column 9 of `2*s77 + `: expected a number, a symbol, a function or `(`, found the end"
    );
    assert_eq!(message(&mut symbols, "s77 s27"), "column 5 of `s77 s27`: expected an operator or the end, found `s27`");
    assert_eq!(message(&mut symbols, "Foo(s77)"), "`Foo` is not a function of symbolic values that is known here");
    assert_eq!(message(&mut symbols, "Mod(s77)"), "`Mod` takes two arguments, 1 were given");
    assert_eq!(message(&mut symbols, "(s77 > 2) + 1"), "a sum needs a number, but `s77 > 2` is a boolean");
    assert_eq!(message(&mut symbols, "int_oo"), "`int_oo` is unbounded: no size has this value");
}

#[test]
fn nesting_up_to_the_limit_fits_a_small_stack() {
    let shapes: [fn(usize) -> String; 7] = [
        |n| format!("{}s{}", "(".repeat(n), ")".repeat(n)),
        |n| format!("{}s{}", "-(1 + t*".repeat(n), ")".repeat(n)),
        |n| format!("{}s{}", "Max(t, ".repeat(n), " + 1)".repeat(n)),
        |n| format!("{}s{}", "FloorDiv(7, ".repeat(n), ")".repeat(n)),
        |n| format!("{}s > 1{}", "~(".repeat(n), ")".repeat(n)),
        |n| format!("s{}", " // t // 2".repeat(n)),
        |n| format!("{}s{}", "TruncToInt(OpaqueUnaryFn_sqrt(".repeat(n), "))".repeat(n)),
    ];
    let read = move || {
        for shape in shapes {
            let mut deepest = 0;
            for depth in
                [5, 10, 15, 20, 24, 30, 40, 46, 48, 50, 60, 70, 90, 97, 98, 99, 100, 150, 195, 198, 199, 200, 201, 220]
            {
                let mut symbols = Symbols::new();
                let text = shape(depth);
                let _ = srepr_to_python(&text);
                if let Ok(value) = symbols.parse_python(&text) {
                    deepest = depth;
                    let _ = symbols.print_srepr(value);
                    let mut other = Symbols::new();
                    let imported = other.import(&symbols, value).unwrap();
                    assert_eq!(other.print_value(imported), symbols.print_value(value));
                    if let SymValue::Int(dim) = value {
                        let _ = symbols.known(dim, Relation::Less, Dim::Fixed(7));
                    }
                }
            }
            assert!(deepest >= 10, "{:.20}", shape(10));
        }
    };
    std::thread::Builder::new().stack_size(1 << 20).spawn(read).unwrap().join().unwrap();
}
