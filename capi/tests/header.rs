//! `include/airlock.h` is what cbindgen makes of the crate. `AIRLOCK_UPDATE=1` writes it anew.

use std::path::Path;

#[test]
fn the_header_is_up_to_date() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let config = cbindgen::Config::from_file(root.join("cbindgen.toml")).unwrap();
    let mut made = Vec::new();
    cbindgen::Builder::new().with_src(root.join("src/lib.rs")).with_config(config).generate().unwrap().write(&mut made);
    let path = root.join("include/airlock.h");
    if std::env::var_os("AIRLOCK_UPDATE").is_some() {
        std::fs::write(&path, &made).unwrap();
    }
    assert!(std::fs::read(&path).unwrap() == made, "include/airlock.h is not up to date: AIRLOCK_UPDATE=1 writes it");
}
